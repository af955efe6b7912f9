-- Up Migration

-- What a client keeps with a search for itself: JSON, as text, so that it comes back as it was. Apart from `members`,
-- which the matcher loads. A version of before neither reads nor changes it.
alter table searches add column context text;

-- Secrets that sign every webhook of a client beside the token of its search. Null expires never.
create table webhook_secrets (
  id uuid primary key,
  client_id uuid not null,
  secret text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
create index webhook_secrets_client on webhook_secrets (client_id, id);

-- The feed: what webhooks carry, in the order in which it was recorded, and what they would carry of notifying searches
-- without an endpoint. A version of before claims, sweeps, lists and forgets whatever lies in `deliveries`, so what has
-- no endpoint lies apart. What its recorder records while it leads the intake is not in the feed.
create table feed_items (
  id uuid primary key,
  search_number integer not null,
  match_id uuid not null,
  sequence integer not null,
  channel text not null,
  kind text not null,
  head text not null,
  snapshot_id uuid not null,
  created_at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = -1);

-- What one transaction of the recorder has for one client: ids of `deliveries` and `feed_items`, in their order. One row
-- instead of a column and an index of each delivery, which would be written again with each of its states. `epoch` is the
-- sequence floor (intake_leader): raised with each restoration, after which transactions may count anew.
create table feed_batches (
  client_id uuid not null,
  epoch integer not null,
  recorded_in xid8 not null,
  ids uuid[] not null,
  search_numbers integer[] not null,
  created_at timestamptz not null default now(),
  primary key (client_id, epoch, recorded_in)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = -1);

-- Up to where the feed of a client was forgotten: a cursor of before has missed something.
create table feed_floors (client_id uuid primary key, epoch integer not null, recorded_in xid8 not null, id uuid not null);

-- One row: what signs the cursors of the feed. Two random UUIDs are 244 bits.
create table feed_keys (key bytea not null);
insert into feed_keys
select sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'));

-- First answers to requests with an Idempotency-Key, for a day: what was made, in the transaction that made it.
create table idempotency_keys (
  client_id uuid not null,
  path text not null,
  key text not null,
  body_hash bytea not null,
  resource_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (client_id, path, key)
);
create index idempotency_keys_created on idempotency_keys (created_at);

-- Recoveries that clients have asked for: everything that fits is sent again, oldest first, at a pace. Whoever works at
-- one keeps nothing in memory, so another process can go on at any time.
create table recoveries (
  id uuid primary key,
  client_id uuid not null,
  search_number integer,
  endpoint text,
  since timestamptz not null,
  until timestamptz not null,
  includes_delivered boolean not null,
  state text not null default 'counting',
  -- The last delivery that was looked at.
  place uuid not null,
  matched integer not null default 0,
  sent integer not null default 0,
  delivered integer not null default 0,
  failed integer not null default 0,
  skipped integer not null default 0,
  created_at timestamptz not null default now(),
  finished_at timestamptz
) with (fillfactor = 50);
create unique index recoveries_open on recoveries (client_id) where state in ('counting', 'running');
create index recoveries_client on recoveries (client_id, id);

-- What recoveries have under way, with the attempts that each had before: as many as there are slots for.
create table recovery_items (
  recovery_id uuid not null,
  delivery_id uuid not null,
  attempt_count smallint not null,
  primary key (recovery_id, delivery_id)
) with (autovacuum_vacuum_scale_factor = 0.02);
