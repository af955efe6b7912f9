/**
 * Recipients who have unsubscribed from a client's e-mails. A token in the link, stored as a hash only, is the proof;
 * an unsubscription is kept until the recipient takes it back, and stores no address.
 */

import { hash } from 'node:crypto';
import type { RecipientChoice } from '../../engine/domain/mail.ts';
import type { SearchMembers } from '../../engine/domain/search.ts';
import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import { WAITING } from '../../engine/store/delivery-states.ts';
import { membersOfStored, type StoredMembers } from '../../engine/store/searches.ts';
import type { KeepChoice } from '../../rest/dependencies.ts';

/** A plain hash, as of an API key: the token is as hard to guess. */
export function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

export type Subscription = 'subscribed' | 'unsubscribed';

/** Whether the recipients of links want e-mails, by token; unknown tokens are left out. Served by the primary keys. */
export async function readSubscriptions(
  client: Queryable,
  tokens: readonly string[],
): Promise<ReadonlyMap<string, Subscription>> {
  const { rows } = await client.query<{ position: number; isUnsubscribed: boolean }>(
    `select position::integer, unsubscribed_at is not null as "isUnsubscribed"
     from unnest($1::bytea[]) with ordinality as asked(hash, position)
     join mail_tokens on mail_tokens.hash = asked.hash left join mail_recipients on key = recipient_key`,
    [tokens.map(tokenHash)],
  );
  return new Map(
    rows.map(({ position, isUnsubscribed }) => [
      tokens[position - 1] as string,
      isUnsubscribed ? 'unsubscribed' : 'subscribed',
    ]),
  );
}

/** The searches of the e-mails with a link, the oldest first. Served by the primary key of tokens and searches_mail. */
export async function readLinkedSearches(
  client: Queryable,
  token: string,
  max: number,
): Promise<readonly SearchMembers[]> {
  const { rows } = await client.query<{ members: StoredMembers }>(
    `select members from mail_tokens join searches on mail_key = recipient_key
     where mail_tokens.hash = $1 and deleted_at is null and notification_enabled order by number limit $2`,
    [tokenHash(token), max],
  );
  return rows.map(({ members }) => membersOfStored(members));
}

/** E-mails of the client to the recipient begin again. False when there is no such token. */
export function resubscribe(database: Database, token: string, keep: KeepChoice): Promise<boolean> {
  return transaction(database, async (client) => (await choose(client, token, false, keep)) !== null);
}

/**
 * No e-mail of the client to the recipient begins from now on, and waiting ones are cancelled, except those whose search
 * has another address by now: they go there. False when there is no such token. A sender locks the recipient's row, so
 * this waits for it. Served by mail_items_recipient and mail_items_due.
 */
export async function unsubscribe(database: Database, token: string, keep: KeepChoice): Promise<boolean> {
  return transaction(database, async (client) => {
    const recipient = await choose(client, token, true, keep);
    if (recipient === null) return false;
    await client.query(
      `with open as materialized (
         select id from mail_items
         where client_id = $2 and endpoint_key = $1 and state in ${WAITING}
           and not exists (select from searches where number = search_number and mail_key <> $1)
         order by id for update
       )
       update mail_items set state = 'cancelled', finished_at = clock_timestamp()
       from open where mail_items.id = open.id and state in ${WAITING}`,
      [recipient.key, recipient.clientId],
    );
    return true;
  });
}

type Chooser = Pick<RecipientChoice, 'key' | 'clientId'>;

/** Repeated, it changes and keeps nothing. Null when there is no such token. Served by the primary keys. */
async function choose(client: Queryable, token: string, value: boolean, keep: KeepChoice): Promise<Chooser | null> {
  const { rows } = await client.query<Chooser & { isUnsubscribed: boolean }>(
    `select key, client_id as "clientId", unsubscribed_at is not null as "isUnsubscribed"
     from mail_tokens join mail_recipients on key = recipient_key
     where mail_tokens.hash = $1 for update of mail_recipients`,
    [tokenHash(token)],
  );
  const [recipient] = rows;
  if (recipient === undefined) return null;
  const { isUnsubscribed, ...chooser } = recipient;
  if (isUnsubscribed === value) return chooser;
  const { rows: changed } = await client.query<{ at: Date }>(
    `update mail_recipients set unsubscribed_at = case when $2 then at end, resubscribed_at = case when not $2 then at end
     from (select date_trunc('milliseconds', greatest(
         clock_timestamp(), greatest(unsubscribed_at, resubscribed_at) + interval '1 millisecond')) as at
       from mail_recipients where key = $1) as chosen
     where key = $1 returning at`,
    [chooser.key, value],
  );
  const { at } = changed[0] as { at: Date };
  await keep(client, { ...chooser, kind: 'unsubscription', scope: 'sender', value, at });
  return chooser;
}
