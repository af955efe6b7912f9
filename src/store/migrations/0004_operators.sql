-- Up Migration

-- What operators have decided about a stage (`intake`, `deliver`, `sweeper`) or the search index; every instance
-- follows it. `generation` counts the rebuilds asked for. No row: nothing was ever decided.
create table controls (
  name text primary key,
  paused_at timestamptz,
  reason text,
  generation integer not null default 0
);

-- Every process shows itself here; a row that has not been seen for a while is a process that is gone. Unlogged: after
-- a crash of PostgreSQL the living write themselves anew.
create unlogged table instances (
  id uuid primary key,
  host text not null,
  process_id integer not null,
  roles text[] not null,
  version text not null,
  started_at timestamptz not null,
  seen_at timestamptz not null default clock_timestamp(),
  stages jsonb not null,
  search_index jsonb
);

-- `attempts_spent`: attempts made before the last replay; they do not count against the six of the present series.
-- `traceparent`: the trace that the advert's message belonged to (W3C Trace Context).
alter table deliveries
  add column attempts_spent smallint not null default 0,
  add column replay_count smallint not null default 0,
  add column traceparent text;

-- Why an operator has paused it, in their words.
alter table endpoints add column pause_reason text;

-- What a replay looks for, and what the alert on exhausted deliveries counts.
create index deliveries_failed on deliveries (endpoint_key, id) where state = 'failed';
