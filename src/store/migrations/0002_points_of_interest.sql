-- Up Migration

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
