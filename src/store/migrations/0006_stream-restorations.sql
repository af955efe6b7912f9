-- Up Migration

-- Which stream holds a message for every open delivery, by the time at which the NATS server created it: another one of
-- its name holds none, until a courier has walked through the open deliveries. `through` is how far it has come; null:
-- to the end.
create table stream_restorations (
  stream text primary key,
  stream_created_at text not null,
  through uuid
);
