/**
 * Claims an e-mail for an attempt, and counts the attempt before any byte is sent. A claim locks the row of the
 * recipient, so two instances never gather the same items into two e-mails, and after an answered unsubscription no
 * e-mail begins. Locks are taken in one order everywhere: recipient, client, items, searches. One query finds the due
 * e-mails of every client that has some, so that none waits behind the many of another.
 */

import { randomBytes } from 'node:crypto';
import { type SearchNumber, timeOrderedUuid, type Uuid } from '../../engine/domain/ids.ts';
import { CLIENT_MAILS_MAX, nextMorning, parisDayOf, RECIPIENT_MAILS_MAX } from '../../engine/domain/mail.ts';
import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import { WAITING } from '../../engine/store/delivery-states.ts';
import { IS_OPPOSED } from '../../engine/store/search-routes.ts';
import type { MailReason } from './mail-items.ts';
import { tokenHash } from './mail-recipients.ts';

export interface ClaimedItem {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly matchId: Uuid;
  readonly propertyUuid: Uuid;
  /** The number of e-mails in which it found no room. */
  readonly postponedCount: number;
  readonly reason: MailReason;
}

export interface ClaimedMail {
  readonly id: Uuid;
  readonly clientId: Uuid;
  readonly key: string;
  readonly address: string;
  /** Never empty; oldest first. */
  readonly items: readonly ClaimedItem[];
  /** Counted within the present series, from 1. */
  readonly attempt: number;
  readonly startedAt: Date;
  /** The bytes of an earlier attempt, when it had exactly these items. */
  readonly letter: Buffer | null;
  /** For the link to unsubscribe: 128 random bits in base64url. */
  readonly token: string;
  /** The day that its beginning counts for; null for a further attempt. */
  readonly countedOn: string | null;
}

export interface MailClaimOptions {
  readonly leaseMs: number;
  readonly now: Date;
  /** Items of searches without consent are cancelled. */
  readonly isConsentRequired?: boolean;
}

/** Items of one e-mail; further ones go into the next one. */
const ITEMS_MAX = 5_000;
const TOKEN_BYTES = 16;

/**
 * Null when there is nothing to send: another instance has it, the recipient or the client has reached the daily limit
 * and is postponed to the next morning, or its items were cancelled.
 */
export async function claimMail(
  database: Database,
  { clientId, key, mailId }: MailTurn,
  { leaseMs, now, isConsentRequired = false }: MailClaimOptions,
): Promise<ClaimedMail | null> {
  return transaction(database, async (client) => {
    const recipient = await lockRecipient(client, key, clientId);
    if (recipient === null) return null;
    const today = parisDayOf(now);
    const isNew = mailId === null;
    const postponedUntil =
      isNew && !(await isBelowLimit(client, recipient, clientId, today)) ? nextMorning('daily', now) : null;
    const id = mailId ?? timeOrderedUuid(now);
    const claim = { key, mailId, id, leaseMs, postponedUntil, isConsentRequired, ...recipient };
    const rows = await claimItems(client, claim);
    const [first] = rows;
    if (first === undefined) return null;
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const { address, attempt, startedAt } = first;
    const letter = first.letterItems === rows.length ? first.letter : null;
    // The link of a repeated e-mail has been recorded.
    await countMail(client, { key, clientId, today, isNew, token: letter === null ? token : null });
    const items = rows.map(({ reason, ...item }) => ({ ...item, reason: JSON.parse(reason) as MailReason }));
    const countedOn = isNew ? today : null;
    return { id, clientId, key, address, attempt, startedAt, token, letter, items, countedOn };
  });
}

interface Recipient {
  readonly isOpposed: boolean;
  readonly day: string | null;
  readonly mails: number;
}

/** Null when another instance holds it. Served by the primary key. */
async function lockRecipient(client: Queryable, key: string, clientId: Uuid): Promise<Recipient | null> {
  await client.query({
    name: 'insert-mail-recipient',
    text: 'insert into mail_recipients (key, client_id) values ($1, $2) on conflict do nothing',
    values: [key, clientId],
  });
  const { rows } = await client.query<Recipient>({
    name: 'lock-mail-recipient',
    text: `select ${IS_OPPOSED} as "isOpposed", day::text, mails from mail_recipients
      where key = $1 for update skip locked`,
    values: [key],
  });
  return rows[0] ?? null;
}

