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
create index searches_client_title on searches (client_id, title collate "fr-x-icu", number) where deleted_at is null;
create index searches_client on searches (client_id, number) where deleted_at is null;

-- `state` is what the adverts said last; `crawls` says when each was seen last and is the only part that a re-crawl
-- without change rewrites (the state's TOAST pointer is copied). Market columns are derived, for medians at start-up.
create table properties (
  uuid uuid primary key,
  state jsonb not null,
  crawls jsonb not null,
  department_code text,
  transaction_type smallint,
  is_land boolean not null,
  comparable_price double precision,
  expired_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
) with (fillfactor = 85);

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
);
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
) with (fillfactor = 85);
create index matches_search on matches (search_number, began_at desc, id) where began_at is not null;

-- A property document as it was at a change, once per change and variant (with or without contacts).
create table snapshots (
  id uuid primary key,
  document text not null,
  created_at timestamptz not null default now()
);

-- The body of a delivery is head || document || '}}'.
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
  state text not null default 'queued',
  attempt_count smallint not null default 0,
  -- When the current attempt was claimed; while `sending`, `due_at` is the end of its lease.
  attempt_started_at timestamptz,
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  finished_at timestamptz
) with (fillfactor = 80);
create index deliveries_search on deliveries (search_number, created_at desc, id);
create index deliveries_open on deliveries (due_at) where state in ('queued', 'sending', 'retry_wait', 'parked');
create index deliveries_endpoint_open on deliveries (endpoint_key, due_at)
  where state in ('queued', 'sending', 'retry_wait', 'parked');

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
);

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
