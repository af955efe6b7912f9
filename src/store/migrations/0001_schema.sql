-- Up Migration

create table clients (
  id uuid primary key,
  name text not null unique,
  rate_limit_per_second integer,
  rate_limit_burst integer,
  created_at timestamptz not null default now()
);

-- A key is 256 random bits, so a plain SHA-256 is as hard to reverse as any slow hash, and can be looked up.
create table api_keys (
  id uuid primary key,
  client_id uuid not null references clients,
  name text not null,
  prefix text not null,
  hash bytea not null unique,
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);
create index api_keys_client on api_keys (client_id);

create table site_categories (
  id integer generated always as identity primary key,
  name text not null unique
);
insert into site_categories (name)
values ('Agence'), ('Mandataire'), ('Notaire'), ('Particulier'), ('Portail'), ('Promoteur'), ('Réseau');

-- A source is one imported file or area; importing it again replaces its points in one transaction. `revision` is that
-- transaction: the revisions of all sources together tell whether a copy in memory is still the newest.
create table points_of_interest_sources (
  id integer generated always as identity primary key,
  name text not null unique,
  point_count integer not null,
  imported_at timestamptz not null,
  revision xid8 not null
);

create table points_of_interest (
  source_id integer not null references points_of_interest_sources on delete cascade,
  facility text not null,
  lat double precision not null,
  lon double precision not null,
  name text,
  attributes jsonb not null
);
create index points_of_interest_source on points_of_interest (source_id);

-- Imported centres of communes; they go before those of the reference packages.
create table commune_coordinates (
  insee text primary key,
  lat double precision not null,
  lon double precision not null
);

-- `revision` is the writing transaction: readers poll `revision >= horizon`, where the horizon is the oldest
-- transaction that was still running at their last poll, so a write that commits late is never skipped.
-- A deleted search stays as a row until its deliveries are gone.
create table searches (
  number integer generated always as identity primary key,
  id uuid not null unique,
  client_id uuid not null references clients,
  title text not null,
  title_folded text not null,
  members jsonb not null,
  notification_enabled boolean not null,
  endpoint_recipient text,
  event_endpoint text,
  subscribed_events text[] not null,
  hide_property_contact boolean not null,
  token text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_alert_at timestamptz,
  deleted_at timestamptz,
  revision xid8 not null default pg_current_xact_id()
) with (fillfactor = 90);
create index searches_revision on searches (revision);
-- With what the lists filter by: a client's hundred thousand titles are read off the index, not off as many pages.
create index searches_client_title on searches (client_id, title collate "fr-x-icu", number)
  include (title_folded, notification_enabled) where deleted_at is null;
create index searches_client on searches (client_id, number)
  include (title_folded, notification_enabled) where deleted_at is null;
create index searches_deleted on searches (deleted_at) where deleted_at is not null;

-- From here to the dead letters, rows leave as fast as they come (domain/retention.ts): vacuum's default of a fifth of
-- the table would let that much of it lie dead. Tables that are only added to until then are left alone by vacuum for as
-- long: no query has a use for what it would note.

-- `state` is what the adverts said last; `crawls` says when each was seen last. Both are only read whole: as `json` they
-- cost a third of what `jsonb` costs to write and to read. Rows stay uncompressed up to `toast_tuple_target` bytes,
-- because compressing them took longer than all the rest of writing them. Market columns are derived, for medians at
-- start-up.
create table properties (
  uuid uuid primary key,
  state json not null,
  crawls json not null,
  department_code text,
  transaction_type smallint,
  is_land boolean not null,
  comparable_price double precision,
  expired_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
) with (fillfactor = 70, toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.1, toast.autovacuum_vacuum_scale_factor = 0.1);
create index properties_expired on properties (expired_at) where expired_at is not null;

create table events (
  id bigint generated always as identity primary key,
  property_uuid uuid not null,
  advert_uuid uuid not null,
  kind text not null,
  field_name text,
  field_old_value text,
  field_new_value text,
  percent_variation double precision,
  created_at timestamptz not null,
  recorded_at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = -1);
