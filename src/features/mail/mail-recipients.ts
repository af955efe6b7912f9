/**
 * Recipients who have unsubscribed from a client's e-mails. A token in the link, stored as a hash only, is the proof;
 * an unsubscription is kept for ever, and stores no address. An e-mail asks a recipient, once for ever, whether an
 * unsubscription still applies: its state is in the recipient's row, and its address is read from a search when it is
 * sent.
 */

import { hash, randomBytes } from 'node:crypto';
import { ATTEMPTS_MAX } from '../../engine/domain/delivery.ts';
import { timeOrderedUuid, type Uuid } from '../../engine/domain/ids.ts';
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

/**
 * False when the recipient of the search is not unsubscribed, or was asked before. Served by the primary key of
 * recipients and the unique index on the id of searches.
 */
export async function askConfirmation(client: Queryable, searchId: Uuid, now: Date): Promise<boolean> {
  const { rowCount } = await client.query(
    `update mail_recipients set confirmation_id = $2, confirmation_due_at = clock_timestamp()
     from searches where searches.id = $1 and deleted_at is null and key = mail_key
       and unsubscribed_at is not null and confirmation_id is null`,
    [searchId, timeOrderedUuid(now)],
  );
  return rowCount === 1;
}

export interface ClaimedConfirmation {
  readonly id: Uuid;
  readonly clientId: Uuid;
  readonly key: string;
  readonly address: string;
  readonly members: SearchMembers;
  /** From 1. */
  readonly attempt: number;
  readonly startedAt: Date;
  /** The bytes of an earlier attempt. */
  readonly letter: Buffer | null;
}

type ConfirmationRow = Omit<ClaimedConfirmation, 'address' | 'members'> & { readonly members: StoredMembers | null };

/**
 * The one that is due first, counted as tried; null without one. One that is obsolete, because the recipient has
 * withdrawn the unsubscription or no search has the address, ends unsent; that of a client which lives in another cell,
 * or is being moved, waits. Served by mail_recipients_confirmation, searches_mail and clients' primary key.
 */
export async function claimConfirmation(client: Queryable, leaseMs: number): Promise<ClaimedConfirmation | null> {
  const { rows } = await client.query<ConfirmationRow>({
    name: 'claim-mail-confirmation',
    text: `
      with due as materialized (
        select key, unsubscribed_at, (
          select members from searches where mail_key = key and deleted_at is null order by number limit 1) as members
        from mail_recipients,
          lateral (select moved_to, moving_until from clients where id = client_id offset 0) as client
        where confirmation_due_at <= clock_timestamp() and moved_to is null
          and coalesce(moving_until < clock_timestamp(), true)
        order by confirmation_due_at limit 1 for update of mail_recipients skip locked
      )
      update mail_recipients as recipient set
        confirmation_attempts = confirmation_attempts + 1,
        confirmation_due_at = case
          when due.unsubscribed_at is not null and members is not null and confirmation_attempts < ${ATTEMPTS_MAX}
          then clock_timestamp() + $1 * interval '1 millisecond' end
      from due where recipient.key = (select key from due)
      returning confirmation_id as id, client_id as "clientId", recipient.key, confirmation_attempts as attempt,
        clock_timestamp() as "startedAt", confirmation_letter as letter,
        case when confirmation_due_at is not null then members end as members`,
    values: [leaseMs],
  });
  const [row] = rows;
  if (row === undefined || row.members === null) return null;
  const members = membersOfStored(row.members);
  return { ...row, members, address: members.notificationRecipient as string };
}

const TOKEN_BYTES = 16;

/** A link of the recipient, whose proof is recorded here. Served by the primary key. */
export async function noteLink(client: Queryable, key: string): Promise<string> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  await client.query('insert into mail_tokens (hash, recipient_key) values ($1, $2)', [tokenHash(token), key]);
  return token;
}

/** Stores the bytes of the first attempt, for later attempts. Served by the primary key. */
export async function keepConfirmation(client: Queryable, key: string, letter: Buffer): Promise<void> {
  await client.query('update mail_recipients set confirmation_letter = $2 where key = $1', [key, letter]);
}

/** `retryInMs`: null when it has ended. Served by the primary key. */
export async function recordConfirmation(
  client: Queryable,
  { key, attempt }: Pick<ClaimedConfirmation, 'key' | 'attempt'>,
  retryInMs: number | null,
): Promise<void> {
  await client.query(
    `update mail_recipients set confirmation_due_at = clock_timestamp() + $3 * interval '1 millisecond',
       confirmation_letter = case when $3::bigint is not null then confirmation_letter end
     where key = $1 and confirmation_attempts = $2`,
    [key, attempt, retryInMs],
  );
}
