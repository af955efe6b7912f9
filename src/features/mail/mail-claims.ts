/**
 * Claims an e-mail for an attempt, and counts the attempt before any byte is sent. A claim locks the recipient's row.
 * Therefore two instances never gather the same items into two e-mails, and no e-mail begins after an unsubscription
 * was answered. Statements that wait for locks take them in one order: recipient, mailbox, client, items, searches.
 * One query finds the due e-mails of every client, so no client waits behind the many e-mails of another.
 */

import { randomBytes } from 'node:crypto';
import { timeOrderedUuid, type Uuid } from '../../engine/domain/ids.ts';
import { CLIENT_MAILS_MAX, MAILBOX_MAILS_MAX, parisDayOf } from '../../engine/domain/mail.ts';
import { arrayLiteral } from '../../engine/store/array-literal.ts';
import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import { WAITING } from '../../engine/store/delivery-states.ts';
import { frequencyChosenBy, IS_STOPPED, isOpposed } from '../../engine/store/mail-conditions.ts';
import { isMarked } from '../../engine/store/search-marks.ts';
import type { MailItem } from './mail-contents.ts';
import type { MailReason } from './mail-items.ts';
import { tokenHash } from './mail-recipients.ts';
import { mailboxOf } from './mailboxes.ts';
import { morningAfter } from './mornings.ts';

export interface ClaimedItem extends MailItem {
  readonly matchId: Uuid;
}

export interface ClaimedMail {
  readonly id: Uuid;
  readonly clientId: Uuid;
  readonly key: string;
  readonly address: string;
  /** Never empty; oldest first. */
  readonly items: readonly ClaimedItem[];
  /** From 1, within the current series of attempts. */
  readonly attempt: number;
  readonly startedAt: Date;
  /** The bytes of an earlier attempt; null without one, or if the items differ or a search now hides a contact. */
  readonly letter: Buffer | null;
  /** For the link to unsubscribe: 128 random bits in base64url. */
  readonly token: string;
  /** The day and mailbox in whose counts the e-mail is included; null for a retry, which is not counted again. */
  readonly counted: { readonly day: string; readonly mailboxKey: string } | null;
}

export interface MailClaimOptions {
  readonly leaseMs: number;
  /** Null for PostgreSQL's clock. */
  readonly now: Date | null;
  /** True to cancel items of searches without consent. */
  readonly isConsentRequired?: boolean;
}

/** Maximum number of items of an e-mail. Others wait for the next one. */
const ITEMS_MAX = 5_000;
const TOKEN_BYTES = 16;

/**
 * Null if there is nothing to send: another process has locked the recipient, or every item was cancelled, redirected
 * or postponed. If the mailbox or the client has reached its daily limit, items are postponed to the next morning.
 */
export async function claimMail(
  database: Database,
  { clientId, key, mailId }: MailTurn,
  { leaseMs, now: given, isConsentRequired = false }: MailClaimOptions,
): Promise<ClaimedMail | null> {
  return transaction(database, async (client) => {
    const now = given ?? (await client.query<{ now: Date }>('select now()')).rows[0]?.now ?? new Date();
    const today = parisDayOf(now);
    const isOpposed = await lockRecipient(client, key, clientId);
    if (isOpposed === null) return null;
    const mailbox = mailId === null ? await countedMailbox(client, { clientId, key }, today) : null;
    if (mailbox === undefined) return null;
    const isBelowLimit =
      mailbox === null || (mailbox.mails < MAILBOX_MAILS_MAX && (await isClientBelowLimit(client, clientId, today)));
    const counted = mailbox === null ? null : { day: today, mailboxKey: mailbox.key };
    const postponedFrom = isBelowLimit ? null : now;
    const id = mailId ?? timeOrderedUuid(now);
    const values = [key, isOpposed, postponedFrom, id, leaseMs, mailId, isConsentRequired];
    const rows = await claimItems(client, mailId === null ? 'gathered' : 'again', values);
    const [first] = rows;
    if (first === undefined) return null;
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const { address, attempt, startedAt } = first;
    const letter = first.letterItems === rows.length ? first.letter : null;
    await countMail(client, { clientId, counted }, 1);
    // The token in the link of a repeated e-mail is already stored.
    if (letter === null) await insertToken(client, token, key, id);
    const items = rows.map(({ reason, ...item }) => ({ ...item, reason: JSON.parse(reason) as MailReason }));
    return { id, clientId, key, address, attempt, startedAt, token, letter, items, counted };
  });
}

