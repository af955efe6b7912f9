/**
 * Erases a recipient of e-mails (decisions, section 12). The address is removed from the client's rows, and the
 * recipient's items get random keys or follow their search. The objection to e-mails is kept under a salted hash of the
 * address. Locks are taken in the same order as by claims of e-mails: recipient, items, searches.
 */

import { pause } from '../../engine/actor/waiting.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import { type SearchTexts, searchableText } from '../../engine/domain/search.ts';
import { foldText } from '../../engine/domain/text.ts';
import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import { OPEN, WAITING } from '../../engine/store/delivery-states.ts';
import type { KeepChoice } from '../../rest/dependencies.ts';
import { addressPattern } from './address-forms.ts';
import {
  CONSENT_SOURCE,
  IS_NOTICE_ADDRESS,
  IS_RECIPIENT,
  IS_REPLY_TO,
  KEY,
  NAMING_SEARCHES,
  PUBLIC_TITLE,
  type Recipient,
  readClients,
  readRecipient,
} from './holdings.ts';

/** The numbers of rows that the erasure has changed. */
export interface Erasure {
  /** Searches that sent e-mails to the address, or mentioned it. */
  readonly searchCount: number;
  /** Items of e-mails to it. */
  readonly itemCount: number;
  /** The items among these that were cancelled. */
  readonly cancelledCount: number;
  /** True if the address was the client's notice address, which was removed. */
  readonly hadNotices: boolean;
}

/** Null if nothing is stored about the recipient. May be repeated. */
export async function eraseRecipient(
  database: Database,
  recipient: Recipient,
  keep: KeepChoice,
): Promise<Erasure | null> {
  if ((await readRecipient(database, recipient)) === null) return null;
  const { key, ...erasure } = await transaction(database, async (client) => {
    const key = await lockRecipient(client, recipient);
    const items = await eraseItems(client, '$1::text', [key]);
    await forgetLetters(client, recipient);
    const { searchCount, consentAtMs } = await eraseSearches(client, recipient);
    const at = await oppose(client, key, recipient.clientId, consentAtMs);
    await keep(client, { key, clientId: recipient.clientId, kind: 'erasure', scope: 'sender', value: true, at });
    return { key, ...items, searchCount };
  });
  const { rowCount: noticeCount } = await database.query(
    `update clients set notice_address = null where ${IS_NOTICE_ADDRESS}`,
    [recipient.clientId, recipient.address],
  );
  await writersEnded(database);
  await transaction(database, (client) => eraseItems(client, '$1::text', [key]));
  return { ...erasure, hadNotices: noticeCount === 1 };
}

/** Erases the address at all clients, or at one. The result leaves out clients without data about it. */
export async function eraseAtClients(
  database: Database,
  address: string,
  clientId: Uuid | null,
  keep: KeepChoice,
): Promise<readonly ({ readonly client: Uuid; readonly name: string } & Erasure)[]> {
  const erased = [];
  for (const client of await readClients(database, clientId)) {
    const erasure = await eraseRecipient(database, { clientId: client.client, address }, keep);
    if (erasure !== null) erased.push({ ...client, ...erasure });
  }
  return erased;
}

/** Locks the recipient, and so waits for claims of e-mails to it. Resolves with its key. Served by the primary key. */
async function lockRecipient(client: Queryable, { clientId, address }: Recipient): Promise<string> {
  await client.query(`insert into mail_recipients (key, client_id) values (${KEY}, $1) on conflict do nothing`, [
    clientId,
    address,
  ]);
  const { rows } = await client.query<{ key: string }>(
    `select key from mail_recipients where key = ${KEY} for update`,
    [clientId, address],
  );
  return (rows[0] as { key: string }).key;
}

/**
 * From now on, only consent with a later date ends the objection. The time of the objection is later than any stored
 * consent, even if clocks differ, and in whole milliseconds, like the times in files. Served by the primary key.
 */
async function oppose(client: Queryable, key: string, clientId: Uuid, consentAtMs: number): Promise<Date> {
  const { rows } = await client.query<{ at: Date }>(
    `insert into mail_choices (recipient_key, client_id, kind, scope, value, at)
     values ($1, $2, 'erasure', 'sender', 'true',
       date_trunc('milliseconds', greatest(clock_timestamp(), $3)) + interval '1 millisecond')
     on conflict (recipient_key, kind, scope) do update set value = excluded.value, at = excluded.at returning at`,
    [key, clientId, new Date(consentAtMs)],
  );
  return (rows[0] as { at: Date }).at;
}

/**
 * Removes the address from the items of recipients with `keys`, an SQL expression. Waiting items are cancelled, or
 * follow their search to another address. An attempt in progress is the last one. Its outcome is recorded without the
 * address in the server's answer (mail-sender.ts). Served by mail_items_notified and the primary keys.
 */
