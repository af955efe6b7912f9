/**
 * Erases a recipient of e-mails (decisions, section 12): takes the address out of every row of its client, gives the
 * recipient's items keys that nothing derives from the address, and keeps the opposition under its salted hash. Locks are
 * taken in the order of claims: recipient, items, searches.
 */

import { pause } from '../../engine/actor/waiting.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import { foldText } from '../../engine/domain/text.ts';
import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import { OPEN, WAITING } from '../../engine/store/delivery-states.ts';
import type { StoredMembers } from '../../engine/store/searches.ts';
import { addressPattern, NAMES_RECIPIENT, type Opposition, type Recipient } from './holdings.ts';

/** What was done, in numbers of rows. */
export interface Erasure {
  /** Searches that wrote to the address, or mentioned it. */
  readonly searchCount: number;
  /** Items of e-mails to it. */
  readonly itemCount: number;
  /** Those that are not sent any more. */
  readonly cancelledCount: number;
}

/** Called before the commit: the opposition must be on disk first. */
export type KeepOpposition = (opposition: Opposition) => Promise<void>;

class NeverHeldError extends Error {
  readonly code = 'NEVER_HELD';
}

/** Null when nothing of it was ever held. May be repeated. */
export async function eraseRecipient(
  database: Database,
  recipient: Recipient,
  keep: KeepOpposition,
): Promise<Erasure | null> {
  const key = await readKey(database, recipient);
  try {
    const erasure = await transaction(database, async (client) => {
      const isKnown = await lockRecipient(client, key, recipient.clientId);
      const items = await eraseItems(client, '$1::text', [key]);
      const { searchCount, consentAt } = await eraseSearches(client, recipient);
      if (!isKnown && items.itemCount + searchCount === 0) throw new NeverHeldError('nothing of it was ever held');
      await keep(await oppose(client, key, consentAt));
      return { ...items, searchCount };
    });
    await writersEnded(database);
    await transaction(database, (client) => eraseItems(client, '$1::text', [key]));
    return erasure;
  } catch (error) {
    if (error instanceof NeverHeldError) return null;
    throw error;
  }
}

async function readKey(client: Queryable, { clientId, address }: Recipient): Promise<string> {
  const { rows } = await client.query<{ key: string }>('select mail_key_of($1, $2) as key', [clientId, address]);
  return (rows[0] as { key: string }).key;
}

/** Waits for an e-mail of the recipient that is being claimed. Returns whether it was known. Served by the primary key. */
async function lockRecipient(client: Queryable, key: string, clientId: Uuid): Promise<boolean> {
  const { rowCount } = await client.query(
    'insert into mail_recipients (key, client_id) values ($1, $2) on conflict do nothing',
    [key, clientId],
  );
  await client.query('select from mail_recipients where key = $1 for update', [key]);
  return rowCount === 0;
}

/**
 * From now on only consent that is dated later lifts it: later than any that was stored, whatever the clocks say. In whole
 * milliseconds, as files have times. Served by the primary key.
 */
async function oppose(client: Queryable, key: string, consentAt: string | null): Promise<Opposition> {
  const { rows } = await client.query<Opposition>(
    `update mail_recipients set lifted_at = null,
       erased_at = date_trunc('milliseconds', greatest(clock_timestamp(), $2)) + interval '1 millisecond'
     where key = $1
     returning key, client_id as "clientId", erased_at as "erasedAt", lifted_at as "liftedAt",
       unsubscribed_at as "unsubscribedAt"`,
    [key, consentAt],
  );
  return rows[0] as Opposition;
}

/**
 * Takes the address out of the items of recipients with `keys`, an expression. What waits is cancelled, or follows its
 * search to another address; what is being sent is the last, and its outcome is recorded without the server's answer
 * naming the address (mail-sender.ts). Served by mail_items_notified and the primary keys.
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

interface NamingSearch {
  readonly number: SearchNumber;
  readonly id: Uuid;
  readonly isRecipient: boolean;
  readonly members: StoredMembers;
  readonly context: string | null;
}

const SEARCHES_PER_PAGE = 500;

/** Deleted ones as well. `consentAt`: of the latest consent to e-mails to the address. */
async function eraseSearches(
  client: Queryable,
  { clientId, address }: Recipient,
): Promise<{ readonly searchCount: number; readonly consentAt: string | null }> {
  const named = [clientId, address, addressPattern(address)];
  let searchCount = 0;
  let consentAt: string | null = null;
  for (const isDeleted of ['is null', 'is not null']) {
    for (let after = 0, isMore = true; isMore; ) {
      // Served by searches_client and searches_deleted.
      const { rows } = await client.query<NamingSearch>(
        `select number, id, coalesce(mail_key = mail_key_of($1, $2), false) as "isRecipient", members, context
         from searches where deleted_at ${isDeleted} and number > $4 and ${NAMES_RECIPIENT}
         order by number limit ${SEARCHES_PER_PAGE} for no key update`,
        [...named, after],
      );
      for (const { isRecipient, members } of rows) {
        const at = isRecipient ? (members.notificationConsent?.at ?? null) : null;
        if (at !== null && (consentAt === null || Date.parse(at) > Date.parse(consentAt))) consentAt = at;
      }
      await writeWithout(client, clientId, address, rows);
      searchCount += rows.length;
      after = rows.at(-1)?.number ?? after;
      isMore = rows.length === SEARCHES_PER_PAGE;
    }
  }
  // A key of a request may be the address, and a hash of its body is one of a text with it. Served by the primary key.
  await client.query('delete from idempotency_keys where client_id = $1 and key ~* $2', [clientId, named[2]]);
  return { searchCount, consentAt };
}

