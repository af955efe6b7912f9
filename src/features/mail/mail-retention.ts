/** Removes what has had its day of e-mails, in batches like everything else (retention.ts). */

import { firstUuidAt, type Uuid } from '../../engine/domain/ids.ts';
import type { Queryable } from '../../engine/store/database.ts';
import type { Batches } from '../../engine/store/retention.ts';

const ROWS_PER_BATCH = 2_000;

/**
 * Final before `before`, with their attempts, or due before it and not sent yet: the mail server is gone, and nobody wants
 * to be notified of them any more. Served by the primary keys.
 */
export async function* removeMailItems(client: Queryable, before: Date): Batches {
  for (let after = firstUuidAt(new Date(0)), isMore = true; isMore; ) {
    const { rows } = await client.query<{ last: Uuid | null; count: number; items: number; attempts: number }>(
      `with batch as materialized (
         select id from mail_items where id > $1 and id < $2 order by id limit $4
       ), gone as (
         delete from mail_items
         where id = any(array(select id from batch)) and (finished_at < $3 or finished_at is null and due_at < $3)
         returning id
       ), logged as (
         delete from attempts where delivery_id in (select id from gone) returning 1
       )
       select (select id::text from batch order by id desc limit 1) as last,
         (select count(*) from batch)::integer as count, (select count(*) from gone)::integer as items,
         (select count(*) from logged)::integer as attempts`,
      [after, firstUuidAt(before), before, ROWS_PER_BATCH],
    );
    const [batch] = rows;
    yield { mail_items: batch?.items ?? 0, attempts: batch?.attempts ?? 0 };
    after = batch?.last ?? after;
    isMore = batch?.count === ROWS_PER_BATCH;
  }
}

/** Those whose last link has gone. Unsubscriptions stay, and that a recipient was asked about one. Reads each recipient and token; items by mail_items_recipient. */
export async function* removeMailRecipients(client: Queryable): Batches {
  const { rowCount } = await client.query(
    `delete from mail_recipients
     where unsubscribed_at is null and confirmation_id is null
       and not exists (select from mail_tokens where recipient_key = key)
       and not exists (select from mail_items where endpoint_key = key and state = 'queued')`,
  );
  yield { mail_recipients: rowCount ?? 0 };
}

/** A link to unsubscribe works for a year. Served by mail_tokens_created. */
export async function* removeMailTokens(client: Queryable): Batches {
  for (let isMore = true; isMore; ) {
    const { rowCount } = await client.query(
      `delete from mail_tokens where hash in (
         select hash from mail_tokens where created_at < clock_timestamp() - interval '1 year'
         order by created_at limit $1)`,
      [ROWS_PER_BATCH],
    );
    yield { mail_tokens: rowCount ?? 0 };
    isMore = rowCount === ROWS_PER_BATCH;
  }
}
