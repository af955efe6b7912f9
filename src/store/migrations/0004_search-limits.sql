-- Up Migration

-- What a client may have instead of the configured defaults (VIGIE_CLIENT_*_MAX); null: those.
alter table clients
  add column searches_max integer,
  add column polygon_corners_max integer,
  add column excluded_words_max integer;

-- What each client's searches add up to, so that nobody has to count them. Kept by triggers: versions that know nothing of
-- it write searches too. A client's sum lies in several rows, for writers of one row wait for each other's commits.
create table search_totals (
  client_id uuid not null references clients,
  shard smallint not null,
  searches integer not null,
  polygon_corners integer not null,
  excluded_words integer not null,
  primary key (client_id, shard)
) with (fillfactor = 50);

create function polygon_corners_of(members jsonb) returns integer language sql immutable parallel safe as $$
  select coalesce(sum(jsonb_array_length(ring)), 0)::integer
  from jsonb_array_elements(members -> 'geoShapes') polygon, jsonb_array_elements(polygon) ring
$$;

-- Values in the query string are percent-encoded: brackets stand in names alone.
create function excluded_words_of(members jsonb) returns integer language sql immutable parallel safe as $$
  select coalesce(regexp_count(members ->> 'expressions', '\[includes\]=false'), 0)
$$;

create function add_to_search_totals(client uuid, number integer, count integer, corners integer, words integer)
returns void language sql as $$
  insert into search_totals values (client, number % 8, count, corners, words)
  on conflict (client_id, shard) do update set
    searches = search_totals.searches + excluded.searches,
    polygon_corners = search_totals.polygon_corners + excluded.polygon_corners,
    excluded_words = search_totals.excluded_words + excluded.excluded_words
$$;

-- One statement may write a million rows: a client's are added up first, and clients taken in one order.
create function count_new_searches() returns trigger language plpgsql as $$
begin
  perform add_to_search_totals(client_id, number, count, corners, words) from (
    select client_id, min(number) as number, count(*)::integer as count,
      coalesce(sum(case when members ? 'geoShapes' then polygon_corners_of(members) end), 0)::integer as corners,
      coalesce(sum(case when members ? 'expressions' then excluded_words_of(members) end), 0)::integer as words
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
begin
  if was = 1 then
    corners := -polygon_corners_of(old.members);
    words := -excluded_words_of(old.members);
  end if;
  if stays = 1 then
    corners := corners + polygon_corners_of(new.members);
    words := words + excluded_words_of(new.members);
  end if;
  if was <> stays or corners <> 0 or words <> 0 then
    perform add_to_search_totals(old.client_id, old.number, stays - was, corners, words);
  end if;
  return null;
end $$;

-- No search may slip in between counting and the triggers that go on from there.
lock table searches in share row exclusive mode;

create trigger searches_counted after insert on searches
  referencing new table as written for each statement execute function count_new_searches();
create trigger searches_recounted after update of members, deleted_at on searches
  for each row execute function count_changed_search();
-- Most are marked as deleted long before.
create trigger searches_uncounted after delete on searches
  for each row when (old.deleted_at is null) execute function count_changed_search();

insert into search_totals
select client_id, 0, count(*),
  coalesce(sum(case when members ? 'geoShapes' then polygon_corners_of(members) end), 0),
  coalesce(sum(case when members ? 'expressions' then excluded_words_of(members) end), 0)
from searches where deleted_at is null group by client_id;
