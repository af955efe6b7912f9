/**
 * The choices of recipients of a client's e-mails: to receive none, none of a search, or less often. The token in the
 * link authorises a choice; only its hash is stored. A choice is stored without an address, and holds until the
 * recipient withdraws it.
 */

import { hash } from 'node:crypto';
import type { Uuid } from '../../engine/domain/ids.ts';
import { type MailFrequency, type RecipientChoice, searchScopeOf } from '../../engine/domain/mail.ts';
import type { SearchMembers } from '../../engine/domain/search.ts';
import { PUBLIC_NAME } from '../../engine/store/clients.ts';
import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import { WAITING } from '../../engine/store/delivery-states.ts';
import { frequencyChosenBy, hasChosen, IS_STOPPED } from '../../engine/store/mail-conditions.ts';
import { membersOfStored, type StoredMembers } from '../../engine/store/searches.ts';
import type { KeepChoice } from '../../rest/dependencies.ts';
import { morningAfter } from './mornings.ts';

/** A plain hash suffices, because a token is as hard to guess as an API key. */
export function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** The recipient of the e-mail that contains the link, and the choices for all e-mails of the client. */
export interface LinkedRecipient {
  readonly key: string;
  readonly clientId: Uuid;
  /** The e-mail that contains the link. */
  readonly mailId: Uuid;
  /** The client's name; null if the client was deleted. */
  readonly sender: string | null;
  readonly isUnsubscribed: boolean;
  readonly isErased: boolean;
  readonly frequencyChosen: MailFrequency | null;
}

/** The recipients by token; unknown tokens are left out. Served by the primary keys. */
export async function readLinks(
  client: Queryable,
  tokens: readonly string[],
): Promise<ReadonlyMap<string, LinkedRecipient>> {
  const { rows } = await client.query<LinkedRecipient & { position: number }>(
    `select position::integer, key, client_id as "clientId", mail_id as "mailId",
       (select ${PUBLIC_NAME} from clients where id = client_id and deleted_at is null) as sender,
       ${hasChosen('key', ['unsubscription'])} as "isUnsubscribed", ${hasChosen('key', ['erasure'])} as "isErased",
       ${frequencyChosenBy('key')} as "frequencyChosen"
     from unnest($1::bytea[]) with ordinality as asked(hash, position)
     join mail_tokens on mail_tokens.hash = asked.hash join mail_recipients on key = recipient_key`,
    [tokens.map(tokenHash)],
  );
  return new Map(rows.map(({ position, ...recipient }) => [tokens[position - 1] as string, recipient]));
}

export interface LinkedSearch {
  readonly id: Uuid;
  readonly members: SearchMembers;
  /** True if the recipient wants no e-mails of this search. */
  readonly isStopped: boolean;
}

/** The notifying searches of a recipient, those of the e-mail first. Served by searches_mail and mail_items_mail. */
export async function readLinkedSearches(
  client: Queryable,
  { key, mailId }: LinkedRecipient,
  max: number,
): Promise<readonly LinkedSearch[]> {
  const { rows } = await client.query<Omit<LinkedSearch, 'members'> & { members: StoredMembers }>(
    `select id, members, ${IS_STOPPED} as "isStopped" from searches
     where mail_key = $1 and deleted_at is null and notification_enabled
     order by number = any(array(select search_number from mail_items where mail_id = $2)) desc, number limit $3`,
    [key, mailId, max],
  );
  return rows.map((row) => ({ ...row, members: membersOfStored(row.members) }));
}

/** A choice on the recipient's page. `search`: the search concerned; null for all e-mails of the client. */
export type Choice =
  | { readonly kind: 'unsubscription'; readonly search: Uuid | null; readonly value: boolean }
  | { readonly kind: 'frequency'; readonly search: null; readonly value: MailFrequency | false };

/**
 * Records a choice and applies it to waiting e-mails; repeating it changes nothing. False if the token is unknown, or
 * the search is deleted or another recipient's. A choice waits for claims to end, because both lock the recipient.
 */
