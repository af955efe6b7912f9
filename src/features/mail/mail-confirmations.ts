/**
 * The e-mail that asks a recipient, once for ever, whether an unsubscription still holds. Its state is in the recipient's
 * row, and its address is read from a search when it is sent: none is kept.
 */

import { randomBytes } from 'node:crypto';
import { ATTEMPTS_MAX } from '../../engine/domain/delivery.ts';
import { timeOrderedUuid, type Uuid } from '../../engine/domain/ids.ts';
import type { SearchMembers } from '../../engine/domain/search.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { membersOfStored, type StoredMembers } from '../../engine/store/searches.ts';
import { tokenHash } from './mail-recipients.ts';

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
  /** As an attempt before sent it. */
  readonly letter: Buffer | null;
}

type ConfirmationRow = Omit<ClaimedConfirmation, 'address' | 'members'> & { readonly members: StoredMembers | null };

/**
 * The one that is due first, counted as tried; null when there is none. One that nobody needs any more, since the
 * recipient has taken the unsubscription back or no search has the address, ends unsent; that of a client which lives in
 * another cell, or is being moved, waits. Served by mail_recipients_confirmation, searches_mail and clients' primary key.
 */
export async function claimConfirmation(client: Queryable, leaseMs: number): Promise<ClaimedConfirmation | null> {
  const { rows } = await client.query<ConfirmationRow>({
    name: 'claim-mail-confirmation',
    text: `
      with due as materialized (
        select key, unsubscribed_at, (
          select members from searches where mail_key = key and deleted_at is null order by number limit 1) as members
        from mail_recipients join clients on clients.id = client_id
        where confirmation_due_at <= clock_timestamp() and moved_to is null
          and coalesce(moving_until < clock_timestamp(), true)
        order by confirmation_due_at limit 1 for update of mail_recipients skip locked
      )
      update mail_recipients as recipient set
        confirmation_attempts = confirmation_attempts + 1,
        confirmation_due_at = case
          when due.unsubscribed_at is not null and members is not null and confirmation_attempts < ${ATTEMPTS_MAX}
          then clock_timestamp() + $1 * interval '1 millisecond' end
      from due where recipient.key = due.key
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

/** A link of the recipient, whose proof is noted here. Served by the primary key. */
export async function noteLink(client: Queryable, key: string): Promise<string> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  await client.query('insert into mail_tokens (hash, recipient_key) values ($1, $2)', [tokenHash(token), key]);
  return token;
}

/** Keeps it as it is first sent, for its next attempts. Served by the primary key. */
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
