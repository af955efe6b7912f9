/**
 * Copies everything that a cell has of one client to another cell, where it is inactive: its searches count as deleted,
 * for ever, and items of e-mails are due in a month, so that nothing there processes them before the activation.
 * Searches get numbers of the target; every other id stays, because clients and webhooks know it.
 */

import { randomUuid, type Uuid } from '../../engine/domain/ids.ts';
import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import { OPEN } from '../../engine/store/delivery-states.ts';
import { copyTable, type TableCopy, WAITS_FOR_ANOTHER } from './table-copy.ts';

/** How long open deliveries stay inactive without an activation. */
const ASLEEP = `interval '30 days'`;
const ROWS_PER_PAGE = 1_000;
/** Bodies have up to megabytes, and searches polygons. */
const LARGE_ROWS_PER_PAGE = 100;

const FED_BATCHES_MAX = 500;
const FED_BATCH_MIN = 2_000;

/** `moves` keeps the triggers from refusing writes of the client. For the beginning of a transaction. */
export async function asMigration(client: Queryable, clientId: Uuid): Promise<void> {
  await client.query(`select set_config('vigie.moves', $1, true)`, [clientId]);
}

export interface ClientCopy {
  readonly clientId: Uuid;
  /** The cell that the client lives in meanwhile. */
  readonly home: string;
  /** Snapshots made before it have been copied. */
  readonly copiedBefore: string;
}

/**
 * Both connections are within a transaction, the source's in one snapshot. `onRows` is called for each page. Resolves
 * with the number of rows.
 */
export async function copyClient(
  source: Queryable,
  target: Queryable,
  { clientId, home, copiedBefore }: ClientCopy,
  onRows: (count: number) => void,
): Promise<number> {
  await asMigration(target, clientId);
  let count = 0;
  const copyAll = async (copies: readonly TableCopy[]): Promise<void> => {
    for (const copy of copies) count += await copyTable(source, target, copy, onRows);
  };
  await copyAll(identityOf(clientId, home));
  await numberSearches(source, target, clientId);
  await copyAll([snapshotsOf(clientId, `created_at >= '${copiedBefore}'`), ...historyOf(clientId)]);
  await copyAll(restOf(clientId));
  return count;
}

/** Every table that moves with a client; triggers add up the totals. */
export function movedTables(): readonly string[] {
  const anybody = randomUuid();
  const copies = [...identityOf(anybody, ''), snapshotsOf(anybody, ''), ...historyOf(anybody), ...restOf(anybody)];
  return copies.map(({ table }) => table);
}

/** Deliveries and items of e-mails that are not final. */
export async function countOpen(client: Queryable, clientId: Uuid): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `with ours as materialized (select number from searches where client_id = $1)
     select ((select count(*) from open_deliveries
         where id in (select id from deliveries where search_number in (select number from ours)))
       + (select count(*) from mail_items where search_number in (select number from ours) and state in ${OPEN}))::integer
       as count`,
    [clientId],
  );
  return (rows[0] as { count: number }).count;
}

/** Keys stay where a client was, so that requests there can be answered with where it is. */
function identityOf(clientId: Uuid, home: string): readonly TableCopy[] {
  const byClient = (table: string): string => `select * from ${table} where client_id = '${clientId}'`;
  return [
    {
      table: 'clients',
      rows: `select * from clients where id = '${clientId}'`,
      columns: { moved_to: `'${home}'`, moving_until: 'null', arrived_epoch: 'null', arrived_in: 'null' },
      onConflict: '(id) do update set ALL',
      pageRows: 1,
    },
    { table: 'api_keys', rows: byClient('api_keys'), onConflict: '(id) do update set ALL', pageRows: ROWS_PER_PAGE },
    { table: 'webhook_secrets', rows: byClient('webhook_secrets'), pageRows: ROWS_PER_PAGE },
    {
      table: 'searches',
      // Lists show them by number.
      rows: `${byClient('searches')} order by number`,
      without: ['number', 'revision'],
      columns: { deleted_at: `coalesce(copied.deleted_at, 'infinity')` },
      onConflict: '(id) do update set ALL, revision = pg_current_xact_id()',
      pageRows: LARGE_ROWS_PER_PAGE,
    },
  ];
}

