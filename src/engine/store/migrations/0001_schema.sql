-- Up Migration

-- The whole schema, by noun: clients, reference, searches, properties, matches and their deliveries, e-mail, the feed,
-- endpoints, intake, operation. What comes after the first release is a migration of its own (store/schema.ts).
--
-- Rows of adverts and of deliveries leave as fast as they come (domain/retention.ts): vacuum's default of a fifth of the
-- table would let that much of it lie dead. Tables that are only added to until then are left alone by vacuum for as long:
-- no query has a use for what it would note.

-- Clients.

create table clients (
  id uuid primary key,
  name text not null unique,
  -- What it may have instead of the configured defaults; null: those.
  rate_limit_per_second integer,
  rate_limit_burst integer,
  write_limit_per_second integer,
  write_limit_burst integer,
  searches_max integer,
  polygon_corners_max integer,
  excluded_words_max integer,
  matches_per_advert_max integer,
  created_at timestamptz not null default now(),
  -- A deleted client has no name and no keys; its searches are deleted in the background.
  deleted_at timestamptz,
  -- A client lives in one cell (store/client-move.ts). `moved_to`: it is not this one any more, or not yet. While it is
  -- being moved nothing of it may be written, until the command that does it has shown no life for a while.
  moved_to text,
  moving_until timestamptz,
  -- What the feed showed before it came from another cell, cursors of this one know nothing of.
  arrived_epoch integer,
  arrived_in xid8
);
-- Whose searches are to be deleted.
create index clients_deleted on clients (id) where deleted_at is not null;

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
-- A client's keys, listed.
create index api_keys_client on api_keys (client_id);

