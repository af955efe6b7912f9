-- The whole schema, by topic: clients, reference, searches, properties, matches and their deliveries, e-mail, the feed,
-- endpoints, intake, operation. Changes after the first release are separate migrations (store/schema.ts). Rows of
-- adverts and deliveries are removed as fast as they are added (domain/retention.ts). Vacuum therefore runs earlier
-- than by default, when a fifth of a table is dead. Inserts do not trigger vacuum of append-only tables, because no
-- query benefits from it before retention deletes rows.

-- Clients.

create table clients (
  id uuid primary key,
  name text not null unique,
  -- The name shown to recipients of its e-mails. If null, they see `name`.
  public_name text,
  -- Limits of the client. If null, the configured default applies.
  rate_limit_per_second integer,
  rate_limit_burst integer,
  write_limit_per_second integer,
  write_limit_burst integer,
  searches_max integer,
  polygon_corners_max integer,
  excluded_words_max integer,
  matches_per_advert_max integer,
  -- Notices of failing endpoints are sent to this address, at most once an hour. `notice_tried_at` is the last try.
  notice_address text,
  notice_tried_at timestamptz,
  created_at timestamptz not null default now(),
  -- A deleted client has no valid keys, and its name is free again. Its searches are deleted in the background.
  deleted_at timestamptz
);
-- Deleted clients, whose searches are deleted in the background.
create index clients_deleted on clients (id) where deleted_at is not null;

-- A key has 256 random bits, so its SHA-256 is as hard to reverse as a slow salted hash, but can be indexed.
create table api_keys (
  id uuid primary key,
  client_id uuid not null references clients,
  name text not null,
  prefix text not null,
  hash bytea not null unique,
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);
-- The list of a client's keys.
create index api_keys_client on api_keys (client_id);

