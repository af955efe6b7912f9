-- Up Migration

-- A client lives in one cell (store/client-move.ts). `moved_to`: it is not this one any more, or not yet. While it is
-- being moved nothing of it may be written, until the command that does it has not been heard of for a while.
alter table clients
  add column moved_to text,
  add column moving_until timestamptz,
  -- What the feed told before it came from another cell, cursors of this one know nothing of.
  add column arrived_epoch integer,
  add column arrived_in xid8;

-- In this table, because every recording transaction reads its row. Held, the cell records no message beyond
-- `held_behind`: a client is being moved. `search_epoch` counts the clients that came: whoever records must know their
-- searches before it goes on.
alter table intake_leader
  add column held_for uuid,
  add column held_behind bigint,
  add column held_until timestamptz,
  add column search_epoch integer not null default 0;

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

-- A move changes all searches of a client in one transaction, and adds them up itself: counted one by one, each would
-- walk over the versions of the sum that those before it have left.
create function is_moved(client uuid) returns boolean language sql stable as $$
  select client::text = coalesce(current_setting('vigie.moves', true), '')
$$;
create or replace trigger searches_recounted after update of members, deleted_at on searches
  for each row when (not is_moved(new.client_id)) execute function count_changed_search();

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
create trigger recipients_kept_from_moving after update of unsubscribed_at on mail_recipients
  for each row execute function refuse_moving_of_row();
