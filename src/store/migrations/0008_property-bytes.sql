-- Up Migration

-- Bytes of `state`, so that one which is too large is known before it is read. Null in rows that were written before:
-- their state is looked at instead.
alter table properties add column state_bytes integer;

-- What has been failing in an instance for a while. Null from a version that does not say.
alter table instances add column failing jsonb;
