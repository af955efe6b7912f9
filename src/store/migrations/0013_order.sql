-- Up Migration

-- Webhooks of a match go out in the order in which they were recorded, and say which they are (Vigie-Sequence).
--
-- While an older version runs beside this one, its recorder writes deliveries without a sequence, which keep no order and
-- send no header, and its couriers hold nothing back. So order is promised for what is recorded and first attempted once
-- the last older process has ended. Numbers stay right meanwhile: an older recorder takes none, so none is given twice.
-- What was recorded before has none either, and a match that exists starts at 1 with its next delivery.
alter table deliveries add column sequence integer;
alter table matches
  -- Of the newest delivery with a sequence, and its id, which the next one's is above; nulls before the first.
  add column last_sequence integer,
  add column last_delivery_id uuid;

-- First attempts that have not ended: what may hold back a later delivery of its match (store/delivery-claims.ts). It is
-- empty at first, but the table is read once to find that out, and nobody delivers meanwhile: seconds for each million
-- rows.
create index deliveries_undecided on deliveries (match_id, sequence)
  where sequence is not null and state in ('queued', 'sending', 'parked')
    and attempt_count = (state = 'sending')::integer;

-- New sequences are above it: what a database told before it was restored to an older state is not told again of
-- something else. In this table, because every recording transaction reads its row.
alter table intake_leader add column sequence_floor integer not null default 0;
-- Which database it was that recorded so far: a copy restored elsewhere is another one. Null until it was asked.
alter table intake_position add column database_identity text;
