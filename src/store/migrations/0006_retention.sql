-- Up Migration

-- What retention looks for. Everything else it finds in the order of its primary key.
create index properties_expired on properties (expired_at) where expired_at is not null;
create index searches_deleted on searches (deleted_at) where deleted_at is not null;

-- Rows leave as fast as they come: the default of a fifth of the table would let 20 % of it lie dead.
alter table events set (autovacuum_vacuum_scale_factor = 0.02);
alter table matches set (autovacuum_vacuum_scale_factor = 0.02);
alter table attempts set (autovacuum_vacuum_scale_factor = 0.02);
alter table snapshots set (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
alter table properties set (autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_scale_factor = 0.05);
