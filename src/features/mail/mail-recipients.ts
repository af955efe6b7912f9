/**
 * Recipients who have unsubscribed from a client's e-mails. A token in the link, stored as a hash only, is the proof;
 * an unsubscription is kept until the recipient takes it back, and stores no address.
 */

import { hash } from 'node:crypto';
import type { Uuid } from '../../engine/domain/ids.ts';
import type { SearchMembers } from '../../engine/domain/search.ts';
import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import { WAITING } from '../../engine/store/delivery-states.ts';
import { membersOfStored, type StoredMembers } from '../../engine/store/searches.ts';

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

/** E-mails of the client to the recipient begin again. False when there is no such token. Served by the primary keys. */
export async function resubscribe(client: Queryable, token: string): Promise<boolean> {
  const { rows } = await client.query(
    `update mail_recipients set unsubscribed_at = null
     from mail_tokens where mail_tokens.hash = $1 and key = recipient_key returning key`,
    [tokenHash(token)],
  );
  return rows.length > 0;
}

/**
 * No e-mail of the client to the recipient begins from now on, and waiting ones are cancelled, except those whose search
 * has another address by now: they go there. False when there is no such token. A sender locks the recipient's row, so
 * this waits for it. Served by the primary keys, mail_items_recipient and mail_items_due.
 */
export async function unsubscribe(database: Database, token: string): Promise<boolean> {
  return transaction(database, async (client) => {
    const { rows } = await client.query<{ key: string; clientId: Uuid }>(
      `update mail_recipients set unsubscribed_at = coalesce(unsubscribed_at, clock_timestamp())
       from mail_tokens where mail_tokens.hash = $1 and key = recipient_key
       returning key, client_id as "clientId"`,
      [tokenHash(token)],
    );
    const [recipient] = rows;
    if (recipient === undefined) return false;
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
