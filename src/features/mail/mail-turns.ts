/** Which e-mails are due: one look serves every client that has some, so that none waits behind the many of another. */

import type { Uuid } from '../../engine/domain/ids.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { WAITING } from '../../engine/store/delivery-states.ts';

export interface MailTurn {
  readonly clientId: Uuid;
  /** Of the recipient. */
  readonly key: string;
  /** An e-mail that was tried before; null for what is gathered into a new one. */
  readonly mailId: Uuid | null;
}

/** The due items of each client that are looked at: several may be one e-mail's. */
const ITEMS_PER_CLIENT = 64;

/**
 * The first of every client, then the second of every client, and so on. Clients that have open items are found by a
 * loose scan of index `mail_items_due`, which serves what is due of each as well: the oldest first, so that whoever was
 * put off comes first.
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
        select clients.client_id, endpoint_key, mail_id, min(place) as place
        from clients, lateral (
          select endpoint_key, mail_id, row_number() over (order by due_at, id) as place from (
            select id, due_at, endpoint_key, case when state = 'retry_wait' then mail_id end as mail_id from mail_items
            where client_id = clients.client_id and state in ${WAITING} and due_at <= clock_timestamp()
            order by due_at, id limit ${ITEMS_PER_CLIENT}
          ) oldest
        ) items
        where clients.client_id is not null
        group by clients.client_id, endpoint_key, mail_id
      )
      select client_id as "clientId", endpoint_key as key, mail_id as "mailId" from due
      order by row_number() over (partition by client_id order by place) limit $1`,
    values: [limit],
  });
  return rows;
}

export interface AbandonedMail {
  readonly mailId: Uuid;
  readonly key: string;
  /** Of the present series, from 1. */
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
      from mail_items where state = 'sending' and due_at <= clock_timestamp() group by mail_id limit $1`,
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
