-- Up Migration

-- Deliveries of a search that were recorded before this moment and are not final count as cancelled: it was deleted or
-- silenced then. They are cancelled one by one in the background, and this is forgotten when that is done.
alter table searches add column cancelled_before timestamptz;
create index searches_cancelled on searches (cancelled_before) where cancelled_before is not null;

-- A deleted client has no name and no keys; its searches are deleted in the background.
alter table clients add column deleted_at timestamptz;
create index clients_deleted on clients (id) where deleted_at is not null;

-- One row: since when the present leader takes adverts in, when it was last seen doing so, and how long nobody did
-- before it. Nulls: nobody ever did. Not a part of intake_leader, which every recording transaction locks.
create table intake_leads (
  began_at timestamptz,
  seen_at timestamptz,
  gap_seconds double precision
) with (fillfactor = 50);
insert into intake_leads default values;
