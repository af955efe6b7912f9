-- Up Migration

-- E-mail. A version before this one may run beside it: it records no e-mail, and all that it claims, sweeps, lists,
-- replays and forgets lies in `deliveries`, whose states and channels it knows by heart. So the items of e-mails are rows
-- of a table that it has never heard of, and nothing of an e-mail is in `deliveries` or needs a snapshot. It writes
-- searches, too: `mail_to` is the address as this version stored it, and e-mail is off where `members` has come to say
-- another one. That is also how addresses of before the upgrade stay off. Of a search that it silences and somebody
-- enables again within the same minute, it may forget the mark by which items are cancelled; deleted and silent searches
-- are seen by themselves.
alter table searches
  add column mail_to text,
  -- The recipient (domain/mail.ts): the client and the address.
  add column mail_key text,
  -- Since when the recipient's server refuses the address for good.
  add column mail_refused_at timestamptz;
create index searches_mail on searches (mail_key) where mail_key is not null;

-- A delivery of channel `email`, in the states of a delivery (domain/delivery.ts); `parked` is none of them.
create table mail_items (
  id uuid primary key,
  client_id uuid not null,
  search_number integer not null,
  match_id uuid not null,
  kind text not null,
  -- `mailto:` and the address, and its key. Both follow the search until the item is sent.
  endpoint text not null,
  endpoint_key text not null,
  -- What the e-mail says of it (domain/mail-item.ts), JSON.
  content text not null,
  traceparent text,
  state text not null default 'queued',
  attempt_count smallint not null default 0,
  attempts_spent smallint not null default 0,
  replay_count smallint not null default 0,
  attempt_started_at timestamptz,
  -- The e-mail that it is part of, from its first attempt on: items of one share attempts and outcome.
  mail_id uuid,
  -- When it goes along with another item of its recipient at the earliest, and when it goes by itself.
  gathers_from timestamptz not null,
  due_at timestamptz not null,
  created_at timestamptz not null default now(),
  finished_at timestamptz
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
create index mail_items_search on mail_items (search_number, created_at desc, id);
create index mail_items_due on mail_items (client_id, due_at, id) where state in ('queued', 'retry_wait');
create index mail_items_recipient on mail_items (endpoint_key, id) where state = 'queued';
create index mail_items_mail on mail_items (mail_id) where mail_id is not null;
create index mail_items_sending on mail_items (due_at) where state = 'sending';
create index mail_items_failed on mail_items (id) where state = 'failed';

-- Whoever makes an e-mail holds the recipient's row: so there is one at a time. `day` is a day in Paris, and `mails` how
-- many were begun on it. No address is kept here, and an unsubscription stays when everything else has gone.
create table mail_recipients (
  key text primary key,
  client_id uuid not null,
  day date,
  mails integer not null default 0,
  unsubscribed_at timestamptz
) with (fillfactor = 70);

-- The same, for all recipients of a client.
create table mail_clients (
  client_id uuid primary key,
  day date not null,
  mails integer not null
) with (fillfactor = 50);

-- What a link to unsubscribe proves itself by: SHA-256 of 128 random bits, new ones in each attempt.
create table mail_tokens (
  hash bytea primary key,
  recipient_key text not null,
  created_at timestamptz not null default now()
);
create index mail_tokens_created on mail_tokens (created_at);
