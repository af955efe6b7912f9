-- Up Migration

-- What a client keeps with a search for itself: JSON, as text, so that it comes back as it was. Apart from `members`,
-- which the matcher loads. A version of before neither reads nor changes it.
alter table searches add column context text;

-- Secrets that sign every webhook of a client beside the token of its search. Null expires never.
create table webhook_secrets (
  id uuid primary key,
  client_id uuid not null,
  secret text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
create index webhook_secrets_client on webhook_secrets (client_id, id);