/** The client's row stays locked, so that only one e-mail is the last one of the day. Served by the primary key. */
async function isBelowLimit(client: Queryable, recipient: Recipient, clientId: Uuid, today: string): Promise<boolean> {
  if (recipient.day === today && recipient.mails >= RECIPIENT_MAILS_MAX) return false;
  const { rows } = await client.query<{ mails: number }>({
    name: 'lock-mail-client',
    text: `
      insert into mail_clients (client_id, day, mails) values ($1, $2, 0)
      on conflict (client_id) do update
      set mails = case when mail_clients.day = excluded.day then mail_clients.mails else 0 end, day = excluded.day
      returning mails`,
    values: [clientId, today],
  });
  return (rows[0]?.mails ?? 0) < CLIENT_MAILS_MAX;
}

interface ItemClaim extends Recipient {
  readonly key: string;
  /** Null for a new e-mail. */
  readonly mailId: Uuid | null;
  /** Equal to `mailId` for a further attempt. */
  readonly id: Uuid;
  readonly leaseMs: number;
  readonly postponedUntil: Date | null;
  readonly isConsentRequired: boolean;
}

interface ClaimedRow extends Omit<ClaimedItem, 'reason'> {
  /** JSON. */
  readonly reason: string;
  readonly letter: Buffer | null;
  readonly letterItems: number | null;
  readonly address: string;
  readonly attempt: number;
  readonly startedAt: Date;
}

/** Gathered items: served by mail_items_recipient. Retried ones: by mail_items_mail. */
const OPEN = {
  gathered: `select id, search_number, generation from mail_items
    where endpoint_key = $1 and state = 'queued' and gathers_from <= clock_timestamp() and $6::uuid is null
    order by id limit ${ITEMS_MAX} for update`,
  again: `select id, search_number, generation from mail_items
    where mail_id = $6 and endpoint_key = $1 and state = 'retry_wait' and due_at <= statement_timestamp()
    order by id for update`,
} as const;

/**
 * Decides each item: cancelled with its search, when that or its client is gone, or it is silent, was silenced since its
 * recording, sends no e-mails, or lacks a required consent; redirected to the search's present address; postponed; or claimed. The searches are
 * locked meanwhile, so after the answer to a change no attempt begins that contradicts it. What a mail server answered
 * about the former address goes with that. Served by the primary keys and `OPEN`.
 */
function claimText(open: string): string {
  return `
    with open as materialized (${open}), subscription as materialized (
      select number, generation as present_generation, mail_key, members ->> 'notificationRecipient' as mail_to from searches
      where number = any(array(select search_number from open)) and deleted_at is null and notification_enabled
        and mail_key is not null and mail_refused_at is null
        and not ($7 and members ->> 'notificationConsent' is null)
        and not exists (select from clients where clients.id = client_id and clients.deleted_at is not null)
      order by number for key share
    ), decided as materialized (
      select open.id, mail_key, mail_to, case
        when mail_key is null or generation < present_generation then 'cancelled'
        when mail_key <> $1 then 'redirected'
        when $2 then 'cancelled'
        when $3::timestamptz is not null then 'postponed'
        else 'claimed' end as decision
      from open left join subscription on number = search_number
    ), started as materialized (
      -- Of all items of the e-mail, by which it is given back: the clock advances from row to row.
      select max(clock_timestamp()) as at from decided
    ), claimed as (
      update mail_items set
        state = case decision when 'cancelled' then 'cancelled' when 'claimed' then 'sending' else 'queued' end,
        endpoint = case when decision in ('redirected', 'claimed') then 'mailto:' || mail_to else endpoint end,
        endpoint_key = case decision when 'redirected' then mail_key else endpoint_key end,
        mail_id = case decision when 'claimed' then $4::uuid when 'redirected' then null else mail_id end,
        attempt_count = attempt_count + (decision = 'claimed')::integer,
        attempts_spent = case decision when 'redirected' then attempt_count else attempts_spent end,
        attempt_started_at = case decision when 'claimed' then at else attempt_started_at end,
        gathers_from = case decision when 'redirected' then clock_timestamp() when 'postponed' then $3 else gathers_from end,
        due_at = case decision when 'claimed' then clock_timestamp() + $5 * interval '1 millisecond'
          when 'redirected' then clock_timestamp() when 'postponed' then $3 else due_at end,
        finished_at = case decision when 'cancelled' then clock_timestamp() end
      from decided, started where mail_items.id = any(array(select id from decided)) and mail_items.id = decided.id
      returning mail_items.*, decision, mail_to
    ), unanswered as (
      update attempts set response_head = null
      where delivery_id in (select id from decided where decision = 'redirected') and response_head is not null
    )
    select id, search_number as "searchNumber", match_id as "matchId", property_uuid as "propertyUuid",
      postponed_count as "postponedCount", reason, letter, letter_items as "letterItems", mail_to as address,
      attempt_count - attempts_spent as attempt, attempt_started_at as "startedAt"
    from claimed where decision = 'claimed' order by id`;
}

