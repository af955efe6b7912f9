-- The whole schema, by topic: clients, reference, searches, properties, matches and their deliveries, e-mail, the feed,
-- endpoints, intake, operation. Changes after the first release are migrations of their own (store/schema.ts). Rows of
-- adverts and of deliveries leave as fast as they come (domain/retention.ts): vacuum's default of a fifth of the table
-- would let that much of it be dead. Append-only tables are exempt from vacuum until retention reaches them: no query
-- benefits from what it would record.

-- Clients.

create table clients (
  id uuid primary key,
  name text not null unique,
  -- Limits that replace the configured defaults; null: the default.
  rate_limit_per_second integer,
  rate_limit_burst integer,
  write_limit_per_second integer,
  write_limit_burst integer,
  searches_max integer,
  polygon_corners_max integer,
  excluded_words_max integer,
  matches_per_advert_max integer,
  -- Is notified by e-mail of endpoints that fail, at most once an hour: when that was tried last.
  notice_address text,
  notice_tried_at timestamptz,
  created_at timestamptz not null default now(),
  -- A deleted client has no name and no keys; its searches are deleted in the background.
  deleted_at timestamptz
);
-- Clients whose searches are to be deleted.
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

-- Secrets that sign every webhook of a client beside the token of its search. Null never expires.
create table webhook_secrets (
  id uuid primary key,
  client_id uuid not null,
  secret text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
-- The unexpired ones of the clients whose deliveries are claimed.
create index webhook_secrets_client on webhook_secrets (client_id, coalesce(expires_at, 'infinity'));

-- Results of requests with an Idempotency-Key, for a day: written in the transaction that creates the resource.
create table idempotency_keys (
  client_id uuid not null,
  path text not null,
  key text not null,
  body_hash bytea not null,
  resource_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (client_id, path, key)
);
-- Keys that are over a day old.
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

-- Searches.

-- `revision` is the writing transaction: readers poll `revision >= horizon`, where the horizon is the oldest
-- transaction that was still running at their last poll, so a write that commits late is never skipped. A deleted
-- search stays as a row until its deliveries are gone.
create table searches (
  number integer generated always as identity primary key,
  id uuid not null unique,
  client_id uuid not null references clients,
  title text not null,
  title_folded text not null,
  members json not null,
  -- The client's own JSON for a search, as text, so that it is returned unchanged. Apart from `members`, which the
  -- matcher loads.
  context text,
  notification_enabled boolean not null,
  endpoint_recipient text,
  event_endpoint text,
  subscribed_events text[] not null,
  hide_property_contact boolean not null,
  -- Null: it has none. As the recorder reads it (event_thresholds_of).
  event_thresholds json,
  token text not null,
  -- The recipient of its e-mails (mail_key_of): the client and the address.
  mail_key text,
  -- Since when the recipient's server permanently refuses the address.
  mail_refused_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_alert_at timestamptz,
  -- Incremented when the search is silenced: open deliveries recorded under an earlier generation count as cancelled.
  generation integer not null default 0,
  -- Incremented by each change that its history keeps: it means the same in any cluster, unlike `revision`.
  version integer not null default 0,
  -- Since when open deliveries are to be cancelled one by one, in the background; null when that is done.
  silenced_at timestamptz,
  deleted_at timestamptz,
  -- Estimated matches per 1,000 adverts, computed when its criteria were saved.
  matches_per_mille smallint not null default 0,
  revision xid8 not null default pg_current_xact_id()
) with (fillfactor = 90);
-- Changes since a copy in memory was read.
create index searches_revision on searches (revision);
-- A client's lists, by title and by age, with their filters: a hundred thousand titles are read from the index, not
-- from as many pages.
create index searches_client_title on searches (client_id, title collate "fr-x-icu", number)
  include (title_folded, notification_enabled) where deleted_at is null;
create index searches_client on searches (client_id, number)
  include (title_folded, notification_enabled) where deleted_at is null;
-- The affected searches that notify: most do not, and their rows are scattered over the table.
create index searches_told on searches (number) where notification_enabled or deleted_at is not null;
-- The searches of a recipient of e-mail.
create index searches_mail on searches (mail_key) where mail_key is not null;
-- Searches whose deliveries are to be cancelled.
create index searches_silenced on searches (silenced_at) where silenced_at is not null;
-- Rows that retention removes.
create index searches_deleted on searches (deleted_at) where deleted_at is not null;

-- Totals of each client's searches, so that no query counts them: kept by triggers. A client's total is divided over
-- several rows, because writers of one row wait for each other's commits.
create table search_totals (
  client_id uuid not null references clients,
  shard smallint not null,
  searches integer not null,
  polygon_corners integer not null,
  excluded_words integer not null,
  -- Per 1,000 adverts. Shard -1 holds the correction of the estimates by the leader's sample of adverts.
  matches_per_mille bigint not null,
  primary key (client_id, shard)
) with (fillfactor = 50);

-- The former values of a search before each change of its criteria, endpoints or notifications: the members that
-- differed. Kept as long as events, the newest 200 of a search.
create table search_changes (
  id bigint generated always as identity primary key,
  search_number integer not null,
  -- Of the search from this change on.
  version integer not null,
  changed_at timestamptz not null default now(),
  former json not null
);
-- The history of a search, removed with it.
create index search_changes_search on search_changes (search_number, id);

create function polygon_corners_of(members json) returns integer language sql immutable parallel safe as $$
  select coalesce(sum(json_array_length(ring)), 0)::integer
  from json_array_elements(members -> 'geoShapes') polygon, json_array_elements(polygon) ring
$$;

-- Values in the query string are percent-encoded: brackets occur in names only.
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

-- One statement may write a million rows: a client's are added up first, and clients are processed in one order.
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

create trigger searches_counted after insert on searches
  referencing new table as written for each statement execute function count_new_searches();
create trigger searches_recounted after update of members, matches_per_mille, deleted_at on searches
  for each row execute function count_changed_search();
-- Most are marked as deleted long before.
create trigger searches_uncounted after delete on searches
  for each row when (old.deleted_at is null) execute function count_changed_search();

-- Properties.

-- `state` holds the last statements of the adverts, as JSON without names (domain/stored-property.ts); `crawls` holds
-- when each was last seen. Both are only read whole: as `json` it costs a third of what `jsonb` costs to write and to
-- read, and as `text` it is not validated again. Rows stay uncompressed up to `toast_tuple_target` bytes (see the end of
-- this file).
create table properties (
  uuid uuid primary key,
  state text not null,
  -- Bytes of `state`, so that an oversized one is known before it is read.
  state_bytes integer not null,
  crawls json not null,
  expired_at timestamptz,
  created_at timestamptz not null default now(),
  -- `updatedAt` of its document; `updated_at` is when the row was written.
  changed_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
) with (fillfactor = 70, toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.1,
  toast.autovacuum_vacuum_scale_factor = 0.1);
-- Rows that retention removes.
create index properties_expired on properties (expired_at) where expired_at is not null;

create table events (
  id bigint generated always as identity primary key,
  property_uuid uuid not null,
  advert_uuid uuid not null,
  kind text not null,
  field_name text,
  field_old_value text,
  field_new_value text,
  created_at timestamptz not null,
  recorded_at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = -1);
-- The history of a property for explanations, removed with it.
create index events_property on events (property_uuid, id);

-- What the recorder reads of a search with thresholds (RouteThresholds of domain/routing.ts). The id of the last event is a
-- moment that no clock moves: what a transaction records that was under way has a higher one.
create function event_thresholds_of(fields json, compares boolean, present json, begins boolean)
returns json language sql as $$
  select json_build_object('fields', fields,
    'keptSince', case when compares then coalesce((present ->> 'keptSince')::bigint, last_event) end,
    'comparedSince', case when compares then
      coalesce(case when not begins then (present ->> 'comparedSince')::bigint end, last_event) end)
  from (select coalesce(pg_sequence_last_value('events_id_seq'), 0)) as recorded(last_event)
$$;

-- The basis of clients' queries over many properties, a few hundred bytes each instead of the documents
-- (domain/property-summary.ts).
create table property_summaries (
  property_uuid uuid primary key,
  -- Hashes of a property's keys: its adverts, their URLs, and its communes, department and zip codes. A URL of any
  -- length takes eight bytes, and the reader of a found row compares the hashed values.
  keys bigint[] not null,
  -- Longitude and latitude, degrees.
  location point,
  -- A hash of the UUID: in its order, the first ten thousand properties are a fair sample of all.
  sample_key integer not null,
  is_live boolean not null,
  -- The facts that most searches compare, so that PostgreSQL excludes properties that fail twice, and those from which it
  -- computes the medians of markets.
  department_code text,
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
-- Properties of an advert, a URL or a place. Without a list of pending entries, which the recorder would have to merge
-- now and then.
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

-- Medians by which alerts, explanations and previews evaluate prices (store/market-medians.ts).
create table market_medians (
  department_code text not null,
  transaction_type smallint not null,
  is_land boolean not null,
  -- Null: it had one, and too few prices are known now.
  median double precision,
  changed_at timestamptz not null,
  -- Of the computation that changed it. The highest one shows readers that the table has changed.
  revision bigint not null,
  primary key (department_code, transaction_type, is_land)
) with (fillfactor = 50);

-- Matches and deliveries.

-- One row per (search, property) for ever, from the first delivery, feed item or e-mail item on: written in that
-- transaction, which holds the property's row. A further notification changes only unindexed columns.
create table matches (
  id uuid primary key,
  property_uuid uuid not null,
  -- When it began or, as long as it has no start, when it was first notified.
  created_at timestamptz not null,
  -- When it was last notified.
  updated_at timestamptz not null,
  -- Of the newest delivery or feed item; the id of the next one is above it.
  last_delivery_id uuid not null,
  search_number integer not null,
  -- Of that delivery.
  last_sequence integer not null,
  -- The version of the search with which it began, or was first notified.
  search_version integer not null,
  -- False: the property satisfied the search already when the search was created or began to notify. It still begins
  -- once.
  has_begun boolean not null,
  -- The cause of its beginning or first notification: `match` or `event`.
  channel text not null,
  -- The events of that change: [{kind, advert, field?, was?, is?}].
  cause json not null,
  -- The pairs of the properties that a batch changes.
  unique (property_uuid, search_number)
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);
-- The matches of a search, by time.
create index matches_search on matches (search_number, created_at desc, id);

-- What searches that ask for it were notified of, by match. A row without a match is removed in the background.
create table match_notices (
  match_id uuid primary key,
  -- Price and surface by advert, and `keptSince` of the search: values from before it asked anew have another one.
  kept_since bigint,
  notified json,
  -- The end that it was notified of last, with the criterion, and the return; `is_ended`: it was not notified of a return
  -- or a start since.
  is_ended boolean not null,
  ended_at timestamptz,
  ended_by text,
  resumed_at timestamptz
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);

-- A property document as it was at a change, once per change and variant (with or without contacts).
create table snapshots (
  id uuid primary key,
  document text not null,
  created_at timestamptz not null default now()
) with (toast_tuple_target = 8160, autovacuum_vacuum_insert_threshold = -1,
  autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);

-- The facts of a delivery: written once, except when it is resent. The body is head || document || '}}'.
create table deliveries (
  id uuid primary key,
  snapshot_id uuid not null,
  match_id uuid not null,
  created_at timestamptz not null default now(),
  search_number integer not null,
  sequence integer not null,
  -- Attempts made before it was resent; they do not count against the six of the present series.
  attempts_spent smallint not null default 0,
  replay_count smallint not null default 0,
  channel text not null,
  kind text not null,
  endpoint text not null,
  endpoint_key text not null,
  head text not null,
  -- The trace of the advert's message (W3C Trace Context), and after a blank its `tracestate`.
  traceparent text
) with (autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_scale_factor = 0.02);
-- The deliveries of a search, by time.
create index deliveries_search on deliveries (search_number, created_at desc, id);

-- The queue: a row as long as its delivery is open. A delivery that is neither here nor in `final_outcomes` was delivered. A
-- claim changes only unindexed columns, and pages have room for the new version: every claim is a HOT update.
create table open_deliveries (
  id uuid primary key,
  match_id uuid not null,
  -- When the present or last attempt began: tells attempts of one number apart.
  claimed_at timestamptz,
  -- For a retry, its time; for a due delivery, since when, for information only.
  due_at timestamptz not null default now(),
  search_number integer not null,
  -- The search's generation at its recording.
  generation integer not null,
  -- The courier with an attempt under way (couriers).
  claimed_by integer,
  -- Its state (delivery-states.ts, QUEUE.md): -1 waiting_retry, 0 held, 1 due, 2 due_again.
  lane smallint not null default 1,
  -- Counted before the request; counts on over series.
  attempt_count smallint not null default 0,
  -- Whether its match has earlier deliveries.
  follows boolean not null,
  -- Its client requested a resend during an attempt: the resend follows that attempt, however it ends.
  is_resent boolean not null default false,
  endpoint_key text not null
) with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_threshold = -1);
-- The due deliveries of an endpoint, in the order of ids (whose bytes compare as they do), and its open ones.
-- This index and the next ones serve the statements alone that state their conditions (`is true`: others do not imply
-- it). One by id, planned while the queue was empty, would find them as cheap as the primary key, and read all of it in a
-- backlog.
create index open_endpoint on open_deliveries (endpoint_key, lane, uuid_send(id)) where (lane between -1 and 2) is true;
-- Deliveries that may hold back a later one of their match: those at its endpoint are found, however many of another
-- lie between. Of the match seven bytes, with its time and eighteen random bits, and of the endpoint a hash: an entry is
-- as long as with the match's id alone.
create index open_undecided on open_deliveries
  (substring(uuid_send(match_id) from 3 for 7), hashtext(endpoint_key), lane, id) where (lane in (0, 1)) is true;
-- Deliveries that only an earlier one holds back.
create index open_held on open_deliveries (id) where (lane = 0) is true;
-- Deliveries with a resend after the present attempt.
create index open_resent on open_deliveries (id) where is_resent;
-- Retries that are due.
create index open_retrying on open_deliveries (due_at, id) where (lane = -1) is true;

-- Deliveries that ended without success.
create table final_outcomes (
  delivery_id uuid primary key,
  endpoint_key text not null,
  state text not null,
  attempt_count smallint not null,
  at timestamptz not null default now()
);
-- What operators list, and what the alert on exhausted deliveries counts.
create index final_outcomes_failed on final_outcomes (endpoint_key, delivery_id) where state = 'failed';

-- A row per delivering process. `beat` changes as long as it lives: other couriers compare it with its former value, by
-- their own clocks, so that no two clocks are ever compared.
create table couriers (
  number integer generated always as identity primary key,
  process uuid not null,
  beat bigint not null default 0,
  -- Incremented when an endpoint is paused or resumed: the courier reads anew which are.
  pauses integer not null default 0
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

-- States of deliveries for readers. Each fact is looked up by key, and only where it is requested.
create view delivery_states as
select d.*,
  coalesce(
    (select case when claimed_by is not null then 'sending' when lane = -1 then 'retry_wait' else 'queued' end
     from open_deliveries where id = d.id),
    (select state from final_outcomes where delivery_id = d.id), 'delivered') as state,
  coalesce((select attempt_count from open_deliveries where id = d.id),
    (select attempt_count from final_outcomes where delivery_id = d.id),
    (select max(number) from attempts where delivery_id = d.id), 0)::smallint as attempt_count,
  coalesce((select due_at from open_deliveries where id = d.id), d.created_at) as due_at,
  case when not exists (select from open_deliveries where id = d.id) then coalesce(
    (select at from final_outcomes where delivery_id = d.id),
    (select started_at + duration_ms * interval '1 millisecond' from attempts
     where delivery_id = d.id order by error is not null, number limit 1), d.created_at) end as finished_at,
  (select generation from open_deliveries where id = d.id) as generation
from deliveries d;

-- Recoveries that clients have requested: everything that fits is resent, oldest first, at a limited rate. The
-- processing keeps nothing in memory, so another process can continue at any time.
create table recoveries (
  id uuid primary key,
  client_id uuid not null,
  search_number integer,
  endpoint text,
  since timestamptz not null,
  until timestamptz not null,
  includes_delivered boolean not null,
  state text not null default 'counting',
  -- The last delivery that was examined.
  place uuid not null,
  matched integer not null default 0,
  sent integer not null default 0,
  delivered integer not null default 0,
  failed integer not null default 0,
  skipped integer not null default 0,
  created_at timestamptz not null default now(),
  finished_at timestamptz
) with (fillfactor = 50);
-- One open recovery per client, and those to process.
create unique index recoveries_open on recoveries (client_id) where state in ('counting', 'running');
-- A client's recoveries, listed.
create index recoveries_client on recoveries (client_id, id);

-- Deliveries that recoveries have under way, with the attempts that each had before: at most as many as there are
-- slots.
create table recovery_items (
  recovery_id uuid not null,
  delivery_id uuid not null,
  match_id uuid not null,
  -- Null: it waits for an earlier one of its match.
  attempt_count smallint,
  primary key (recovery_id, delivery_id)
) with (autovacuum_vacuum_scale_factor = 0.02);

-- E-mail.

-- One row: what makes the key of a recipient a salted hash. Two random UUIDs are 244 bits.
create table mail_salts (salt bytea not null);
insert into mail_salts
select sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'));

-- The key of a recipient: a client and an address, ignoring case. As long as the key of an endpoint.
create function mail_key_of(client uuid, address text) returns text language sql stable strict parallel safe as $$
  select left(encode(sha256(salt || convert_to(client || lower(address collate "C"), 'UTF8')), 'hex'), 32)
  from mail_salts
$$;

-- A delivery of channel `email`, in the states of a delivery (domain/delivery.ts); it needs no snapshot.
create table mail_items (
  id uuid primary key,
  client_id uuid not null,
  search_number integer not null,
  match_id uuid not null,
  property_uuid uuid not null,
  kind text not null,
  -- `mailto:` with the address, and its key. Both follow the search until the item is sent.
  endpoint text not null,
  endpoint_key text not null,
  -- Why the property is in the e-mail (features/mail/mail-items.ts), JSON: the rest is read when the e-mail is written.
  reason text not null,
  -- Of the last item of a property in an e-mail: what that showed of each advert, JSON (features/mail).
  notified jsonb,
  state text not null default 'queued',
  attempt_count smallint not null default 0,
  attempts_spent smallint not null default 0,
  replay_count smallint not null default 0,
  attempt_started_at timestamptz,
  -- The e-mail that contains it, from its first attempt on: items of one share attempts and outcome.
  mail_id uuid,
  -- The number of e-mails in which its property found no room.
  postponed_count smallint not null default 0,
  -- The search's generation at its recording.
  generation integer not null default 0,
  -- On the first item of an e-mail that may be retried: its bytes, and the number of its items.
  letter bytea,
  letter_items integer,
  -- The earliest time to join another item of its recipient, and the time to be sent by itself.
  gathers_from timestamptz not null,
  due_at timestamptz not null,
  created_at timestamptz not null default now(),
  finished_at timestamptz
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
-- The items of a search, by time.
create index mail_items_search on mail_items (search_number, created_at desc, id);
-- Due items, client by client.
create index mail_items_due on mail_items (client_id, due_at, id) where state in ('queued', 'retry_wait');
-- Items that share an e-mail.
create index mail_items_recipient on mail_items (endpoint_key, id) where state = 'queued';
-- The items of an e-mail.
create index mail_items_mail on mail_items (mail_id) where mail_id is not null;
-- Items whose lease has ended.
create index mail_items_sending on mail_items (due_at) where state = 'sending';
-- The items of a recipient, and what it was last notified of.
create index mail_items_notified on mail_items (endpoint_key, property_uuid);
-- The items that operators list.
create index mail_items_failed on mail_items (id) where state = 'failed';

-- Writing an e-mail locks the recipient's row: so there is one at a time. No address is stored here; an unsubscription and an erasure are kept when everything else is
-- removed.
create table mail_recipients (
  key text primary key,
  client_id uuid not null,
  unsubscribed_at timestamptz,
  -- When an unsubscription was last taken back.
  resubscribed_at timestamptz,
  -- Erased, and not written to since; null once later consent has lifted that.
  erased_at timestamptz,
  -- When consent last lifted an erasure.
  lifted_at timestamptz
) with (fillfactor = 70);
-- Choices that are written beside the data (features/recipients).
create index mail_recipients_chosen on mail_recipients
  (greatest(erased_at, lifted_at, unsubscribed_at, resubscribed_at))
  where greatest(erased_at, lifted_at, unsubscribed_at, resubscribed_at) is not null;

-- The e-mails of a client to a mailbox, begun on a day in Paris. The key is a salted hash: recipients may share a mailbox.
create table mail_mailboxes (
  key text primary key,
  day date not null,
  mails integer not null
) with (fillfactor = 50);

-- The same of a client to everyone.
create table mail_clients (
  client_id uuid primary key,
  day date not null,
  mails integer not null
) with (fillfactor = 50);

-- The proof in a link to unsubscribe: SHA-256 of 128 random bits, new in each attempt.
create table mail_tokens (
  hash bytea primary key,
  recipient_key text not null,
  created_at timestamptz not null default now()
);
-- Tokens that are over a year old.
create index mail_tokens_created on mail_tokens (created_at);

-- The feed.

-- The feed contains what webhooks carry, in the order of recording, and what they would carry for notifying searches
-- without an endpoint: those items are stored here, where they are not claimed, scanned or listed.
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

-- What one transaction of the recorder has for one client: ids of `deliveries` and `feed_items`, in order. One row
-- instead of a column and an index entry of each delivery, which would be written again with each of its states.
-- `epoch` is the sequence floor (intake_leader): raised with each restoration, after which transactions may count anew.
create table feed_batches (
  client_id uuid not null,
  epoch integer not null,
  recorded_in xid8 not null,
  ids uuid[] not null,
  search_numbers integer[] not null,
  created_at timestamptz not null default now(),
  primary key (client_id, epoch, recorded_in)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = -1);

-- The end of the removed part of a client's feed: an older cursor has missed items.
create table feed_floors (client_id uuid primary key, epoch integer not null, recorded_in xid8 not null, id uuid not null);

-- One row: the key that signs the cursors of the feed. Two random UUIDs are 244 bits.
create table feed_keys (key bytea not null);
insert into feed_keys
select sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'));

-- Endpoints.

-- The observed state of an endpoint: written once a second by the couriers, read by its client, operators and starting couriers.
-- An endpoint is a client's: its key is the URL's, followed by the client and the host (domain/endpoint.ts). A pause of
-- the URL's key alone applies to every client.
create table endpoints (
  key text primary key,
  url text not null,
  -- No attempt starts while it is paused, by any of these; `paused_at` is when the first one came.
  operator_paused_at timestamptz,
  client_paused_at timestamptz,
  failures_paused_at timestamptz,
  paused_at timestamptz generated always as (least(operator_paused_at, client_paused_at, failures_paused_at)) stored,
  -- The operator's reason.
  pause_reason text,
  -- Its pause has ended, and nothing was answered with 200 since: one attempt at a time, the last one at this delivery.
  is_resuming boolean not null default false,
  resumed_with uuid,
  -- Failed attempts since the last success, and the end of the first of them.
  failure_streak integer not null default 0,
  failing_since timestamptz,
  -- Of the last three attempts: when one was answered with 410, null for any other outcome.
  gone_at timestamptz[] not null default '{}',
  -- When the client's notice address was notified of these last; older ones are another series.
  noticed_at timestamptz,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  last_error text,
  -- Concurrency limit, as adapted; a hint for the next start.
  concurrency smallint not null default 1
) with (fillfactor = 50);
-- Endpoints whose deliveries no courier claims, or one at a time.
create index endpoints_paused on endpoints (key) where paused_at is not null or is_resuming;

-- Intake.

-- One row, which every recording transaction locks shared (store/intake-leader.ts).
create table intake_leader (
  -- The number of the term in which an instance takes adverts in. The next leader increments it, so that nothing is
  -- recorded in a term that is over.
  term bigint not null,
  -- New sequences are above it: a sequence that was sent before a restoration is not reused.
  sequence_floor integer not null default 0
);
insert into intake_leader values (0);

-- One row: since when the present leader takes adverts in, its last heartbeat, and how long no instance did before it.
-- Nulls: none ever did. Not a part of intake_leader, which every recording transaction locks.
create table intake_leads (
  began_at timestamptz,
  seen_at timestamptz,
  gap_seconds double precision
) with (fillfactor = 50);
insert into intake_leads default values;

-- One row: how far the stream of adverts is recorded in this database (store/intake-position.ts). `stored_at` is when
-- the stream stored that message, by its own clock: the same number in another stream has another time. A new one has
-- recorded nothing, whatever the stream's consumer reports.
create table intake_position (
  sequence bigint not null,
  stored_at text,
  -- The identity of the recording database: a copy restored elsewhere has another one. Null until the first term.
  database_identity text,
  -- The stream of the position, distinguished from others by a number, which each advert's last crawl carries; and its
  -- creation time, by its own clock. Null before the first term.
  stream_number integer not null default 1,
  stream_created text,
  -- The timeline in which `sequence` was recorded: a promoted standby begins another one. Null before the first, and
  -- where commits wait for a standby.
  timeline text,
  -- By how much the stream's clock may have been behind when it stored messages up to `clock_behind_to`. Null: messages
  -- of now, too.
  clock_behind_ms bigint not null default 0,
  clock_behind_to bigint
);
insert into intake_position (sequence) values (0);

-- The last message of the stream that any recording transaction took in, noted with its rows: each connection has a row
-- of its own (store/intake-position.ts). The stored position alone may lag behind the rows.
create table intake_high_water (
  slot integer primary key,
  stream_number integer not null default 0,
  sequence bigint not null default 0,
  stored_at_ms bigint not null default 0
) with (fillfactor = 50);
insert into intake_high_water (slot) select generate_series(0, 7);

create table dead_letters (
  id bigint generated always as identity primary key,
  stream text not null,
  -- The stream's number in intake_position.
  stream_number integer not null default 1,
  sequence bigint not null,
  subject text not null,
  headers jsonb not null,
  body bytea not null,
  -- A stream that was created anew counts its sequences from 1 again.
  body_hash bytea generated always as (sha256(body)) stored,
  reason text not null,
  -- For a message that a bug kept from being recorded: its property or, when it could not be decoded, its subject. Null
  -- for invalid messages.
  failed_key text,
  received_at timestamptz not null default now(),
  unique (stream, sequence, body_hash)
);
-- The number of recently failed keys: many mean that the messages are not the cause.
create index dead_letters_failed on dead_letters (received_at) where failed_key is not null;

-- Operation.

-- Operators' settings for a stage (`intake`, `deliver`) or the search index; every instance follows them. `generation`
-- counts the requested rebuilds. No row: never set.
create table controls (
  name text primary key,
  paused_at timestamptz,
  reason text,
  generation integer not null default 0
);

-- Every process stores its heartbeat here; without one for a while, a process counts as gone. Unlogged: after a crash
-- of PostgreSQL the living processes write themselves anew.
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
  -- Components that have been failing for a while.
  failing jsonb not null
);

-- One row: the oldest migration that a version must know to work on this database. Migrations only add, so older
-- versions continue beside newer ones, and the number stays; a migration that removes something raises it
-- (store/schema.ts).
create table schema_compatibility (compatible_from integer not null);
insert into schema_compatibility values (1);

-- For migrations that remove what versions without migration `needed` use: refused while such a version runs. A version
-- that starts later finds the row.
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

-- One row: the namespace of this database on NATS (domain/namespace.ts), from the first start that names it. A process
-- with another one is refused: the stored positions belong to the streams of the namespace. `database_id` identifies the
-- database on NATS, unchanged by a restore.
create table installation (
  namespace text,
  database_id uuid not null default gen_random_uuid()
);
insert into installation default values;

-- Feeds (features/feeds): the last publication of each source, a row for each advert that it contains, and one with an
-- empty reference for the source itself.
create table feed_publications (
  source text not null,
  reference text not null,
  -- A hash of the advert's content, null until its first publication is acknowledged; of the bytes of a snapshot while
  -- it is published.
  hash text,
  published_at timestamptz not null,
  -- The reference that the advert's ids are made of, where it has another one since.
  first_reference text,
  -- Fields 2 and 175 of Poliris, the members that it had, joined by blanks, and its price.
  own_reference text,
  technical_id text,
  members text,
  price double precision,
  -- For the source: the results of the last check and the last snapshot.
  report jsonb,
  primary key (source, reference)
);
create index feed_publications_sources on feed_publications (source) where reference = '';

-- Compression of states and documents. A server with lz4 compresses rows of more than 512 bytes within their pages, which
-- costs no time: a quarter less of table a change, and an eighth less of log. pglz, the only other method, took longer
-- than all the rest of writing a row. The method itself is a setting of each session (database.ts): as one of the column
-- it would keep a dump from being restored by a server without it.
alter table properties alter column state set storage main;
alter table snapshots alter column document set storage main;
do $$
begin
  if exists (select from pg_settings where name = 'default_toast_compression' and 'lz4' = any(enumvals)) then
    alter table properties set (toast_tuple_target = 512);
    alter table snapshots set (toast_tuple_target = 512);
  end if;
end
$$;
