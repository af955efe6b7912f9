-- Up Migration

-- Vacuumed without a pause, this table took a core and the disk from every delivery for as long as that lasted. At
-- PostgreSQL's own pace it takes four times as long, and nobody notices.
alter table deliveries reset (autovacuum_vacuum_cost_delay);