async function insertToken(client: Queryable, token: string, key: string, mailId: Uuid): Promise<void> {
  const text = 'insert into mail_tokens (hash, recipient_key, mail_id) values ($1, $2, $3)';
  await client.query(text, [tokenHash(token), key, mailId]);
}

/**
 * True if the recipient must get no e-mails. Null if another process holds the lock: an erasure may take long, and a
 * slot must not wait for it. Served by the primary key.
 */
async function lockRecipient(client: Queryable, key: string, clientId: Uuid): Promise<boolean | null> {
  await client.query({
    name: 'insert-mail-recipient',
    text: 'insert into mail_recipients (key, client_id) values ($1, $2) on conflict do nothing',
    values: [key, clientId],
  });
  const { rows } = await client.query<{ isOpposed: boolean }>({
    name: 'lock-mail-recipient',
    text: `select ${isOpposed('key')} as "isOpposed" from mail_recipients where key = $1 for update skip locked`,
    values: [key],
  });
  return rows[0]?.isOpposed ?? null;
}

/** Locks the count of a mailbox, which recipients may share. Undefined without items. Served by mail_items_notified. */
async function countedMailbox(
  client: Queryable,
  { clientId, key }: Pick<MailTurn, 'clientId' | 'key'>,
  today: string,
): Promise<{ readonly key: string; readonly mails: number } | undefined> {
  const { rows: found } = await client.query<{ address: string }>({
    name: 'read-mail-address',
    text: "select substr(endpoint, length('mailto:') + 1) as address from mail_items where endpoint_key = $1 limit 1",
    values: [key],
  });
  const [item] = found;
  if (item === undefined) return undefined;
  const values = [today, clientId, mailboxOf(item.address)];
  const { rows } = await client.query<{ key: string; mails: number }>({
    name: 'lock-mailbox',
    text: lockCount('mail_mailboxes', 'key', 'mail_key_of($2, $3)'),
    values,
  });
  return rows[0];
}

/** Locks the client's count, so that two e-mails cannot both be the last one of its day. Served by the primary key. */
async function isClientBelowLimit(client: Queryable, clientId: Uuid, today: string): Promise<boolean> {
  const text = lockCount('mail_clients', 'client_id', '$2');
  const { rows } = await client.query<{ mails: number }>({ name: 'lock-mail-client', text, values: [today, clientId] });
  return (rows[0]?.mails ?? 0) < CLIENT_MAILS_MAX;
}

