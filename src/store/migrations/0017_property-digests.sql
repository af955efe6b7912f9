-- Up Migration

-- What questions of clients look at, a few hundred bytes a property instead of its documents (domain/property-digest.ts).
-- A table of its own, so that its indexes are made while it is empty: an index on `properties` would keep adverts from
-- being recorded as long as it is built. Stored properties get their rows in small steps while the service runs
-- (store/digest-fill.ts).
create table property_digests (
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
-- Without a list of pending entries, which whoever records would have to work off now and then.
create index property_digests_keys on property_digests using gin (keys) with (fastupdate = off);
create index property_digests_location on property_digests using gist (location);
create index property_digests_sample on property_digests (sample_key) where is_live;

-- One row: how far stored properties have got their digests, by key, and when all had. A new database has none.
create table property_digest_fill (reached uuid, ended_at timestamptz);
insert into property_digest_fill select null, case when not exists (select from properties) then now() end;

-- Properties that a version without digests has written since; their digests are made anew.
create table property_digest_backlog (property_uuid uuid primary key);

-- Medians by which whoever takes adverts in judges prices, written down once a minute for those who explain.
create table market_medians (
  department_code text not null,
  transaction_type smallint not null,
  is_land boolean not null,
  median double precision not null,
  primary key (department_code, transaction_type, is_land)
) with (fillfactor = 50);

-- A writer that keeps digests says so with each state: equal to `updated_at`.
alter table properties add column digested_at timestamptz;

create function note_undigested() returns trigger language plpgsql as $$
begin
  insert into property_digest_backlog values (new.uuid) on conflict do nothing;
  return null;
end $$;
create trigger properties_inserted_undigested after insert on properties
  for each row when (new.digested_at is distinct from new.updated_at) execute function note_undigested();
create trigger properties_updated_undigested after update of state on properties
  for each row when (new.digested_at is distinct from new.updated_at) execute function note_undigested();

create function forget_digests() returns trigger language plpgsql as $$
begin
  delete from property_digests using gone where property_uuid = gone.uuid;
  delete from property_digest_backlog using gone where property_uuid = gone.uuid;
  return null;
end $$;
create trigger properties_forgotten after delete on properties
  referencing old table as gone for each statement execute function forget_digests();