-- Secrets that sign every webhook of a client beside the token of its search. Null expires never.
create table webhook_secrets (
  id uuid primary key,
  client_id uuid not null,
  secret text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
-- Those of the clients whose deliveries are claimed, without those that have ended.
create index webhook_secrets_client on webhook_secrets (client_id, coalesce(expires_at, 'infinity'));

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
-- What is over a day old.
create index idempotency_keys_created on idempotency_keys (created_at);

-- Reference.

create table site_categories (
  id integer generated always as identity primary key,
  name text not null unique
);
insert into site_categories (name)
values ('Agence'), ('Mandataire'), ('Notaire'), ('Particulier'), ('Portail'), ('Promoteur'), ('Réseau');

-- A source is one imported file or area; importing it again replaces its points in one transaction. `revision` is that
-- transaction: the revisions of all sources together say whether a copy in memory is still the newest.
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
-- The points of a source, replaced or removed with it.
create index points_of_interest_source on points_of_interest (source_id);

-- Imported centres of communes; they go before those of the reference packages. `revision` is the transaction of the
-- import: it says in one row whether it holds the newest.
create table commune_coordinates (
  insee text primary key,
  lat double precision not null,
  lon double precision not null,
  revision xid8 not null default pg_current_xact_id()
);

-- Searches.

-- `revision` is the writing transaction: readers poll `revision >= horizon`, where the horizon is the oldest
-- transaction that was still running at their last poll, so a write that commits late is never skipped.
-- A deleted search stays as a row until its deliveries are gone.
create table searches (
  number integer generated always as identity primary key,
  id uuid not null unique,
  client_id uuid not null references clients,
  title text not null,
  title_folded text not null,
  members json not null,
  -- What a client keeps with a search for itself: JSON, as text, so that it comes back as it was. Apart from `members`,
  -- which the matcher loads.
  context text,
  notification_enabled boolean not null,
  endpoint_recipient text,
  event_endpoint text,
  subscribed_events text[] not null,
  hide_property_contact boolean not null,
  token text not null,
  -- The recipient of its e-mails (domain/mail.ts): the client and the address.
  mail_key text,
  -- Since when the recipient's server refuses the address for good.
  mail_refused_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_alert_at timestamptz,
  -- Silencing a search counts it up: what was recorded under an earlier one and is not final counts as cancelled.
  generation integer not null default 0,
  -- Counted up by each change that its history keeps: it means the same in any cluster, as `revision` does not.
  version integer not null default 0,
  -- Since when open deliveries are to be cancelled one by one, in the background; forgotten when that is done.
  silenced_at timestamptz,
  deleted_at timestamptz,
  -- That 1,000 adverts cause, as it was estimated when its criteria were saved.
  matches_per_mille smallint not null default 0,
  revision xid8 not null default pg_current_xact_id()
) with (fillfactor = 90);
-- What has changed since a copy in memory was read.
create index searches_revision on searches (revision);
-- A client's lists, by title and by age, with what they filter by: a hundred thousand titles are read off the index, not
-- off as many pages.
create index searches_client_title on searches (client_id, title collate "fr-x-icu", number)
  include (title_folded, notification_enabled) where deleted_at is null;
create index searches_client on searches (client_id, number)
  include (title_folded, notification_enabled) where deleted_at is null;
-- Which of the searches that a change touches want to be told: most do not, and their rows lie all over the table.
create index searches_told on searches (number) where notification_enabled or deleted_at is not null;
-- The searches of a recipient of e-mail.
create index searches_mail on searches (mail_key) where mail_key is not null;
-- Whose deliveries are to be cancelled.
create index searches_silenced on searches (silenced_at) where silenced_at is not null;
-- What retention removes.
create index searches_deleted on searches (deleted_at) where deleted_at is not null;

-- What each client's searches add up to, so that nobody has to count them: kept by triggers, whoever writes. A client's sum
-- lies in several rows, for writers of one row wait for each other's commits.
create table search_totals (
  client_id uuid not null references clients,
  shard smallint not null,
  searches integer not null,
  polygon_corners integer not null,
  excluded_words integer not null,
  -- Of 1,000 adverts. That of shard -1 is what the leader's sample of adverts adds to the estimates, or takes off.
  matches_per_mille bigint not null,
  primary key (client_id, shard)
) with (fillfactor = 50);

-- What a search was before each change of its criteria, endpoints or notifications: the members that differed, as they
-- were. Kept as long as events, the newest 200 of a search.
create table search_changes (
  id bigint generated always as identity primary key,
  search_number integer not null,
  -- Of the search from this change on.
  version integer not null,
  changed_at timestamptz not null default now(),
  former json not null
);
-- The history of a search, and what goes with it.
create index search_changes_search on search_changes (search_number, id);

create function polygon_corners_of(members json) returns integer language sql immutable parallel safe as $$
  select coalesce(sum(json_array_length(ring)), 0)::integer
  from json_array_elements(members -> 'geoShapes') polygon, json_array_elements(polygon) ring
$$;

-- Values in the query string are percent-encoded: brackets stand in names alone.
create function excluded_words_of(members json) returns integer language sql immutable parallel safe as $$
  select coalesce(regexp_count(members ->> 'expressions', '\[includes\]=false'), 0)
$$;

create function add_to_search_totals(
  client uuid, number integer, count integer, corners integer, words integer, matches bigint
) returns void language sql as $$
  insert into search_totals values (client, number % 8, count, corners, words, matches)
  on conflict (client_id, shard) do update set
    searches = search_totals.searches + excluded.searches,
    polygon_corners = search_totals.polygon_corners + excluded.polygon_corners,
    excluded_words = search_totals.excluded_words + excluded.excluded_words,
    matches_per_mille = search_totals.matches_per_mille + excluded.matches_per_mille
$$;

-- One statement may write a million rows: a client's are added up first, and clients taken in one order.
create function count_new_searches() returns trigger language plpgsql as $$
begin
  perform add_to_search_totals(client_id, number, count, corners, words, matches) from (
    select client_id, min(number) as number, count(*)::integer as count,
      coalesce(sum(case when members -> 'geoShapes' is not null then polygon_corners_of(members) end), 0)::integer as corners,
      coalesce(sum(case when members -> 'expressions' is not null then excluded_words_of(members) end), 0)::integer as words,
      sum(matches_per_mille) as matches
    from written where deleted_at is null group by client_id order by client_id
  ) added;
  return null;
end $$;

create function count_changed_search() returns trigger language plpgsql as $$
declare
  was integer := (old.deleted_at is null)::integer;
  stays integer := case when tg_op = 'DELETE' then 0 else (new.deleted_at is null)::integer end;
  corners integer := 0;
  words integer := 0;
  matches integer := 0;
begin
  if was = 1 then
    corners := -polygon_corners_of(old.members);
    words := -excluded_words_of(old.members);
    matches := -old.matches_per_mille;
  end if;
  if stays = 1 then
    corners := corners + polygon_corners_of(new.members);
    words := words + excluded_words_of(new.members);
    matches := matches + new.matches_per_mille;
  end if;
  if was <> stays or corners <> 0 or words <> 0 or matches <> 0 then
    perform add_to_search_totals(old.client_id, old.number, stays - was, corners, words, matches);
  end if;
  return null;
end $$;

-- A move changes all searches of a client in one transaction, and adds them up itself: counted one by one, each would
-- walk over the versions of the sum that those before it have left.
create function is_moved(client uuid) returns boolean language sql stable as $$
  select client::text = coalesce(current_setting('vigie.moves', true), '')
$$;

create trigger searches_counted after insert on searches
  referencing new table as written for each statement execute function count_new_searches();
create trigger searches_recounted after update of members, matches_per_mille, deleted_at on searches
  for each row when (not is_moved(new.client_id)) execute function count_changed_search();
-- Most are marked as deleted long before.
create trigger searches_uncounted after delete on searches
  for each row when (old.deleted_at is null) execute function count_changed_search();

-- Properties.

-- `state` is what the adverts said last, as JSON without names (domain/stored-property.ts); `crawls` says when each was
-- seen last. Both are only read whole: as `json` it costs a third of what `jsonb` costs to write and to read, and as
-- `text` nothing is checked again. Rows stay uncompressed up to `toast_tuple_target` bytes, because compressing them took
-- longer than all the rest of writing them. Market columns are derived, for medians at start-up.
create table properties (
  uuid uuid primary key,
  state text not null,
  -- Bytes of `state`, so that one which is too large is known before it is read.
  state_bytes integer not null,
  crawls json not null,
  department_code text,
  transaction_type smallint,
  is_land boolean not null,
  comparable_price double precision,
  expired_at timestamptz,
  created_at timestamptz not null default now(),
  -- `updatedAt` of its document; `updated_at` is when the row was written.
  changed_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
) with (fillfactor = 70, toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.1,
  toast.autovacuum_vacuum_scale_factor = 0.1);
-- What retention removes.
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
-- What is explained of a property, and what goes with it.
create index events_property on events (property_uuid, id);

-- What questions of clients look at, a few hundred bytes a property instead of its documents (domain/property-summary.ts).
create table property_summaries (
  property_uuid uuid primary key,
  -- Hashes of what the property is found by: its adverts, their URLs, and its communes, department and zip codes. A URL
  -- of any length takes eight bytes, and who finds a row compares what was hashed.
  keys bigint[] not null,
  -- Longitude and latitude, degrees.
  location point,
  -- A hash of the UUID: in the order of it, the first ten thousand properties are a fair sample of all.
  sample_key integer not null,
  is_live boolean not null,
  -- What most searches compare, so that PostgreSQL leaves out what fails twice.
  transaction_type smallint,
  property_type smallint,
  price double precision,
  price_per_meter double precision,
  surface double precision,
  land_surface double precision,
  room double precision,
  bedroom double precision,
  furnished boolean,
  facts text not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.1);
-- Properties of an advert, a URL or a place. Without a list of pending entries, which whoever records would have to work
-- off now and then.
create index property_summaries_keys on property_summaries using gin (keys) with (fastupdate = off);
-- Properties within boxes.
create index property_summaries_location on property_summaries using gist (location);
-- The sample.
create index property_summaries_sample on property_summaries (sample_key) where is_live;

create function forget_summaries() returns trigger language plpgsql as $$
begin
  delete from property_summaries using gone where property_uuid = gone.uuid;
  return null;
end $$;
create trigger properties_forgotten after delete on properties
  referencing old table as gone for each statement execute function forget_summaries();

-- Medians by which whoever takes adverts in judges prices, written down once a minute for those who explain.
create table market_medians (
  department_code text not null,
  transaction_type smallint not null,
  is_land boolean not null,
  median double precision not null,
  primary key (department_code, transaction_type, is_land)
) with (fillfactor = 50);

-- Matches and deliveries.

-- One row per (search, property) for ever, from the first delivery, feed item or item of an e-mail on: written in that
-- transaction, which holds the property's row. Notified again, it changes in columns that no index has.
create table matches (
  id uuid primary key,
  property_uuid uuid not null,
  -- When it began or, as long as it has no start, when it was first notified.
  created_at timestamptz not null,
  -- When it was last notified.
  updated_at timestamptz not null,
  -- Of the newest delivery or feed item, which the next one's is above.
  last_delivery_id uuid not null,
  search_number integer not null,
  -- Of that delivery.
  last_sequence integer not null,
  -- The version of the search with which it began, or was first notified.
  search_version integer not null,
  -- False: the property satisfied the search already when the search was created or began to notify. It still begins once.
  has_begun boolean not null,
  -- By which it began, or was first notified: `match` or `event`.
  channel text not null,
  -- The events of the change that did: [{kind, advert, field?, was?, is?}].
  cause json not null,
  -- The pairs of the properties that a batch changes.
  unique (property_uuid, search_number)
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);
-- The matches of a search, by time.
create index matches_search on matches (search_number, created_at desc, id);

-- A property document as it was at a change, once per change and variant (with or without contacts).
create table snapshots (
  id uuid primary key,
  document text not null,
  created_at timestamptz not null default now()
) with (toast_tuple_target = 8160, autovacuum_vacuum_insert_threshold = -1,
  autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);

-- What a delivery is: written once, apart from being sent again. The body is head || document || '}}'.
create table deliveries (
  id uuid primary key,
  snapshot_id uuid not null,
  match_id uuid not null,
  created_at timestamptz not null default now(),
  search_number integer not null,
  sequence integer not null,
  -- Attempts made before it was sent again; they do not count against the six of the present series.
  attempts_spent smallint not null default 0,
  replay_count smallint not null default 0,
  channel text not null,
  kind text not null,
  endpoint text not null,
  endpoint_key text not null,
  head text not null,
  -- The trace that the advert's message belonged to (W3C Trace Context).
  traceparent text
) with (autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_scale_factor = 0.02);
-- The deliveries of a search, by time.
create index deliveries_search on deliveries (search_number, created_at desc, id);

-- The queue: a row as long as its delivery is open. A delivery that is neither here nor in `endings` was delivered. No
-- index holds what a claim changes, and pages have room for the new version: every claim is a HOT update.
create table open_deliveries (
  id uuid primary key,
  match_id uuid not null,
  claimed_at timestamptz,
  -- Of a retry, its hour; of what is due, since when, which nothing is decided by.
  due_at timestamptz not null default now(),
  search_number integer not null,
  -- Of its search when it was recorded.
  generation integer not null,
  -- The courier that has an attempt under way (couriers).
  claimed_by integer,
  -- 1: a first attempt is due. 2: another one is due. -1: waits for its hour. 0: a first attempt waits for an earlier one
  -- of its match.
  lane smallint not null default 1,
  -- Counted before the request; counts on over series.
  attempt_count smallint not null default 0,
  -- Whether its match has earlier deliveries.
  follows boolean not null,
  -- Its client asked for another sending while an attempt was under way: it follows that one, however it ends.
  is_resent boolean not null default false,
  endpoint_key text not null
) with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_threshold = -1);
-- What is due at an endpoint, in the order of ids, and what is open there.
create index open_endpoint on open_deliveries (endpoint_key, lane, id);
-- What may hold back a later delivery of its match.
create index open_undecided on open_deliveries (match_id, id) where lane in (0, 1);
-- Whom nothing but an earlier one holds back.
create index open_waiting on open_deliveries (id) where lane = 0;
-- Whose next attempt follows the present one.
create index open_resent on open_deliveries (id) where is_resent;
-- Whose hour is over.
create index open_retrying on open_deliveries (due_at, id) where lane = -1;