create index events_property on events (property_uuid, id);

-- One row per (search, property) for ever. `began_at` is null while the property satisfied the search already when
-- the search was created: such a pair has an identity for event deliveries, but is no match until it begins anew.
create table matches (
  id uuid primary key,
  search_number integer not null,
  property_uuid uuid not null,
  began_at timestamptz,
  updated_at timestamptz not null,
  unique (property_uuid, search_number)
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);
create index matches_search on matches (search_number, began_at desc, id) where began_at is not null;

-- A property document as it was at a change, once per change and variant (with or without contacts).
create table snapshots (
  id uuid primary key,
  document text not null,
  created_at timestamptz not null default now()
) with (toast_tuple_target = 8160, autovacuum_vacuum_insert_threshold = -1,
  autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);

-- The body of a delivery is head || document || '}}'. Its row is rewritten two or three times within minutes.
create table deliveries (
  id uuid primary key,
  search_number integer not null,
  match_id uuid not null,
  channel text not null,
  kind text not null,
  endpoint text not null,
  endpoint_key text not null,
  head text not null,
  snapshot_id uuid not null,
  -- The trace that the advert's message belonged to (W3C Trace Context).
  traceparent text,
  state text not null default 'queued',
  attempt_count smallint not null default 0,
  -- Attempts made before the last replay; they do not count against the six of the present series.
  attempts_spent smallint not null default 0,
  replay_count smallint not null default 0,
  -- When the current attempt was claimed; while `sending`, `due_at` is the end of its lease.
  attempt_started_at timestamptz,
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  finished_at timestamptz
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index deliveries_search on deliveries (search_number, created_at desc, id);
-- Parked deliveries stay out of the sweeper's index: there may be very many, and they are nobody's loss.
create index deliveries_dispatched on deliveries (due_at) where state in ('queued', 'sending', 'retry_wait');
create index deliveries_parked on deliveries (endpoint_key, due_at) where state = 'parked';
create index deliveries_endpoint_open on deliveries (endpoint_key, due_at)
  where state in ('queued', 'sending', 'retry_wait', 'parked');
-- What a replay looks for, and what the alert on exhausted deliveries counts.
create index deliveries_failed on deliveries (endpoint_key, id) where state = 'failed';

create table attempts (
  delivery_id uuid not null,
  number smallint not null,
  started_at timestamptz not null,
  duration_ms integer,
  status_code smallint,
  error text,
  reason text,
  response_head text,
  primary key (delivery_id, number)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = -1);

-- What is known of an endpoint: written once a second by the couriers, read by operators and by couriers that start.
create table endpoints (
  key text primary key,
  url text not null,
  -- An operator has paused it: its deliveries are parked.
  paused_at timestamptz,
  -- Why, in their words.
  pause_reason text,
  -- Failed attempts since the last success.
  failure_streak integer not null default 0,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  last_error text,
  -- Attempts that a courier makes at once, as adapted; a hint for the next start.
  concurrency smallint not null default 1
) with (fillfactor = 50);
create index endpoints_paused on endpoints (key) where paused_at is not null;

-- Deliveries committed and not yet known to be published: one row per recorded batch.
create table outbox (
  id bigint generated always as identity primary key,
  delivery_ids uuid[] not null,
  created_at timestamptz not null default now()
);

create table dead_letters (
  id bigint generated always as identity primary key,
  stream text not null,
  sequence bigint not null,
  subject text not null,
  headers jsonb not null,
  body bytea not null,
  -- A stream that was created anew counts its sequences from 1 again.
  body_hash bytea generated always as (sha256(body)) stored,
  reason text not null,
  received_at timestamptz not null default now(),
  unique (stream, sequence, body_hash)
);

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

-- One row: the number of the term in which an instance takes adverts in. Every recording transaction holds it shared,
-- and the next leader counts it up, so nobody records in a term that is over (store/intake-leader.ts).
create table intake_leader (term bigint not null);
insert into intake_leader values (0);
