-- Up Migration

-- The transaction of the import that a centre came with: tells a daemon in one row whether it holds the newest. An
-- older version beside this one imports without knowing of it.
alter table commune_coordinates add column revision xid8 default pg_current_xact_id();