-- Deliveries that ended without success.
create table endings (
  delivery_id uuid primary key,
  endpoint_key text not null,
  state text not null,
  attempt_count smallint not null,
  at timestamptz not null default now()
);
-- What operators list, and what the alert on exhausted deliveries counts.
create index endings_failed on endings (endpoint_key, delivery_id) where state = 'failed';

-- A row for each process that delivers. `beat` changes as long as it lives: lookers compare it with what they saw before,
-- by their own clocks, and no two clocks are ever compared.
create table couriers (
  number integer generated always as identity primary key,
  beat bigint not null default 0
) with (fillfactor = 50);

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

-- Where deliveries stand, for those who read them. Each fact is looked up by key, and only where it is asked for.
create view delivery_states as
select d.*,
  coalesce(
    (select case when claimed_by is not null then 'sending' when lane = -1 then 'retry_wait' else 'queued' end
     from open_deliveries where id = d.id),
    (select state from endings where delivery_id = d.id), 'delivered') as state,
  coalesce((select attempt_count from open_deliveries where id = d.id),
    (select attempt_count from endings where delivery_id = d.id),
    (select max(number) from attempts where delivery_id = d.id), 0)::smallint as attempt_count,
  coalesce((select due_at from open_deliveries where id = d.id), d.created_at) as due_at,
  case when not exists (select from open_deliveries where id = d.id) then coalesce(
    (select at from endings where delivery_id = d.id),
    (select started_at + duration_ms * interval '1 millisecond' from attempts
     where delivery_id = d.id order by error is not null, number limit 1), d.created_at) end as finished_at,
  (select generation from open_deliveries where id = d.id) as generation