export async function eraseItems(
  client: Queryable,
  keys: string,
  values: readonly unknown[] = [],
): Promise<Pick<Erasure, 'itemCount' | 'cancelledCount'>> {
  const { rows } = await client.query<Pick<Erasure, 'itemCount' | 'cancelledCount'>>(
    `with held as materialized (
       select id, endpoint_key, state, search_number from mail_items where endpoint_key = any(array(select ${keys}))
       order by id for update
     ), present as materialized (
       select held.*, mail_key, members ->> 'notificationRecipient' as mail_to from held
       left join searches on number = search_number and mail_key <> held.endpoint_key and deleted_at is null
         and held.state in ${WAITING}
     ), erased as (
       update mail_items set
         endpoint = 'mailto:' || coalesce(mail_to, ''),
         endpoint_key = coalesce(mail_key, replace(gen_random_uuid()::text, '-', '')),
         letter = null,
         letter_items = null,
         mail_id = case when mail_key is null then mail_id end,
         attempts_spent = case when mail_key is null then attempts_spent else attempt_count end,
         state = case when mail_key is not null then 'queued' when mail_items.state in ${OPEN} then 'cancelled'
           else mail_items.state end,
         due_at = case when mail_key is null then due_at else clock_timestamp() end,
         gathers_from = case when mail_key is null then gathers_from else clock_timestamp() end,
         finished_at = case when mail_key is null then coalesce(finished_at, clock_timestamp()) end
       from present where mail_items.id = any(array(select id from present)) and mail_items.id = present.id
       returning mail_items.id, present.state in ${OPEN} and mail_key is null as "isCancelled"
     ), unanswered as (
       update attempts set response_head = null
       where delivery_id in (select id from held) and response_head is not null
     )
     select count(*)::integer as "itemCount", (count(*) filter (where "isCancelled"))::integer as "cancelledCount"
     from erased`,
    [...values],
  );
  return rows[0] as Pick<Erasure, 'itemCount' | 'cancelledCount'>;
}

/**
 * Drops the written bytes (`letter`) of e-mails to others that may mention the address: the next attempt writes them
 * again. Reads each open item of the client, by mail_items_due and mail_items_sending, and then by mail_items_mail.
 */
async function forgetLetters(client: Queryable, { clientId, address }: Recipient): Promise<void> {
  await client.query(
    `update mail_items set letter = null, letter_items = null where id = any(array(
       select written.id from mail_items named join mail_items written on written.mail_id = named.mail_id
       where named.client_id = $1 and (named.state in ${WAITING} or named.state = 'sending')
         and named.search_number = any(array(${NAMING_SEARCHES})) and written.letter is not null
       order by written.id for update of written))`,
    [clientId, address, addressPattern(address)],
  );
}

const without = (text: string): string => `regexp_replace(${text}, $3, '…', 'g')`;

/**
 * Removes the address from searches and their marks, including deleted searches. Endpoints and `notificationEnabled`
 * stay: webhooks continue. Also deletes idempotency keys that have the address, or whose hash of a body may reveal it.
 * `consentAtMs`: the time of the latest consent to e-mails to it. Served by the primary keys.
 */
async function eraseSearches(
  client: Queryable,
  { clientId, address }: Recipient,
): Promise<{ readonly searchCount: number; readonly consentAtMs: number }> {
  const { rows } = await client.query<SearchTexts & { number: number; consentAt: string | null }>(
    `with named as materialized (
       select number, id, version, ${IS_RECIPIENT} as is_recipient,
         case when ${IS_RECIPIENT} then members -> 'notificationConsent' ->> 'at' end as consent_at
       from searches where number = any(array(${NAMING_SEARCHES})) order by number for no key update
     ), changed as (
       insert into search_changes (search_number, version, former)
       select number, version + 1, '{"hasNotificationRecipient":true}' from named where is_recipient
     ), unnamed as (
       update search_marks set reason = ${without('reason')}, note = ${without('note')}
       where search_number = any(array(select number from named)) and (reason ~ $3 or note ~ $3)
     ), forgotten as (
       delete from idempotency_keys
       where client_id = $1 and (key ~ $3 or resource_id = any(array(select id from named)))
     )
     update searches set title = ${without('title')}, context = ${without('context')},
       members = ((case when is_recipient then members::jsonb - 'notificationRecipient' - 'notificationConsent'
         else coalesce(
           jsonb_set(members::jsonb, '{notificationConsent,source}', to_jsonb(${without(CONSENT_SOURCE)})), members::jsonb)
         end) - case when ${IS_REPLY_TO} then 'notificationReplyTo' else '' end
         || jsonb_strip_nulls(jsonb_build_object(
           'title', ${without('title')}, 'publicTitle', ${without(PUBLIC_TITLE)})))::json,
       mail_key = case when is_recipient then null else mail_key end,
       mail_refused_at = case when is_recipient then null else mail_refused_at end,
       version = searches.version + is_recipient::integer, updated_at = now()
     from named where searches.number = named.number
     returning searches.number, title, consent_at as "consentAt", context::json as context,
       ${PUBLIC_TITLE} as "publicTitle", members ->> 'notificationRecipient' as "notificationRecipient"`,
    [clientId, address, addressPattern(address)],
  );
  await client.query(
    `update searches set title_folded = folded, searchable = texts
     from unnest($1::integer[], $2::text[], $3::text[]) as named(number, folded, texts)
     where searches.number = named.number and (title_folded <> folded or searchable <> texts)`,
    [rows.map(({ number }) => number), rows.map(({ title }) => foldText(title)), rows.map(searchableText)],
  );
  const consentAtMs = rows.reduce((latest, { consentAt }) => Math.max(latest, Date.parse(consentAt ?? '') || 0), 0);
  return { searchCount: rows.length, consentAtMs };
}

const CHECK_EVERY_MS = 5;
/** Longer than recording transactions usually take. Retention erases the writes of longer ones. */
const WRITERS_END_WITHIN_MS = 10_000;

/**
 * Resolves when every transaction that was writing at the call has ended, or after ten seconds. Such a transaction may
 * have read the address before the erasure was committed, and may record an item with it afterwards.
 */
async function writersEnded(database: Database): Promise<void> {
  const since = performance.now();
  const { rows } = await database.query('select pg_snapshot_xmax(pg_current_snapshot())::text as next');
  const ended = async (): Promise<boolean> => {
    const over = 'select where pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8';
    return (await database.query(over, [rows[0]?.next])).rowCount === 1;
  };
  while (performance.now() - since < WRITERS_END_WITHIN_MS && !(await ended())) await pause(CHECK_EVERY_MS);
}