/** Endpoints and `notificationEnabled` stay: webhooks go on. Served by the primary keys. */
async function writeWithout(
  client: Queryable,
  clientId: Uuid,
  address: string,
  searches: readonly NamingSearch[],
): Promise<void> {
  const pattern = new RegExp(addressPattern(address), 'gi');
  const without = (text: string): string => text.replaceAll(pattern, '…');
  const written = searches.map(({ number, isRecipient, members, context }) => {
    const { notificationRecipient: _address, notificationConsent: consent = null, ...others } = members;
    const mentioned = consent && { ...consent, source: without(consent.source) };
    const title = without(members.title);
    return {
      number,
      title,
      title_folded: foldText(title),
      members: isRecipient ? { ...others, title } : { ...members, title, notificationConsent: mentioned ?? undefined },
      context: context && without(context),
      is_recipient: isRecipient,
    };
  });
  await client.query(
    `with written as (
       select * from json_to_recordset($1)
         as written(number integer, title text, title_folded text, members json, context text, is_recipient boolean)
     ), changed as (
       insert into search_changes (search_number, version, former)
       select number, searches.version + 1, '{"hasNotificationRecipient":true}'
       from written join searches using (number) where is_recipient
     )
     update searches set title = written.title, title_folded = written.title_folded, members = written.members,
       context = written.context, mail_key = case when is_recipient then null else mail_key end,
       mail_refused_at = case when is_recipient then null else mail_refused_at end,
       version = version + is_recipient::integer, updated_at = now()
     from written where searches.number = written.number`,
    [JSON.stringify(written)],
  );
  await client.query('delete from idempotency_keys where client_id = $1 and resource_id = any($2::uuid[])', [
    clientId,
    searches.map(({ id }) => id),
  ]);
}

const CHECK_EVERY_MS = 5;
/** Longer than any recording transaction takes; what a longer one writes goes with retention. */
const WRITERS_END_WITHIN_MS = 10_000;

/**
 * Resolves when every transaction has ended that was writing when it was called: one may have read the address before the
 * erasure was committed, and record an item with it afterwards.
 */
async function writersEnded(database: Queryable): Promise<void> {
  const since = performance.now();
  const { rows } = await database.query<{ next: string }>(
    'select pg_snapshot_xmax(pg_current_snapshot())::text as next',
  );
  const next = (rows[0] as { next: string }).next;
  while (performance.now() - since < WRITERS_END_WITHIN_MS) {
    const { rows: ended } = await database.query<{ isEnded: boolean }>(
      'select pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 as "isEnded"',
      [next],
    );
    if (ended[0]?.isEnded === true) return;
    await pause(CHECK_EVERY_MS);
  }
}

/**
 * Applies an opposition that this database does not have, because it was restored from before: erases what it holds of the
 * recipient. `mentioned`: the address where searches mention it. Served by searches_mail and mail_items_notified.
 */
export async function applyOpposition(
  database: Database,
  opposition: Opposition,
  mentioned: readonly string[],
): Promise<void> {
  const { key, clientId, erasedAt, liftedAt, unsubscribedAt } = opposition;
  const { rows: addresses } = await database.query<{ address: string }>(
    `select distinct lower(address) as address from (
       select members ->> 'notificationRecipient' as address from searches where mail_key = $1
       union all select substr(endpoint, length('mailto:') + 1) from mail_items where endpoint_key = $1
       union all select unnest($2::text[])
     ) as held`,
    [key, mentioned],
  );
  // Written beside the data already.
  const keep = async (): Promise<void> => undefined;
  for (const { address } of addresses) await eraseRecipient(database, { clientId, address }, keep);
  await database.query(
    `insert into mail_recipients (key, client_id, erased_at, lifted_at, unsubscribed_at) values ($1, $2, $3, $4, $5)
     on conflict (key) do update set erased_at = excluded.erased_at, lifted_at = excluded.lifted_at,
       unsubscribed_at = coalesce(mail_recipients.unsubscribed_at, excluded.unsubscribed_at)`,
    [key, clientId, erasedAt, liftedAt, unsubscribedAt],
  );
}