from deliveries d;

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
-- One at a time a client, and what is to be worked at.
create unique index recoveries_open on recoveries (client_id) where state in ('counting', 'running');
-- A client's recoveries, listed.
create index recoveries_client on recoveries (client_id, id);

-- What recoveries have under way, with the attempts that each had before: as many as there are slots for.
create table recovery_items (
  recovery_id uuid not null,
  delivery_id uuid not null,
  match_id uuid not null,
  -- Null: it waits for an earlier one of its match.
  attempt_count smallint,
  primary key (recovery_id, delivery_id)
) with (autovacuum_vacuum_scale_factor = 0.02);

-- E-mail.

-- A delivery of channel `email`, in the states of a delivery (domain/delivery.ts); it needs no snapshot.
create table mail_items (
  id uuid primary key,
  client_id uuid not null,
  search_number integer not null,
  match_id uuid not null,
  property_uuid uuid not null,
  kind text not null,
  -- `mailto:` and the address, and its key. Both follow the search until the item is sent.
  endpoint text not null,
  endpoint_key text not null,
  -- Why the property is in the e-mail (domain/mail-item.ts), JSON: what is said of it is read when the e-mail is written.
  reason text not null,
  -- The price that the e-mail said.
  notified_price double precision,
  traceparent text,
  state text not null default 'queued',
  attempt_count smallint not null default 0,
  attempts_spent smallint not null default 0,
  replay_count smallint not null default 0,
  attempt_started_at timestamptz,
  -- The e-mail that it is part of, from its first attempt on: items of one share attempts and outcome.
  mail_id uuid,
  -- Of its search when it was recorded.
  generation integer not null default 0,
  -- Counted up by each change that its history keeps: it means the same in any cluster, as `revision` does not.
  version integer not null default 0,
  -- On the first item of an e-mail that may be tried again: its bytes, and of how many items they consist.
  letter bytea,
  letter_items integer,
  -- When it goes along with another item of its recipient at the earliest, and when it goes by itself.
  gathers_from timestamptz not null,
  due_at timestamptz not null,
  created_at timestamptz not null default now(),
  finished_at timestamptz
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
-- The items of a search, by time.
create index mail_items_search on mail_items (search_number, created_at desc, id);
-- What is due, client by client.
create index mail_items_due on mail_items (client_id, due_at, id) where state in ('queued', 'retry_wait');
-- What goes along in one e-mail.
create index mail_items_recipient on mail_items (endpoint_key, id) where state = 'queued';
-- What is in an e-mail.
create index mail_items_mail on mail_items (mail_id) where mail_id is not null;
-- Whose lease has ended.
create index mail_items_sending on mail_items (due_at) where state = 'sending';
-- What a recipient was last notified of a property.
create index mail_items_notified on mail_items (endpoint_key, property_uuid) where state = 'delivered';
-- What operators list.
create index mail_items_failed on mail_items (id) where state = 'failed';

-- Whoever makes an e-mail holds the recipient's row: so there is one at a time. `day` is a day in Paris, and `mails` how
-- many were begun on it. No address is kept here, and an unsubscription stays when everything else has gone.
create table mail_recipients (
  key text primary key,
  client_id uuid not null,
  day date,
  mails integer not null default 0,
  unsubscribed_at timestamptz,
  -- The e-mail that asks once whether an unsubscription still holds; kept, so that there is never a second one.
  confirmation_id uuid,
  -- Of its next attempt, or of the end of the present one's lease; null when there is nothing more to do.
  confirmation_due_at timestamptz,
  confirmation_attempts smallint not null default 0,
  confirmation_letter bytea
) with (fillfactor = 70);
create index mail_recipients_confirmation on mail_recipients (confirmation_due_at) where confirmation_due_at is not null;

-- The same, for all recipients of a client.
create table mail_clients (
  client_id uuid primary key,
  day date not null,
  mails integer not null
) with (fillfactor = 50);

-- What a link to unsubscribe proves itself by: SHA-256 of 128 random bits, new ones in each attempt.
create table mail_tokens (
  hash bytea primary key,
  recipient_key text not null,
  created_at timestamptz not null default now()
);
-- Those that are over a year old.
create index mail_tokens_created on mail_tokens (created_at);

-- The feed.

-- The feed is what webhooks carry, in the order in which it was recorded, and what they would carry of notifying searches
-- without an endpoint: that lies here, where nobody claims, sweeps or lists it.
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

-- Endpoints.

-- What is known of an endpoint: written once a second by the couriers, read by operators and by couriers that start. An
-- endpoint is a client's: its key is the URL's, followed by the client and the host (domain/endpoint.ts). A pause of the
-- URL's key alone holds for every client.
create table endpoints (
  key text primary key,
  url text not null,
  -- An operator has paused it: nothing is sent to it.
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
-- Whose deliveries no courier claims.
create index endpoints_paused on endpoints (key) where paused_at is not null;

-- Intake.

-- One row, which every recording transaction holds shared (store/intake-leader.ts).
create table intake_leader (
  -- The number of the term in which an instance takes adverts in. The next leader counts it up, so nobody records in a
  -- term that is over.
  term bigint not null,
  -- New sequences are above it: what a database sent before it was restored to an older state is not sent again of
  -- something else.
  sequence_floor integer not null default 0,
  -- Held, the cell records no message beyond `held_behind`: a client is being moved.
  held_for uuid,
  held_behind bigint,
  held_until timestamptz,
  -- Counts the clients that came from other cells: whoever records must know their searches before it goes on.
  search_epoch integer not null default 0
);
insert into intake_leader values (0);

-- One row: since when the present leader takes adverts in, when it was last seen doing so, and how long nobody did
-- before it. Nulls: nobody ever did. Not a part of intake_leader, which every recording transaction locks.
create table intake_leads (
  began_at timestamptz,
  seen_at timestamptz,
  gap_seconds double precision,
  -- When nobody did for longer than an hour, the oldest first, of the last two years.
  gaps tstzrange[] not null default '{}'
) with (fillfactor = 50);
insert into intake_leads default values;

-- One row: how far the stream of adverts is recorded in this database (store/intake-position.ts). `stored_at` is when
-- the stream took that message, as it says: the same number in another stream has another time. A new one has recorded
-- nothing, whatever the stream's consumer says.
create table intake_position (
  sequence bigint not null,
  stored_at text,
  -- Which database it was that recorded so far: a copy restored elsewhere is another one. Null until it was asked.
  database_identity text,
  -- The stream that the position is of, distinguished from others by a number, which each advert's last crawl carries; when
  -- the stream was made, as it says. Null before the first term.
  stream_number integer not null default 1,
  stream_created text,
  -- Of the log in which `sequence` was recorded: a standby that is promoted begins another one. Null before the first, and
  -- where commits wait for a standby.
  timeline text
);
insert into intake_position (sequence) values (0);

-- The last message of the stream that any recording transaction took in, noted with what it wrote: each connection has a
-- row of its own (store/intake-position.ts). The position of before says too little of what the rows hold.
create table intake_reach (
  slot integer primary key,
  stream_number integer not null default 0,
  sequence bigint not null default 0,
  stored_at_ms bigint not null default 0
) with (fillfactor = 50);
insert into intake_reach (slot) select generate_series(0, 7);

create table dead_letters (
  id bigint generated always as identity primary key,
  stream text not null,
  -- As intake_position counts streams.
  stream_number integer not null default 1,
  sequence bigint not null,
  subject text not null,
  headers jsonb not null,
  body bytea not null,
  -- A stream that was created anew counts its sequences from 1 again.
  body_hash bytea generated always as (sha256(body)) stored,
  reason text not null,
  -- Of a message that a bug kept from being recorded: its property or, when it could not be decoded,
  -- its subject. Null for messages that are wrong themselves.
  failed_key text,
  received_at timestamptz not null default now(),
  unique (stream, sequence, body_hash)
);
-- How many different ones failed lately: many mean that the bug is not theirs.
create index dead_letters_failed on dead_letters (received_at) where failed_key is not null;

-- Operation.

-- What operators have decided about a stage (`intake`, `deliver`) or the search index; every instance
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
  -- The newest migration that it knows.
  newest_migration integer not null,
  started_at timestamptz not null,
  seen_at timestamptz not null default clock_timestamp(),
  stages jsonb not null,
  search_index jsonb,
  -- What has been failing in it for a while.
  failing jsonb not null
);

-- One row: the oldest migration that a version must know to work on this database. Migrations only add, so versions of
-- before go on beside newer ones, and it stays; one that takes something away raises it (store/schema.ts).
create table schema_compatibility (compatible_from integer not null);
insert into schema_compatibility values (1);

-- For migrations that take away what versions without migration `needed` use: refused while one of them runs. One that
-- shows itself later finds the row.
create function require_migration(needed integer) returns void language plpgsql as $$
declare
  living text := (
    select string_agg(format('%s, process %s on %s', version, process_id, host), '; ' order by started_at, id)
    from instances
    where seen_at > clock_timestamp() - interval '10 seconds' and newest_migration < needed
  );
begin
  if living is not null then
    raise exception 'The database cannot be upgraded while an older version works on it (%). Stop that one, and start again.', living;
  end if;
  update schema_compatibility set compatible_from = greatest(compatible_from, needed);
end $$;

-- One row: which cell this database is of (domain/cell.ts), from the first start that says so. A process with another name
-- is refused: what the database knows of the streams is said of those that are named after its cell.
-- `database_id` is what the database is known by on NATS (domain/database-label.ts), the same after a restore.
create table cell (
  name text,
  database_id uuid not null default gen_random_uuid()
);
insert into cell default values;

-- What a client's move keeps off.

-- Whoever writes something of a client shares its row until the commit, so a move that has closed the client finds
-- everything that was written before. The command itself says which client it moves.
create function refuse_moving(client uuid) returns void language plpgsql as $$
declare
  cell text;
begin
  if client::text = current_setting('vigie.moves', true) then return; end if;
  perform from clients where id = client for share;
  select coalesce(moved_to, '') into cell from clients
  where id = client and (moved_to is not null or moving_until > clock_timestamp());
  if not found then return; end if;
  raise exception using errcode = 'VM001', message = 'the client is moved to another cell', detail = cell;
end $$;

create function refuse_moving_of_written() returns trigger language plpgsql as $$
begin
  perform refuse_moving(client_id) from (select distinct client_id from written order by client_id) clients;
  return null;
end $$;

create function refuse_moving_of_row() returns trigger language plpgsql as $$
begin
  perform refuse_moving(case when tg_op = 'DELETE' then old.client_id else new.client_id end);
  return null;
end $$;

create trigger searches_kept_from_moving after insert on searches
  referencing new table as written for each statement execute function refuse_moving_of_written();
create trigger changed_searches_kept_from_moving after update of members, context, deleted_at on searches
  for each row execute function refuse_moving_of_row();
create trigger keys_kept_from_moving after insert or update on api_keys
  for each row execute function refuse_moving_of_row();
create trigger secrets_kept_from_moving after insert on webhook_secrets
  for each row execute function refuse_moving_of_row();
-- An expired one is removed by retention.
create trigger living_secrets_kept_from_moving after delete on webhook_secrets
  for each row when (old.expires_at is null or old.expires_at > clock_timestamp())
  execute function refuse_moving_of_row();
create trigger recoveries_kept_from_moving after insert on recoveries
  for each row execute function refuse_moving_of_row();
create trigger recipients_kept_from_moving after update of unsubscribed_at, confirmation_id on mail_recipients
  for each row execute function refuse_moving_of_row();

-- Feeds (features/feeds): what was published last of each source, a row for each advert that it shows, and one with an
-- empty reference for the source itself.
create table feed_publications (
  source text not null,
  reference text not null,
  -- Of the advert's content, null until its first publication is acknowledged; of the bytes of a snapshot while it is
  -- published.
  hash text,
  published_at timestamptz not null,
  -- Of the source: what the last look and the last snapshot brought.
  report jsonb,
  primary key (source, reference)
);
create index feed_publications_sources on feed_publications (source) where reference = '';