-- Secrets that sign every webhook of a client, in addition to the search's token. They may expire.
create table webhook_secrets (
  id uuid primary key,
  client_id uuid not null,
  secret text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
-- The valid secrets of a client.
create index webhook_secrets_client on webhook_secrets (client_id, coalesce(expires_at, 'infinity'));

-- Results of requests with an Idempotency-Key, kept for a day. The transaction that creates the resource writes them.
create table idempotency_keys (
  client_id uuid not null,
  path text not null,
  key text not null,
  body_hash bytea not null,
  resource_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (client_id, path, key)
);
-- Keys that are more than a day old, for their removal.
create index idempotency_keys_created on idempotency_keys (created_at);

-- Reference.

create table site_categories (
  id integer generated always as identity primary key,
  name text not null unique
);
insert into site_categories (name)
values ('Agence'), ('Mandataire'), ('Notaire'), ('Particulier'), ('Portail'), ('Promoteur'), ('Réseau');

-- Professional publishers and agencies of recent adverts, for completion, written by the recorder. `key` is the folded
-- name (domain/publisher-criteria.ts).
create table publishers (
  key text collate "C" primary key,
  name text not null,
  -- The day of its last advert.
  seen_on date not null
);
-- Rows that retention removes.
create index publishers_seen on publishers (seen_on);

-- A source is an imported file or area. Another import replaces its points in one transaction, whose number is
-- `revision`. Processes compare the revisions of all sources to find out whether their copy in memory is outdated.
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
-- The points of a source that is replaced or removed.
create index points_of_interest_source on points_of_interest (source_id);

-- Searches.

-- `revision` is the number of the writing transaction. Readers poll for revisions that their last snapshot did not
-- show, so a write that commits late is never skipped (store/search-feed.ts). The row of a deleted search stays until
-- its deliveries are removed.
create table searches (
  number integer generated always as identity primary key,
  id uuid not null unique,
  client_id uuid not null references clients,
  title text not null,
  title_folded text not null,
  members json not null,
  -- The client's own JSON, stored as text and returned unchanged. Not in `members`, because the matcher loads those.
  context text,
  -- The folded text that the filter `q` searches (domain/search.ts).
  searchable text not null default '',
  notification_enabled boolean not null,
  endpoint_recipient text,
  event_endpoint text,
  subscribed_events text[] not null,
  hide_property_contact boolean not null,
  -- Thresholds in the form that the recorder reads (event_thresholds_of); null if there are none.
  event_thresholds json,
  token text not null,
  -- Identifies the recipient of e-mails, which is a pair of client and address (mail_key_of).
  mail_key text,
  -- When the recipient's server permanently refused the address.
  mail_refused_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_alert_at timestamptz,
  -- Time up to which the client has seen the matches; null if it has never seen any.
  seen_at timestamptz,
  -- Incremented when the search is silenced or deleted. Open deliveries of an earlier generation count as cancelled.
  generation integer not null default 0,
  -- Incremented by each change in search_changes. Unlike `revision`, it stays valid in another cluster.
  version integer not null default 0,
  -- When the search was last silenced or deleted; null once the background task has cancelled its open deliveries.
  silenced_at timestamptz,
  deleted_at timestamptz,
  -- Combinations of facility and attributes in `pointsOfInterest` (domain/point-distances.ts); null if there are none.
  point_combinations text[],
  -- Estimated number of matches per 1,000 adverts, computed when the criteria were saved.
  matches_per_mille smallint not null default 0,
  revision xid8 not null default pg_current_xact_id()
) with (fillfactor = 90);
-- Searches that changed since the last poll of a process.
create index searches_revision on searches (revision);
-- Lists of a client's searches, by title and by creation, with their filters. A hundred thousand titles are read from
-- the index, instead of from as many table pages.
create index searches_client_title on searches (client_id, title collate "fr-x-icu", number)
  include (title_folded, notification_enabled) where deleted_at is null;
create index searches_client on searches (client_id, number)
  include (title_folded, notification_enabled) where deleted_at is null;
-- Routes of matching searches that notify or are deleted. The rows of most searches, which do not notify, are not read.
create index searches_told on searches (number) where notification_enabled or deleted_at is not null;
-- The combinations that the searches of a client name.
create index searches_points on searches (client_id) include (point_combinations)
  where point_combinations is not null and deleted_at is null;
-- The searches of a recipient of e-mail.
create index searches_mail on searches (mail_key) where mail_key is not null;
-- Searches whose deliveries are to be cancelled.
create index searches_silenced on searches (silenced_at) where silenced_at is not null;
-- Rows that retention removes.
create index searches_deleted on searches (deleted_at) where deleted_at is not null;

-- Totals of each client's searches. Triggers maintain them, so that the check of limits counts no searches. A client's
-- total is divided among several rows, because writers of the same row wait for one another's commits.
create table search_totals (
  client_id uuid not null references clients,
  shard smallint not null,
  searches integer not null,
  polygon_corners integer not null,
  excluded_words integer not null,
  -- Per 1,000 adverts. Shard -1 has the correction of the estimates, from the leader's sample of adverts.
  matches_per_mille bigint not null,
  primary key (client_id, shard)
) with (fillfactor = 50);

-- For each change of a search's criteria, endpoints or notifications, the former values of the members that changed.
-- Kept as long as events, but at most the newest 200 per search.
create table search_changes (
  id bigint generated always as identity primary key,
  search_number integer not null,
  -- The version of the search from this change on.
  version integer not null,
  changed_at timestamptz not null default now(),
  former json not null
);
-- The history of a search, which is removed with it.
create index search_changes_search on search_changes (search_number, id);

-- Counts the corners of the polygons of the search and its alternatives.
create function polygon_corners_of(members json) returns integer language sql immutable parallel safe as $$
  select coalesce(sum(json_array_length(ring)), 0)::integer
  from (select members union all select json_array_elements(members -> 'alternatives')) criteria (set_members),
    (values ('geoShapes'), ('excludedGeoShapes')) shapes (name), json_array_elements(set_members -> name) polygon,
    json_array_elements(polygon) ring
$$;

-- Counts the excluded words. In the query string, values are percent-encoded, so brackets occur only in names.
create function excluded_words_of(members json) returns integer language sql immutable parallel safe as $$
  select coalesce(sum(regexp_count(set_members ->> 'expressions', '\[includes\]=false')), 0)::integer
  from (select members union all select json_array_elements(members -> 'alternatives')) criteria (set_members)
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

-- One statement may insert a million rows, so they are summed by client. Clients are in order, to avoid deadlocks.
create function count_new_searches() returns trigger language plpgsql as $$
begin
  perform add_to_search_totals(client_id, number, count, corners, words, matches) from (
    select client_id, min(number) as number, count(*)::integer as count,
      coalesce(sum(case when coalesce(members -> 'geoShapes', members -> 'excludedGeoShapes', members -> 'alternatives') is not null
        then polygon_corners_of(members) end), 0)::integer as corners,
      coalesce(sum(case when coalesce(members -> 'expressions', members -> 'alternatives') is not null
        then excluded_words_of(members) end), 0)::integer as words,
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
-- Searches that had been marked as deleted were subtracted at that time.
create trigger searches_uncounted after delete on searches
  for each row when (old.deleted_at is null) execute function count_changed_search();

-- Properties.

-- `state` has what the adverts last stated, as JSON without names (domain/stored-property.ts). `crawls` has the time
-- when each advert was last seen, and the digest of that message (domain/property.ts). Both are mostly read as a whole:
-- `json` takes a third of the time of `jsonb`, and PostgreSQL does not even validate `text`. Rows stay uncompressed up
-- to `toast_tuple_target` bytes (see the end of this file).
create table properties (
  uuid uuid primary key,
  state text not null,
  -- Bytes of `state`, so that a state that is too large is recognised before it is read.
  state_bytes integer not null,
  crawls json not null,
  expired_at timestamptz,
  created_at timestamptz not null default now(),
  -- The `updatedAt` of the property's document. `updated_at` is the time when the row was written.
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
-- The events of a property, in the order of recording.
create index events_property on events (property_uuid, id);

-- The thresholds of a search as the recorder reads them (RouteThresholds of domain/routing.ts). The id of the last
-- event is used as a time that does not depend on clocks. Events that are inserted later have higher ids.
create function event_thresholds_of(fields json, compares boolean, present json, begins boolean)
returns json language sql as $$
  select json_build_object('fields', fields,
    'keptSince', case when compares then coalesce((present ->> 'keptSince')::bigint, last_event) end,
    'comparedSince', case when compares then
      coalesce(case when not begins then (present ->> 'comparedSince')::bigint end, last_event) end)
  from (select coalesce(pg_sequence_last_value('events_id_seq'), 0)) as recorded(last_event)
$$;

-- Summaries of properties (domain/property-summary.ts), a few hundred bytes each. Clients' queries over many properties
-- read these instead of the documents.
create table property_summaries (
  property_uuid uuid primary key,
  -- Keys to find the property by its adverts, their URLs, its communes, department and zip codes. Each has eight bytes.
  -- Keys of adverts and URLs are hashes, so readers also compare the values themselves.
  keys bigint[] not null,
  -- Longitude and latitude, degrees.
  location point,
  -- A hash of the UUID. Consecutive properties in this order are a random sample.
  sample_key integer not null,
  is_live boolean not null,
  -- The facts that most searches compare, so that PostgreSQL can exclude properties that fail. It also computes the
  -- medians of markets from some of them.
  department_code text,
  -- The code of the commune or arrondissement.
  insee_code text,
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
-- Properties of an advert, a URL or a place. The index has no list of pending entries, which the recorder would
-- occasionally have to merge.
create index property_summaries_keys on property_summaries using gin (keys) with (fastupdate = off);
-- Properties within boxes.
create index property_summaries_location on property_summaries using gist (location);
-- The sample of live properties.
create index property_summaries_sample on property_summaries (sample_key) where is_live;

create function forget_summaries() returns trigger language plpgsql as $$
begin
  delete from property_summaries using gone where property_uuid = gone.uuid;
  return null;
end $$;
create trigger properties_forgotten after delete on properties
  referencing old table as gone for each statement execute function forget_summaries();

-- The medians with which `withCoherentPrice` compares prices (store/market-medians.ts).
create table market_medians (
  department_code text not null,
  transaction_type smallint not null,
  is_land boolean not null,
  -- Null if the market had a median but too few prices are known now.
  median double precision,
  changed_at timestamptz not null,
  -- The number of the computation that changed the row. The highest number shows readers that the table has changed.
  revision bigint not null,
  primary key (department_code, transaction_type, is_land)
) with (fillfactor = 50);

-- The medians with which `marketDifference` compares prices. Each is of the live properties of one transaction and
-- type in a commune, arrondissement, whole city (Paris, Lyon, Marseille) or department.
create table market_prices (
  code text not null,
  transaction_type smallint not null,
  property_type smallint not null,
  -- In euros per m². Median and count are null if the market had a median, but now too few prices are known.
  median double precision,
  property_count integer,
  -- When the median last changed.
  changed_at timestamptz not null,
  -- As in market_medians. It also increases when only the count has changed.
  revision bigint not null,
  primary key (code, transaction_type, property_type)
) with (fillfactor = 50);

-- Matches and deliveries.

-- One row per (search, property) pair that was notified. The transaction that records the first delivery, feed item or
-- e-mail item inserts it, while it locks the property's row. Most further notifications change only unindexed columns.
create table matches (
  id uuid primary key,
  property_uuid uuid not null,
  -- When the match began or, if it has not begun, when it was first notified.
  created_at timestamptz not null,
  -- When the match was last notified.
  updated_at timestamptz not null,
  -- The id of the newest delivery or feed item. The next one gets a greater id.
  last_delivery_id uuid not null,
  search_number integer not null,
  -- The sequence of the newest delivery or feed item.
  last_sequence integer not null,
  -- The version of the search when the match began or was first notified.
  search_version integer not null,
  -- False if the property already satisfied the search when the search was created or began to notify. The match can
  -- still begin later, but only once.
  has_begun boolean not null,
  -- The channel of the start or the first notification: `match` or `event`.
  channel text not null,
  -- The events of the change that caused it: [{kind, advert, field?, was?, is?}].
  cause json not null,
  -- Also finds the matches of the properties that a batch changes.
  unique (property_uuid, search_number)
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);
-- The matches of a search, by time.
create index matches_search on matches (search_number, created_at desc, id);

-- Last notified values, by match, for searches that need them. Rows without a match are removed in the background.
create table match_notices (
  match_id uuid primary key,
  -- `notified` has price and surface by advert. They are void if the search's `keptSince` is no longer `kept_since`.
  kept_since bigint,
  notified json,
  -- The last notified end, with its criterion, and the last notified return. `is_ended` is true if no return or start
  -- was notified since the end.
  is_ended boolean not null,
  ended_at timestamptz,
  ended_by text,
  resumed_at timestamptz
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);

-- A client's marks on properties in a search. Rows without a search or a property are removed in the background.
create table search_marks (
  search_number integer not null,
  property_uuid uuid not null,
  -- `kept` or `hidden`; null if there is only a reason or a note.
  state text,
  reason text,
  note text,
  marked_at timestamptz not null default now(),
  primary key (search_number, property_uuid)
);

-- Property documents at the time of a change: a row for each notified change and variant (with or without contacts).
create table snapshots (
  id uuid primary key,
  document text not null,
  created_at timestamptz not null default now()
) with (toast_tuple_target = 8160, autovacuum_vacuum_insert_threshold = -1,
  autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);

-- The facts of a delivery, changed only by resends and recoveries. The body is head || document || '}}'.
create table deliveries (
  id uuid primary key,
  snapshot_id uuid not null,
  match_id uuid not null,
  created_at timestamptz not null default now(),
  search_number integer not null,
  sequence integer not null,
  -- Number of attempts before the current series. They do not count towards its six attempts.
  attempts_spent smallint not null default 0,
  replay_count smallint not null default 0,
  channel text not null,
  kind text not null,
  endpoint text not null,
  endpoint_key text not null,
  head text not null,
  -- `traceparent` of the advert's message (W3C Trace Context) and, if it has one, a space and its `tracestate`.
  traceparent text,
  -- The last recovery that resent or skipped it; no recovery processes a delivery twice.
  recovery_id uuid
) with (autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_scale_factor = 0.02);
-- The deliveries of a search, by time.
create index deliveries_search on deliveries (search_number, created_at desc, id);

-- The queue: a row exists while its delivery is open. A delivery that is neither here nor in `final_outcomes` was
-- delivered. Claims change only unindexed columns, and pages have room for new versions, so every claim is a HOT
-- update.
create table open_deliveries (
  id uuid primary key,
  match_id uuid not null,
  -- When the current or last attempt began. It distinguishes attempts with the same number.
  claimed_at timestamptz,
  -- The time of a retry. For a due delivery, when it became due (for information only).
  due_at timestamptz not null default now(),
  search_number integer not null,
  -- The generation of the search when this row was inserted.
  generation integer not null,
  -- The number of the courier whose attempt is in progress (table couriers).
  claimed_by integer,
  -- The state (delivery-states.ts, QUEUE.md): -1 waiting_retry, 0 held, 1 due, 2 due_again, 3 due_recovered.
  lane smallint not null default 1,
  -- The number of attempts, incremented before a request. Resends continue the count.
  attempt_count smallint not null default 0,
  -- True if the match has earlier deliveries.
  follows boolean not null,
  -- True if a resend was requested during an attempt. It follows that attempt, whatever the outcome.
  is_resent boolean not null default false,
  endpoint_key text not null,
  -- The recovery that made it due and has not counted the outcome yet.
  recovery_id uuid
) with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_threshold = -1);
-- The due deliveries of an endpoint in the order of ids (an id and its bytes have the same order), and its open
-- deliveries. Only statements that repeat the condition of this index or the next ones can use it, because PostgreSQL
-- never infers `is true`. Otherwise a statement by id that was planned while the queue was empty might choose such an
-- index instead of the primary key. With a backlog, it would read all of the index.
create index open_endpoint on open_deliveries (endpoint_key, lane, uuid_send(id)) where (lane between -1 and 3) is true;
-- Deliveries that may hold back a later delivery of their match. Those at the same endpoint are found directly, however
-- many others there are. Seven bytes of the match's id have part of its time and eighteen random bits. With a hash of
-- the endpoint, an entry is as long as one with the whole id of the match.
create index open_undecided on open_deliveries
  (substring(uuid_send(match_id) from 3 for 7), hashtext(endpoint_key), lane, id) where (lane in (0, 1)) is true;
-- Deliveries that an earlier delivery holds back.
create index open_held on open_deliveries (id) where (lane = 0) is true;
-- Deliveries that are resent after the current attempt.
create index open_resent on open_deliveries (id) where is_resent;
-- Retries by their time.
create index open_retrying on open_deliveries (due_at, id) where (lane = -1) is true;
-- Open deliveries of recoveries, at most a thousand for each recovery.
create index open_recovered on open_deliveries (recovery_id) where recovery_id is not null;

-- Deliveries that ended without success.
create table final_outcomes (
  delivery_id uuid primary key,
  endpoint_key text not null,
  state text not null,
  attempt_count smallint not null,
  at timestamptz not null default now(),
  -- As in open_deliveries.
  recovery_id uuid
);
-- Outcomes that recoveries have not counted yet.
create index final_outcomes_recovered on final_outcomes (recovery_id) where recovery_id is not null;
-- Failed deliveries, which operators list and an alert counts.
create index final_outcomes_failed on final_outcomes (endpoint_key, delivery_id) where state = 'failed';

-- One row per courier process. A living process changes `beat`. Other couriers compare it with the former value and
-- measure the time with their own clocks, so that two clocks are never compared.
create table couriers (
  number integer generated always as identity primary key,
  process uuid not null,
  beat bigint not null default 0,
  -- Incremented when an endpoint is paused or resumed, so that the courier reads the paused endpoints again.
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

-- States of deliveries for readers. Each computed column is looked up by key, and only if a query selects it.
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

-- Recoveries that clients have requested. Each resends deliveries that satisfy its conditions, oldest first. All
-- progress is stored, so another process can continue at any time.
create table recoveries (
  id uuid primary key,
  client_id uuid not null,
  search_number integer,
  endpoint text,
  since timestamptz not null,
  until timestamptz not null,
  includes_delivered boolean not null,
  state text not null default 'counting',
  -- The next step reads deliveries after this one.
  position uuid not null,
  matched integer not null default 0,
  -- Made due, without those that were cancelled before their attempt.
  begun integer not null default 0,
  delivered integer not null default 0,
  failed integer not null default 0,
  skipped integer not null default 0,
  created_at timestamptz not null default now(),
  finished_at timestamptz
) with (fillfactor = 50);
-- Allows only one open recovery per client, and finds the recoveries to process.
create unique index recoveries_open on recoveries (client_id) where state in ('counting', 'running');
-- The list of a client's recoveries.
create index recoveries_client on recoveries (client_id, id);

-- E-mail.

-- One row: the salt of the hashes that are recipients' keys. Two random UUIDs have 244 random bits.
create table mail_salts (salt bytea not null);
insert into mail_salts
select sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'));

-- The key of a recipient is a salted hash of client and address (ignoring case), as long as the key of an endpoint.
create function mail_key_of(client uuid, address text) returns text language sql stable strict parallel safe as $$
  select left(encode(sha256(salt || convert_to(client || lower(address collate "C"), 'UTF8')), 'hex'), 32)
  from mail_salts
$$;

-- Deliveries of the channel `email`, with the states of other deliveries (domain/delivery.ts). They need no snapshots.
create table mail_items (
  id uuid primary key,
  client_id uuid not null,
  search_number integer not null,
  match_id uuid not null,
  property_uuid uuid not null,
  kind text not null,
  -- `mailto:` with the address, and the recipient's key. Both change with the search until the item is sent.
  endpoint text not null,
  endpoint_key text not null,
  -- JSON: why the property is in the e-mail (features/mail/mail-items.ts). All else is read when the e-mail is written.
  reason text not null,
  -- JSON, only on a property's last item in an e-mail: what the e-mail showed of each advert (features/mail).
  notified jsonb,
  state text not null default 'queued',
  attempt_count smallint not null default 0,
  attempts_spent smallint not null default 0,
  replay_count smallint not null default 0,
  attempt_started_at timestamptz,
  -- The e-mail that contains the item, set by the first attempt. All items of an e-mail share attempts and outcome.
  mail_id uuid,
  -- The generation of the search when the item was recorded.
  generation integer not null default 0,
  -- Only on the first item of an unfinished e-mail: its bytes, its number of items, and the searches of the properties
  -- whose contacts it shows.
  letter bytea,
  letter_items integer,
  letter_contacts integer[],
  -- From `gathers_from`, the item is sent with another due item of its recipient; from `due_at`, also without one.
  -- During an attempt, `due_at` is the end of the lease.
  gathers_from timestamptz not null,
  due_at timestamptz not null,
  created_at timestamptz not null default now(),
  finished_at timestamptz
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
-- The items of a search, by time.
create index mail_items_search on mail_items (search_number, created_at desc, id);
-- Due items, client by client.
create index mail_items_due on mail_items (client_id, due_at, id) where state in ('queued', 'retry_wait');
-- The queued items of a recipient, which may share an e-mail.
create index mail_items_recipient on mail_items (endpoint_key, id) where state = 'queued';
-- The items of an e-mail.
create index mail_items_mail on mail_items (mail_id) where mail_id is not null;
-- Items whose lease has ended.
create index mail_items_sending on mail_items (due_at) where state = 'sending';
-- The items of a recipient and property, for the values that were last notified.
create index mail_items_notified on mail_items (endpoint_key, property_uuid);
-- The failed items, which operators list.
create index mail_items_failed on mail_items (id) where state = 'failed';

-- Claiming an e-mail locks the recipient's row, so that no two e-mails have the same items. No address is stored here.
-- Rows of recipients with a choice or an erasure remain when everything else is removed.
create table mail_recipients (
  key text primary key,
  client_id uuid not null
);

-- Choices and erasures of recipients: the latest one of each kind and scope (domain/mail.ts). The scope is `sender`, or
-- `search:` with the id of a search. The value is true, a frequency, or false if the choice was withdrawn or later
-- consent ended the erasure. Each choice belongs to a row of mail_recipients.
create table mail_choices (
  recipient_key text not null,
  client_id uuid not null,
  kind text not null,
  scope text not null,
  value jsonb not null,
  at timestamptz not null,
  primary key (recipient_key, kind, scope)
);
-- Choices by time, for the file outside the database (features/recipients).
create index mail_choices_at on mail_choices (at);

-- E-mails started for a mailbox on a day (Paris time). The key is a salted hash. Recipients may share a mailbox.
create table mail_mailboxes (
  key text primary key,
  day date not null,
  mails integer not null
) with (fillfactor = 50);

-- Number of e-mails that a client has started for all mailboxes on a day (Paris time).
create table mail_clients (
  client_id uuid primary key,
  day date not null,
  mails integer not null
) with (fillfactor = 50);

-- SHA-256 hashes of the tokens in links to recipients' pages. Each newly written e-mail has a token of 128 random bits.
-- `mail_id` identifies the e-mail with the link, as in `mail_items`.
create table mail_tokens (
  hash bytea primary key,
  recipient_key text not null,
  mail_id uuid not null,
  created_at timestamptz not null default now()
);
-- Tokens that are more than a year old, for their removal.
create index mail_tokens_created on mail_tokens (created_at);

-- The feed.

-- The feed contains all webhooks in the order of recording, including those that searches without an endpoint would
-- send. Only the latter are stored here, so that couriers do not scan them and lists omit them.
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

-- The ids of `deliveries` and `feed_items`, in order, that a transaction of the recorder has written for a client.
-- Without this table, each delivery would need a column and an index entry. `epoch` is the sequence floor
-- (intake_leader). Each restore raises it, because transaction numbers may then restart.
create table feed_batches (
  client_id uuid not null,
  epoch integer not null,
  recorded_in xid8 not null,
  ids uuid[] not null,
  search_numbers integer[] not null,
  created_at timestamptz not null default now(),
  primary key (client_id, epoch, recorded_in)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = -1);

-- The end of the removed part of each client's feed. A reader with an earlier cursor has missed items.
create table feed_floors (client_id uuid primary key, epoch integer not null, recorded_in xid8 not null, id uuid not null);

-- One row: the key that signs the cursors of the feed. Two random UUIDs have 244 random bits.
create table feed_keys (key bytea not null);
insert into feed_keys
select sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'));

-- Endpoints.

-- The observed state of endpoints, which couriers write once a second, and their pauses. Each client has its own
-- endpoints: a key consists of digits for the URL, the client and the host (domain/endpoint.ts). A row with the digits
-- of the URL alone is a pause for all clients.
create table endpoints (
  key text primary key,
  url text not null,
  -- No attempt starts while any of these times is set. `paused_at` is the earliest one.
  operator_paused_at timestamptz,
  client_paused_at timestamptz,
  failures_paused_at timestamptz,
  paused_at timestamptz generated always as (least(operator_paused_at, client_paused_at, failures_paused_at)) stored,
  -- The reason that the operator gave.
  pause_reason text,
  -- True from the end of a pause to the first 200. Meanwhile only the delivery `resumed_with` may have an attempt.
  is_resuming boolean not null default false,
  resumed_with uuid,
  -- Number of failed attempts since the last success, and when the first of these ended.
  failure_streak integer not null default 0,
  failing_since timestamptz,
  -- For each of the last three attempts, its end if the answer was 410; otherwise null.
  gone_at timestamptz[] not null default '{}',
  -- When a notice of these failures was last sent. A time before `failing_since` belongs to an earlier series.
  noticed_at timestamptz,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  last_error text,
  -- The adapted concurrency limit, a hint for couriers that start later.
  concurrency smallint not null default 1
) with (fillfactor = 50);
-- Endpoints whose deliveries are not claimed, or only one at a time.
create index endpoints_paused on endpoints (key) where paused_at is not null or is_resuming;

-- Intake.

-- One row, on which every recording transaction takes a shared lock (store/intake-leader.ts).
create table intake_leader (
  -- The number of the current term, in which one instance takes in adverts. The next leader increments it, so that
  -- nothing is recorded in a term that is over.
  term bigint not null,
  -- New sequences are greater than this floor, so that sequences sent before a restore are not reused.
  sequence_floor integer not null default 0
);
insert into intake_leader values (0);

-- One row: when the current leader began to take in adverts, its last heartbeat, and how long no instance had taken in
-- adverts before. Null if there was no leader yet. Separate from intake_leader, which recording transactions lock.
create table intake_leads (
  began_at timestamptz,
  seen_at timestamptz,
  gap_seconds double precision
) with (fillfactor = 50);
insert into intake_leads default values;

-- One row: how far the stream of adverts is recorded in this database (store/intake-position.ts). `stored_at` is when
-- the stream stored that message, by its own clock. It shows whether a message with this number is from another stream.
-- A new database has recorded nothing, whatever position the stream's consumer reports.
create table intake_position (
  sequence bigint not null,
  stored_at text,
  -- The identity of the database that recorded. A copy that was restored elsewhere differs. Null until the first term.
  database_identity text,
  -- The stream of the position. Its number distinguishes it from other streams, and is in each advert's last crawl. Its
  -- creation time is by its own clock; null before the first term.
  stream_number integer not null default 1,
  stream_created text,
  -- The timeline of PostgreSQL in which `sequence` was recorded. A promoted standby begins a new timeline. Null before
  -- the first position, and if commits wait for a standby.
  timeline text,
  -- How far the stream's clock may have been behind when it stored messages up to `clock_behind_to`. If that is null,
  -- the clock is still behind.
  clock_behind_ms bigint not null default 0,
  clock_behind_to bigint
);
insert into intake_position (sequence) values (0);

-- For each slot, the last message that a recording transaction took in. The same transaction writes the row. Most
-- connections use different slots (store/intake-position.ts). Needed because the stored position may lag behind.
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
  -- The number of the stream in intake_position.
  stream_number integer not null default 1,
  sequence bigint not null,
  subject text not null,
  headers jsonb not null,
  body bytea not null,
  -- Part of the key, because a stream that is created again restarts its sequences at 1.
  body_hash bytea generated always as (sha256(body)) stored,
  reason text not null,
  -- The property of a message that could not be recorded because of a bug or, if it could not be decoded, its subject.
  -- Null for invalid messages.
  failed_key text,
  received_at timestamptz not null default now(),
  unique (stream, sequence, body_hash)
);
-- Finds recently failed keys. If there are many, the messages are not the cause.
create index dead_letters_failed on dead_letters (received_at) where failed_key is not null;

-- Operation.

-- Operators' settings for a stage (`intake`, `deliver`) or the search index, which every instance applies. `generation`
-- counts the requested rebuilds. A control that was never set has no row.
create table controls (
  name text primary key,
  paused_at timestamptz,
  reason text,
  generation integer not null default 0
);

-- Every process of the service stores its heartbeats here. A process without recent heartbeats counts as ended. The
-- table is unlogged, because after a crash of PostgreSQL the living processes insert their rows again.
create unlogged table instances (
  id uuid primary key,
  host text not null,
  process_id integer not null,
  roles text[] not null,
  version text not null,
  -- The newest migration that the process knows.
  newest_migration integer not null,
  started_at timestamptz not null,
  seen_at timestamptz not null default clock_timestamp(),
  stages jsonb not null,
  search_index jsonb,
  -- Actors that have been failing for a while, and checks that fail now.
  failing jsonb not null
);

-- One row: the oldest migration that a version must know to work on this database. Most migrations only add something,
-- so older versions continue to run. A migration that removes something raises the number (store/schema.ts).
create table schema_compatibility (compatible_from integer not null);
insert into schema_compatibility values (1);

-- For migrations that remove something that versions without migration `needed` use. Raises an exception while such a
-- version runs. Such a version that starts later reads schema_compatibility and ends.
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

-- One row: the namespace of this database on NATS (domain/namespace.ts), stored by the first start. A process with
-- another namespace is refused, because the stored positions belong to the streams of this namespace. `database_id`
-- identifies the database on NATS. A restore does not change it.
create table installation (
  namespace text,
  database_id uuid not null default gen_random_uuid()
);
insert into installation default values;

-- Feeds (features/feeds): the last publication of each source. Each advert has a row, and the source itself has a row
-- with an empty reference.
create table feed_publications (
  source text not null,
  reference text not null,
  -- A hash of the advert's content; null until its first publication is acknowledged. For a source, a hash of the bytes
  -- of the snapshot that is being published.
  hash text,
  published_at timestamptz not null,
  -- The reference from which the advert's ids were derived, if the reference has changed since.
  first_reference text,
  -- Fields 2 and 175 of Poliris, the names of the advert's members (separated by spaces), and its price.
  own_reference text,
  technical_id text,
  members text,
  price double precision,
  -- Only on the source's row: the results of the last check and of the last snapshot.
  report jsonb,
  primary key (source, reference)
);
create index feed_publications_sources on feed_publications (source) where reference = '';

-- Compression of states and documents. A server with lz4 compresses rows of more than 512 bytes within their pages.
-- This costs no time, and a change writes a quarter less table data and an eighth less WAL. pglz, the only other
-- method, took longer than all other work of writing a row. The method is a setting of each session
-- (session-settings.ts), because with a setting of the column, a server without lz4 could not restore a dump.
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