async function claimItems(client: Queryable, claim: ItemClaim): Promise<readonly ClaimedRow[]> {
  const { key, isOpposed, postponedUntil, id, leaseMs, mailId, isConsentRequired } = claim;
  const kind = mailId === null ? 'gathered' : 'again';
  const { rows } = await client.query<ClaimedRow>({
    name: `claim-mail-items-${kind}`,
    text: claimText(OPEN[kind]),
    values: [key, isOpposed, postponedUntil, id, leaseMs, mailId, isConsentRequired],
  });
  return rows;
}

/** Counts an e-mail that begins, and records the proof in its link. Served by the primary keys. */
async function countMail(
  client: Queryable,
  mail: { readonly key: string; clientId: Uuid; today: string; isNew: boolean; token: string | null },
): Promise<void> {
  const { key, clientId, today, isNew, token } = mail;
  await client.query({
    name: 'count-mail',
    text: `
      with counted as (
        update mail_recipients set mails = case when day = $3 then mails + 1 else 1 end, day = $3 where key = $1 and $4
      ), counted_too as (
        update mail_clients set mails = mails + 1 where client_id = $2 and $4
      )
      insert into mail_tokens (hash, recipient_key) select $5, $1 where $5::bytea is not null`,
    values: [key, clientId, today, isNew, token === null ? null : tokenHash(token)],
  });
}

/** Before the items are locked. Served by the primary keys. */
export async function lockMailCounts(
  client: Queryable,
  { key, clientId }: Pick<ClaimedMail, 'key' | 'clientId'>,
): Promise<void> {
  await client.query('select from mail_recipients where key = $1 for update', [key]);
  await client.query('select from mail_clients where client_id = $1 for update', [clientId]);
}

/** An e-mail that began and is not sent does not count for its day. Served by the primary keys. */
export async function uncountMail(
  client: Queryable,
  { key, clientId, countedOn }: Pick<ClaimedMail, 'key' | 'clientId' | 'countedOn'>,
): Promise<void> {
  await client.query({
    name: 'uncount-mail',
    text: `
      with uncounted as (update mail_recipients set mails = mails - 1 where key = $1 and day = $3)
      update mail_clients set mails = mails - 1 where client_id = $2 and day = $3`,
    values: [key, clientId, countedOn],
  });
}

/**
 * Undoes the claim of an e-mail that was not sent: due now and uncounted, a new one without the bytes that were written,
 * because further items may join it. An attempt that has ended otherwise, or a later one, stays. Served by the primary
 * keys and mail_items_mail.
 */
export async function giveBackMail(database: Database, mail: ClaimedMail): Promise<void> {
  const { id, startedAt, countedOn } = mail;
  await transaction(database, async (client) => {
    await lockMailCounts(client, mail);
    const { rowCount } = await client.query({
      name: 'give-back-mail',
      text: `
        update mail_items set
          state = case when $3 then 'queued' else 'retry_wait' end,
          mail_id = case when not $3 then mail_id end,
          letter = case when not $3 then letter end,
          letter_items = case when not $3 then letter_items end,
          attempt_count = attempt_count - 1, due_at = clock_timestamp()
        where mail_id = $1 and state = 'sending' and date_trunc('milliseconds', attempt_started_at) = $2`,
      values: [id, startedAt, countedOn !== null],
    });
    if (rowCount !== 0) await uncountMail(client, mail);
  });
}