/** Locks the row of `key`, an SQL expression, and returns its e-mails of the day. The first parameter is the day. */
function lockCount(table: 'mail_mailboxes' | 'mail_clients', column: string, key: string): string {
  return `
    insert into ${table} (${column}, day, mails) values (${key}, $1, 0)
    on conflict (${column}) do update
    set mails = case when ${table}.day = excluded.day then ${table}.mails else 0 end, day = excluded.day
    returning ${column} as key, mails`;
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

/** The open items of one e-mail. Gathered items: served by mail_items_recipient. Retried ones: by mail_items_mail. */
const OPEN = {
  gathered: `select id, search_number, generation, property_uuid, created_at from mail_items
    where endpoint_key = $1 and state = 'queued' and gathers_from <= clock_timestamp() and $6::uuid is null
    order by id limit ${ITEMS_MAX} for update`,
  again: `select id, search_number, generation, property_uuid, created_at from mail_items
    where mail_id = $6 and endpoint_key = $1 and state = 'retry_wait' and due_at <= statement_timestamp()
    order by id for update`,
} as const;

/**
 * Decides each item. It is cancelled if its search or client is gone, or if the client has hidden the property. It is
 * also cancelled if the search does not notify, was silenced after the recording, sends no e-mails, has a refused
 * address, or lacks a required consent. An unsubscription cancels it, unless the search has a new address. Otherwise
 * the item is redirected to its new address, postponed (also until the morning that the recipient chose), or claimed.
 * The searches stay locked, so no attempt that contradicts a change begins after the change was answered. A redirection
 * also deletes a mail server's answers about the former address. Served by the primary keys and `OPEN`.
 */
function claimText(open: string): string {
  return `
    with open as materialized (${open}), subscription as materialized (
      select number, generation as present_generation, mail_key, members ->> 'notificationRecipient' as mail_to,
        hide_property_contact as is_contact_hidden from searches
      where number = any(array(select search_number from open)) and deleted_at is null and notification_enabled
        and mail_key is not null and mail_refused_at is null and not ${IS_STOPPED}
        and not ($7 and members ->> 'notificationConsent' is null)
        and not exists (select from clients where clients.id = client_id and clients.deleted_at is not null)
      order by number for key share
    ), chosen as materialized (
      -- A retry is not postponed.
      select case when $6::uuid is null then ${frequencyChosenBy('$1')} end as frequency
    ), decided as materialized (
      select open.id, mail_key, mail_to, case
        when mail_key is null or generation < present_generation or ${isMarked('open', 'hidden')} then 'cancelled'
        when mail_key <> $1 then 'redirected'
        when $2 then 'cancelled'
        when $3::timestamptz is not null or earliest > clock_timestamp() then 'postponed'
        else 'claimed' end as decision,
        coalesce(${morningAfter("'daily'", '$3::timestamptz')}, earliest) as postponed_until
      from open left join subscription on number = search_number, chosen,
        lateral (select ${morningAfter('frequency', 'created_at')} as earliest) as mornings
    ), started as materialized (
      -- The same time for all items: the clock advances from row to row, and giveBackMail compares the time.
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
        gathers_from = case decision when 'redirected' then clock_timestamp() when 'postponed' then postponed_until
          else gathers_from end,
        due_at = case decision when 'claimed' then clock_timestamp() + $5 * interval '1 millisecond'
          when 'redirected' then clock_timestamp() when 'postponed' then postponed_until else due_at end,
        finished_at = case decision when 'cancelled' then clock_timestamp() end
      from decided, started where mail_items.id = any(array(select id from decided)) and mail_items.id = decided.id
      returning mail_items.*, decision, mail_to
    ), unanswered as (
      update attempts set response_head = null
      where delivery_id in (select id from decided where decision = 'redirected') and response_head is not null
    )
    select id, search_number as "searchNumber", match_id as "matchId", property_uuid as "propertyUuid",
      reason, letter_items as "letterItems", mail_to as address,
      attempt_count - attempts_spent as attempt, attempt_started_at as "startedAt", case when not exists (
        select from subscription where is_contact_hidden and number = any(letter_contacts)) then letter end as letter
    from claimed where decision = 'claimed' order by id`;
}

async function claimItems(
  client: Queryable,
  kind: keyof typeof OPEN,
  values: unknown[],
): Promise<readonly ClaimedRow[]> {
  const query = { name: `claim-mail-items-${kind}`, text: claimText(OPEN[kind]), values };
  return (await client.query<ClaimedRow>(query)).rows;
}

type CountedMail = Pick<ClaimedMail, 'clientId' | 'counted'>;

/** Adds to the day's e-mail counts of a mailbox and a client. Served by the primary keys. */
async function countMail(client: Queryable, { clientId, counted }: CountedMail, added: 1 | -1): Promise<void> {
  if (counted === null) return;
  const { day, mailboxKey } = counted;
  const change = 'set mails = mails + $3 where day = $2 and';
  await client.query(`update mail_mailboxes ${change} key = $1`, [mailboxKey, day, added]);
  await client.query(`update mail_clients ${change} client_id = $1`, [clientId, day, added]);
}

/**
 * If `work` resolves with true, an e-mail that began but was not sent no longer counts for its day. Recipient and
 * counts are locked before the items that `work` changes. Served by the primary keys.
 */
export async function uncountMail(
  database: Database,
  mail: Pick<ClaimedMail, 'key' | 'clientId' | 'counted'>,
  work: (client: Queryable) => Promise<boolean>,
): Promise<void> {
  await transaction(database, async (client) => {
    await client.query('select from mail_recipients where key = $1 for update', [mail.key]);
    await client.query('select from mail_mailboxes where key = $1 for update', [mail.counted?.mailboxKey]);
    await client.query('select from mail_clients where client_id = $1 for update', [mail.clientId]);
    if (await work(client)) await countMail(client, mail, -1);
  });
}

/**
 * Undoes the claim of an e-mail that was not sent: it is due now and uncounted. The written bytes of a new e-mail are
 * removed, because further items may join it. An attempt that has already ended, or a later one, is left unchanged.
 * Served by the primary keys and mail_items_mail.
 */
export async function giveBackMail(database: Database, mail: ClaimedMail): Promise<void> {
  const { id, startedAt, counted } = mail;
  await uncountMail(database, mail, async (client) => {
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
      values: [id, startedAt, counted !== null],
    });
    return rowCount !== 0;
  });
}