/** `moved_searches`: the target's numbers by the source's. */
async function numberSearches(source: Queryable, target: Queryable, clientId: Uuid): Promise<void> {
  await target.query(
    'create temporary table moved_searches (source integer primary key, target integer) on commit drop',
  );
  const { rows } = await source.query<{ number: number; id: Uuid }>(
    'select number, id from searches where client_id = $1',
    [clientId],
  );
  await target.query(
    `insert into moved_searches
     select copied.number, searches.number from unnest($1::integer[], $2::uuid[]) as copied(number, id) join searches using (id)`,
    [rows.map(({ number }) => number), rows.map(({ id }) => id)],
  );
  await target.query('analyze moved_searches');
}

const NUMBERED = 'join moved_searches on source = copied.search_number';
const SEARCH_NUMBER = { search_number: 'target' };
/** Of another cell's number. */
function numbered(table: string, rows: string, pageRows = ROWS_PER_PAGE): TableCopy {
  return { table, rows, joins: NUMBERED, columns: SEARCH_NUMBER, pageRows };
}

/** Matches and deliveries. The client's numbers are searches_client's; deliveries and items of e-mails are found by them. */
function historyOf(clientId: Uuid): readonly TableCopy[] {
  const numbers = `(select number from searches where client_id = '${clientId}')`;
  const ofSearches = (table: string): string => `select * from ${table} where search_number in ${numbers}`;
  const fedIds = `(select unnest(ids) from feed_batches where client_id = '${clientId}')`;
  return [
    numbered('matches', ofSearches('matches')),
    { ...numbered('search_changes', `${ofSearches('search_changes')} order by id`), without: ['id'] },
    numbered('deliveries', ofSearches('deliveries'), LARGE_ROWS_PER_PAGE),
    {
      // Of an inactive search nothing is claimed (delivery-claims.ts).
      ...numbered(
        'open_deliveries',
        `select * from open_deliveries where id in (select id from deliveries where search_number in ${numbers})`,
      ),
      columns: { ...SEARCH_NUMBER, claimed_by: 'null' },
    },
    {
      table: 'endings',
      rows: `select * from endings where delivery_id in (select id from deliveries where search_number in ${numbers})`,
      pageRows: ROWS_PER_PAGE,
    },
    {
      ...numbered('mail_items', ofSearches('mail_items'), LARGE_ROWS_PER_PAGE),
      columns: {
        ...SEARCH_NUMBER,
        due_at: `case when copied.state in ${OPEN} then copied.due_at + ${ASLEEP} else copied.due_at end`,
      },
    },
    {
      table: 'attempts',
      rows: `select * from attempts where delivery_id in (
        select id from deliveries where search_number in ${numbers}
        union all select id from mail_items where search_number in ${numbers})`,
      pageRows: ROWS_PER_PAGE,
    },
    numbered('feed_items', `select * from feed_items where id in ${fedIds}`, LARGE_ROWS_PER_PAGE),
    fedBatches(clientId),
  ];
}

function restOf(clientId: Uuid): readonly TableCopy[] {
  const byClient = (table: string): string => `select * from ${table} where client_id = '${clientId}'`;
  const recipients = `(select key from mail_recipients where client_id = '${clientId}')`;
  const recoveries = `(select id from recoveries where client_id = '${clientId}')`;
  return [
    {
      table: 'endpoints',
      rows: `select * from endpoints
        where length(key) = 32 and substr(key, 17, 8) = right('${clientId}', 8)`,
      pageRows: ROWS_PER_PAGE,
    },
    {
      table: 'mail_recipients',
      rows: byClient('mail_recipients'),
      onConflict: '(key) do update set ALL',
      pageRows: ROWS_PER_PAGE,
    },
    { table: 'mail_clients', rows: byClient('mail_clients'), onConflict: '(client_id) do update set ALL', pageRows: 1 },
    {
      table: 'mail_tokens',
      rows: `select * from mail_tokens where recipient_key in ${recipients}`,
      pageRows: ROWS_PER_PAGE,
    },
    { table: 'idempotency_keys', rows: byClient('idempotency_keys'), pageRows: ROWS_PER_PAGE },
    {
      ...numbered('recoveries', byClient('recoveries')),
      joins: 'left join moved_searches on source = copied.search_number',
    },
    {
      table: 'recovery_items',
      rows: `select * from recovery_items where recovery_id in ${recoveries}`,
      pageRows: ROWS_PER_PAGE,
    },
  ];
}

