-- Up Migration

-- What is known of an endpoint: written once a second by the couriers, read by operators and by couriers that start.
create table endpoints (
  key text primary key,
  url text not null,
  -- An operator has paused it: its deliveries are parked.
  paused_at timestamptz,
  -- Failed attempts since the last success.
  failure_streak integer not null default 0,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  last_error text,
  -- Attempts that a courier makes at once, as adapted; a hint for the next start.
  concurrency smallint not null default 1
) with (fillfactor = 50);
create index endpoints_paused on endpoints (key) where paused_at is not null;

-- Parked deliveries stay out of the sweeper's index: there may be very many, and they are nobody's loss.
drop index deliveries_open;
create index deliveries_dispatched on deliveries (due_at) where state in ('queued', 'sending', 'retry_wait');
create index deliveries_parked on deliveries (endpoint_key, due_at) where state = 'parked';

-- Rows are rewritten two or three times within minutes.
alter table deliveries set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