export interface MailTurn {
  readonly clientId: Uuid;
  /** Identifies the recipient. */
  readonly key: string;
  /** A retried e-mail; null for items to gather into a new one. */
  readonly mailId: Uuid | null;
}

/** Due items read per client: several may belong to one e-mail. */
const ITEMS_PER_CLIENT = 64;

/**
 * The first of every client, then the second of every client, and so on. Clients with open items are found by a loose
 * scan of index `mail_items_due`, which also serves each client's due items: the oldest first, so that postponed ones
 * come first.
 */
export async function readMailTurns(client: Queryable, limit: number): Promise<readonly MailTurn[]> {
  const { rows } = await client.query<MailTurn>({
    name: 'read-mail-turns',
    text: `
      with recursive clients as (
        (select client_id from mail_items where state in ${WAITING} order by client_id limit 1)
        union all
        select (
          select client_id from mail_items
          where state in ${WAITING} and client_id > clients.client_id order by client_id limit 1)
        from clients where clients.client_id is not null
      ), due as (
        select clients.client_id, endpoint_key, mail_id, min(position) as position
        from clients, lateral (
          select endpoint_key, mail_id, row_number() over (order by due_at, id) as position from (
            select id, due_at, endpoint_key, case when state = 'retry_wait' then mail_id end as mail_id from mail_items
            where client_id = clients.client_id and state in ${WAITING} and due_at <= statement_timestamp()
            order by due_at, id limit ${ITEMS_PER_CLIENT}
          ) oldest
        ) items
        where clients.client_id is not null
        group by clients.client_id, endpoint_key, mail_id
      )
      select client_id as "clientId", endpoint_key as key, mail_id as "mailId" from due
      order by row_number() over (partition by client_id order by position) limit $1`,
    values: [limit],
  });
  return rows;
}

export interface AbandonedMail {
  readonly mailId: Uuid;
  readonly key: string;
  /** Counted within the present series, from 1. */
  readonly attempt: number;
  readonly startedAt: Date;
  readonly startedAgoMs: number;
}

/** E-mails whose lease ended without an outcome: their process died. Served by index `mail_items_sending`. */
export async function readAbandonedMails(client: Queryable, limit: number): Promise<readonly AbandonedMail[]> {
  const { rows } = await client.query<AbandonedMail>({
    name: 'read-abandoned-mails',
    text: `
      select mail_id as "mailId", min(endpoint_key) as key, max(attempt_count - attempts_spent)::integer as attempt,
        min(attempt_started_at) as "startedAt",
        extract(epoch from clock_timestamp() - min(attempt_started_at))::float8 * 1000 as "startedAgoMs"
      from mail_items where state = 'sending' and due_at <= statement_timestamp() group by mail_id limit $1`,
    values: [limit],
  });
  return rows;
}

/** Items that are not final, by state, and when the most overdue one was due. Reads each of them. */
export async function countOpenMailItems(database: Queryable): Promise<{
  readonly counts: ReadonlyMap<string, number>;
  readonly oldestDueAt: Date | null;
}> {
  // Served by mail_items_due.
  const waiting = database.query<{ state: string; count: number; oldest: Date }>(
    `select state, count(*)::integer as count, min(due_at) as oldest
     from mail_items where state in ${WAITING} group by state`,
  );
  // Served by mail_items_sending and mail_items_failed.
  const others = database.query<{ sending: number; failed: number }>(
    `select (select count(*) from mail_items where state = 'sending')::integer as sending,
       (select count(*) from mail_items where state = 'failed')::integer as failed`,
  );
  const [{ rows }, { rows: counted }] = await Promise.all([waiting, others]);
  const due = rows.map(({ oldest }) => oldest).sort((a, b) => a.getTime() - b.getTime());
  const counts = [...rows.map(({ state, count }) => [state, count] as const), ...Object.entries(counted[0] ?? {})];
  return { counts: new Map(counts), oldestDueAt: due[0] ?? null };
}