/**
 * Copied in advance: the documents recorded until a minute ago, which no longer change. Resolves with the
 * moment in PostgreSQL's text. References to a document that retention removes meanwhile are removed too.
 */
export async function copySnapshots(
  source: Database,
  target: Database,
  clientId: Uuid,
  onRows: (count: number) => void,
): Promise<string> {
  const { rows } = await source.query<{ before: string }>(
    `select (clock_timestamp() - interval '1 minute')::text as before`,
  );
  const { before } = rows[0] as { before: string };
  await transaction(target, async (into) => {
    await into.query(WAITS_FOR_ANOTHER);
    await transaction(source, async (from) => {
      await from.query(`set transaction isolation level repeatable read, read only; ${WAITS_FOR_ANOTHER}`);
      await copyTable(from, into, snapshotsOf(clientId, `created_at < '${before}'`), onRows);
    });
  });
  return before;
}

function snapshotsOf(clientId: Uuid, condition: string): TableCopy {
  return {
    table: 'snapshots',
    rows: `select * from snapshots where ${condition} and id in (
      select snapshot_id from deliveries where search_number in (select number from searches where client_id = '${clientId}')
      union select snapshot_id from feed_items where id in (
        select unnest(ids) from feed_batches where client_id = '${clientId}'))`,
    pageRows: LARGE_ROWS_PER_PAGE,
  };
}

/**
 * The past items of a feed, in order, in batches large enough to be few. Their numbers do not refer to the transactions
 * that recorded them, which another cluster has numbered.
 */
function fedBatches(clientId: Uuid): TableCopy {
  return {
    table: 'feed_batches',
    rows: `
      with entries as (
        select epoch, recorded_in, created_at, entry.id, entry.search_number,
          row_number() over (order by epoch, recorded_in, entry.id) - 1 as place, count(*) over () as total
        from feed_batches, unnest(ids, search_numbers) as entry(id, search_number) where client_id = '${clientId}'
      ), placed as (
        select *, place / greatest(${FED_BATCH_MIN}, total / ${FED_BATCHES_MAX} + 1) + 1 as batch from entries
      )
      select '${clientId}' as client_id, 0 as epoch, batch::text as recorded_in, array_agg(id order by id) as ids,
        array_agg(search_number order by id) as search_numbers, max(created_at) as created_at
      from placed group by batch order by batch`,
    columns: {
      search_numbers: `array(
        select coalesce(target, 0) from unnest(copied.search_numbers) with ordinality as numbered(source, place)
        left join moved_searches using (source) order by place)`,
    },
    pageRows: 10,
  };
}

/** Makes everything of an inactive client due as it was. For the transaction that activates it. */
export async function wakeCopy(client: Queryable, clientId: Uuid): Promise<void> {
  await asMigration(client, clientId);
  const numbers = '(select number from searches where client_id = $1)';
  await client.query(
    `update searches set deleted_at = null, revision = pg_current_xact_id()
     where client_id = $1 and deleted_at = 'infinity'`,
    [clientId],
  );
  // Which members count, says migration 0004.
  await client.query(
    `insert into search_totals
     select client_id, 0, count(*)::integer,
       coalesce(sum(case when members -> 'geoShapes' is not null then polygon_corners_of(members) end), 0)::integer,
       coalesce(sum(case when members -> 'expressions' is not null then excluded_words_of(members) end), 0)::integer,
       sum(matches_per_mille)
     from searches where client_id = $1 and deleted_at is null group by client_id
     on conflict (client_id, shard) do update set searches = excluded.searches,
       polygon_corners = excluded.polygon_corners, excluded_words = excluded.excluded_words,
       matches_per_mille = excluded.matches_per_mille`,
    [clientId],
  );
  await client.query(
    `update mail_items set due_at = due_at - ${ASLEEP} where search_number in ${numbers} and state in ${OPEN}`,
    [clientId],
  );
}

const ROWS_PER_STATEMENT = 1_000;

/**
 * Removes everything that a cell has of a client that does not live there, except its location: the client, its keys,
 * the prefixes of links to unsubscribe, and searches, which retention removes. Each statement is a transaction of its
 * own.
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
