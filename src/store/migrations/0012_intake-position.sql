-- Up Migration

-- One row: how far the stream of adverts is recorded in this database (store/intake-position.ts). `stored_at` is when
-- the stream took that message, as it tells it: the same number in another stream has another time. A `sequence` of null
-- trusts the stream's consumer: so begins a database of before this table. A new one has recorded nothing, whatever the
-- consumer says.
create table intake_position (sequence bigint, stored_at text);
insert into intake_position (sequence) select case when term = 0 then 0 end from intake_leader;