export interface MailTurn {
  readonly clientId: Uuid;
  /** Identifies the recipient. */
  readonly key: string;
  /** The e-mail to retry; null to gather items into a new one. */
  readonly mailId: Uuid | null;
}

/** Maximum number of due items read per client. Several of them may belong to one e-mail. */
const ITEMS_PER_CLIENT = 64;

/**
 * The first due e-mail of every client, then the second of every client, and so on. A loose scan of index
 * `mail_items_due` finds the clients with open items. The index also returns each client's due items in the order of
 * their due times, so that items that were postponed precede new ones. `blocked`: recipients whose items are left out.
 */
export async function readMailTurns(
  client: Queryable,
  limit: number,
  blocked: readonly string[] = [],
): Promise<readonly MailTurn[]> {
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
              and endpoint_key <> all($2::text[])
            order by due_at, id limit ${ITEMS_PER_CLIENT}
          ) oldest
        ) items
        where clients.client_id is not null
        group by clients.client_id, endpoint_key, mail_id
      )
      select client_id as "clientId", endpoint_key as key, mail_id as "mailId" from due
      order by row_number() over (partition by client_id order by position) limit $1`,
    values: [limit, arrayLiteral(blocked)],
  });
  return rows;
}

export interface AbandonedMail {
  readonly id: Uuid;
  readonly key: string;
  /** From 1, within the current series of attempts. */
  readonly attempt: number;
  readonly startedAt: Date;
  readonly startedAgoMs: number;
}

/** E-mails whose lease ended without an outcome, usually because a process died. Served by `mail_items_sending`. */
export async function readAbandonedMails(client: Queryable, limit: number): Promise<readonly AbandonedMail[]> {
  const { rows } = await client.query<AbandonedMail>({
    name: 'read-abandoned-mails',
    text: `
      select mail_id as id, min(endpoint_key) as key, max(attempt_count - attempts_spent)::integer as attempt,
        min(attempt_started_at) as "startedAt",
        extract(epoch from clock_timestamp() - min(attempt_started_at))::float8 * 1000 as "startedAgoMs"
      from mail_items where state = 'sending' and due_at <= statement_timestamp() group by mail_id limit $1`,
    values: [limit],
  });
  return rows;
}

/** The earliest due time of the waiting items; null if none waits. Reads each waiting item, by mail_items_due. */
export async function readOldestDue(database: Queryable): Promise<Date | null> {
  const { rows } = await database.query<{ dueAt: Date | null }>(
    `select min(due_at) as "dueAt" from mail_items where state in ${WAITING}`,
  );
  return rows[0]?.dueAt ?? null;
}
