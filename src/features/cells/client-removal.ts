/** What stays behind where a client does not live any more, and what of a copy was never activated, goes. */

import type { Uuid } from '../../engine/domain/ids.ts';
import type { Queryable } from '../../engine/store/database.ts';

const ROWS_PER_STATEMENT = 1_000;

/**
 * Removes what a cell has of a client that does not live there, but for what says where it is: the client, its keys, what
 * links to unsubscribe are known by, and searches, which retention forgets. Each statement is a transaction of its own.
 */
export async function removeCopy(database: Queryable, clientId: Uuid): Promise<void> {
  const numbers = '(select number from searches where client_id = $1)';
  const remove = async (text: string): Promise<void> => {
    for (let isMore = true; isMore; ) isMore = ((await database.query(text, [clientId])).rowCount ?? 0) > 0;
  };
  const { rows } = await database.query('select from clients where id = $1 and moved_to is not null', [clientId]);
  if (rows.length === 0) return;
  await database.query(
    `with mover as materialized (select set_config('vigie.moves', $1::uuid::text, true))
     update searches set deleted_at = clock_timestamp(), silenced_at = null, revision = pg_current_xact_id()
     from mover where client_id = $1 and deleted_at = 'infinity'`,
    [clientId],
  );
  for (const table of ['deliveries', 'mail_items']) {
    await remove(
      `with gone as (
         delete from ${table} where id in (select id from ${table} where search_number in ${numbers} limit ${ROWS_PER_STATEMENT})
         returning id
       ), logged as (delete from attempts using gone where delivery_id = gone.id
       ), open as (delete from open_deliveries using gone where open_deliveries.id = gone.id
       ), ended as (delete from endings using gone where delivery_id = gone.id)
       select from gone`,
    );
  }
  await remove(
    `with gone as (
       delete from feed_batches where (client_id, epoch, recorded_in) in (
         select client_id, epoch, recorded_in from feed_batches where client_id = $1 limit 10) returning ids
     ), items as (delete from feed_items where id in (select unnest(ids) from gone))
     select from gone`,
  );
  for (const table of ['matches', 'search_changes']) {
    await database.query(`delete from ${table} where search_number in ${numbers}`, [clientId]);
  }
  await database.query(
    'delete from recovery_items where recovery_id in (select id from recoveries where client_id = $1)',
    [clientId],
  );
  for (const table of ['recoveries', 'idempotency_keys', 'feed_floors', 'mail_clients']) {
    await database.query(`delete from ${table} where client_id = $1`, [clientId]);
  }
  await database.query(
    `with mover as materialized (select set_config('vigie.moves', $1::uuid::text, true))
     delete from webhook_secrets using mover where client_id = $1`,
    [clientId],
  );
}
