-- Up Migration

-- From here on an endpoint is a client's: its key is the URL's, followed by the client and the host (domain/endpoint.ts).
-- A pause of the URL alone holds for every client in this version; couriers of the version before know whole keys only.
-- So that they, too, keep the pauses that stand while both run side by side, each is said again for every client that
-- names the URL. Resuming the URL ends all of them.
insert into endpoints (key, url, paused_at, pause_reason)
select distinct
  paused.key || right(named.client_id::text, 8) || left(encode(sha256(convert_to(
    lower(substring(paused.url from '^[a-z]+://(\[[^\]]*\]|[^/:?#]+)')), 'UTF8')), 'hex'), 8),
  paused.url, paused.paused_at, paused.pause_reason
from endpoints paused
join (
  select client_id, endpoint_recipient as url from searches where deleted_at is null
  union
  select client_id, event_endpoint from searches where deleted_at is null
) as named on named.url = paused.url
where paused.paused_at is not null and length(paused.key) = 16
on conflict (key) do nothing;