export async function choose(database: Database, token: string, choice: Choice, keep: KeepChoice): Promise<boolean> {
  return transaction(database, async (client) => {
    const recipient = await lockRecipient(client, token);
    if (recipient === null || !(await isOwnSearch(client, recipient, choice.search))) return false;
    const at = await insertChoice(client, recipient, choice);
    if (at === null) return true;
    await keep(client, { ...recipient, kind: choice.kind, scope: scopeOf(choice), value: choice.value, at });
    if (choice.kind === 'frequency') await reschedule(client, recipient);
    else if (choice.value) await cancelWaiting(client, recipient, choice.search);
    return true;
  });
}

function scopeOf({ search }: Choice): RecipientChoice['scope'] {
  return search === null ? 'sender' : searchScopeOf(search);
}

type Chooser = Pick<RecipientChoice, 'key' | 'clientId'>;

/** Served by the primary keys. */
async function lockRecipient(client: Queryable, token: string): Promise<Chooser | null> {
  const { rows } = await client.query<Chooser>(
    `select key, client_id as "clientId" from mail_tokens join mail_recipients on key = recipient_key
     where mail_tokens.hash = $1 for update of mail_recipients`,
    [tokenHash(token)],
  );
  return rows[0] ?? null;
}

/** False for a search of another recipient, and for a deleted one. Served by the unique index on id. */
async function isOwnSearch(client: Queryable, { key }: Chooser, search: Uuid | null): Promise<boolean> {
  if (search === null) return true;
  const text = 'select from searches where id = $1 and mail_key = $2 and deleted_at is null';
  return (await client.query(text, [search, key])).rowCount === 1;
}

/**
 * The time of the choice in whole milliseconds, later than that of the former choice; null if nothing changes. Served
 * by the primary key.
 */
async function insertChoice(client: Queryable, recipient: Chooser, choice: Choice): Promise<Date | null> {
  const { rows } = await client.query<{ at: Date }>(
    `insert into mail_choices as former (recipient_key, client_id, kind, scope, value, at)
     select $1, $2, $3, $4, $5::jsonb, date_trunc('milliseconds', clock_timestamp())
     where $5::jsonb <> 'false' or exists (
       select from mail_choices where recipient_key = $1 and kind = $3 and scope = $4)
     on conflict (recipient_key, kind, scope) do update set value = excluded.value,
       at = date_trunc('milliseconds', greatest(clock_timestamp(), former.at + interval '1 millisecond'))
     where former.value <> excluded.value returning at`,
    [recipient.key, recipient.clientId, choice.kind, scopeOf(choice), JSON.stringify(choice.value)],
  );
  return rows[0]?.at ?? null;
}

/**
 * Cancels waiting e-mails of a search, or of all searches, except those whose search now has another address: they will
 * be sent there. Served by mail_items_notified or mail_items_due.
 */
async function cancelWaiting(client: Queryable, { key, clientId }: Chooser, search: Uuid | null): Promise<void> {
  await client.query(
    `with open as materialized (
       select id from mail_items
       where client_id = $2 and endpoint_key = $1 and state in ${WAITING}
         and not exists (select from searches where number = search_number and (mail_key <> $1 or id <> $3))
       order by id for update
     )
     update mail_items set state = 'cancelled', finished_at = clock_timestamp()
     from open where mail_items.id = open.id and state in ${WAITING}`,
    [key, clientId, search],
  );
}

/** Makes gathered items due as if they had been recorded with the current choice. Served by mail_items_recipient. */
async function reschedule(client: Queryable, { key }: Chooser): Promise<void> {
  const slower = "case when 'weekly' in (own, chosen) then 'weekly' when 'daily' in (own, chosen) then 'daily' end";
  await client.query(
    `with open as materialized (
       select id, created_at, ${frequencyChosenBy('$1')} as chosen,
         (select members ->> 'notificationFrequency' from searches where number = search_number) as own
       from mail_items where endpoint_key = $1 and state = 'queued' order by id for update
     ), due as materialized (
       select id, greatest(clock_timestamp(), ${morningAfter(slower, 'created_at')}) as at from open
     )
     update mail_items set gathers_from = at, due_at = at from due where mail_items.id = due.id`,
    [key],
  );
}
