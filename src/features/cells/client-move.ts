/**
 * The steps of moving a client from its cell to another one, each a transaction of one of the two databases. The rows
 * in `clients` state where a client lives: `moved_to` is null in the client's cell alone.
 *
 * - Both cells are *held* behind one message of `ADVERTS`, the last existing one: each continues to record up to it,
 *   and neither has recorded a later one. So the source has sent everything up to it, and the target sends what comes
 *   after.
 * - The client is *closed* in the source: it can write nothing, and nothing of it is sent.
 * - It is copied and inactive in the target, whose hold has no end from then on.
 * - It *leaves* the source: this decides the move. Until then holds and closings expire by themselves or can be taken
 *   back, except the target's hold after the copy; from then on the move can only be completed, and the target takes in
 *   no adverts before that.
 * - It is *activated* in the target.
 */

import type { Uuid } from '../../engine/domain/ids.ts';
import { passed } from '../../engine/store/claim-fence.ts';
import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import { OPEN } from '../../engine/store/delivery-states.ts';
import { asMigration, wakeCopy } from './client-copy.ts';

/** Holds and closings expire unless they are renewed: a command that has died blocks nothing for longer. */
export const LEASE_MS = 30_000;
const LEASE = `interval '${LEASE_MS} milliseconds'`;
/** Recording transactions take milliseconds; a blocked one is not waited for. */
const LOCK_WAIT = `set local lock_timeout = '10s'`;

/** A hold or closing has expired or belongs to another command: the move must be restarted. Nothing is lost. */
export class MoveLapsedError extends Error {
  readonly code = 'MOVE_LAPSED';
}

/** A client's state in one cell. */
export interface ClientStanding {
  readonly id: Uuid;
  readonly name: string;
  /** Null: it lives in this cell. */
  readonly movedTo: string | null;
}

/** By name or id, living there or not; deleted ones apart. A sequential scan: there are hundreds of clients. */
export async function findStandings(database: Queryable, nameOrId: string): Promise<readonly ClientStanding[]> {
  const { rows } = await database.query<ClientStanding>(
    `select id, name, moved_to as "movedTo" from clients where deleted_at is null and (name = $1 or id::text = lower($1))`,
    [nameOrId],
  );
  return rows;
}

/** Why the client cannot be moved to or from this cell now; null when it can. */
export async function readObstacle(source: Queryable, target: Queryable, clientId: Uuid): Promise<string | null> {
  const { rows: open } = await source.query(
    `select from recoveries where client_id = $1 and state in ('counting', 'running')`,
    [clientId],
  );
  if (open.length > 0) return 'it has a recovery under way: let it end, or stop it';
  const { rows: named } = await target.query<{ name: string }>(
    `select name from clients where name = $1 and id <> $2`,
    [(await readName(source, clientId)) ?? '', clientId],
  );
  if (named[0] !== undefined) return `another client of the target is called ${named[0].name}`;
  const categories = 'select id, name from site_categories order by id';
  const [ours, theirs] = await Promise.all([source, target].map((cell) => readCategories(cell, categories)));
  const missing = [...(ours as Map<number, string>)].find(([id, name]) => theirs?.get(id) !== name);
  if (missing !== undefined) return `the target has no site category ${missing[1]} with the number ${missing[0]}`;
  return null;
}

async function readName(database: Queryable, clientId: Uuid): Promise<string | null> {
  const { rows } = await database.query<{ name: string }>('select name from clients where id = $1', [clientId]);
  return rows[0]?.name ?? null;
}

async function readCategories(database: Queryable, text: string): Promise<Map<number, string>> {
  const { rows } = await database.query<{ id: number; name: string }>(text);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/**
 * Holds both cells behind the message that `lastOf` returns, while neither records anything. Throws `MoveLapsedError`
 * when a move of another client holds one of them. Cells are locked in the given order: the same one for every command.
 */
export async function holdCells(
  cells: readonly Database[],
  clientId: Uuid,
  lastOf: () => Promise<number>,
): Promise<number> {
  const [first, ...others] = cells;
  if (first === undefined) return lastOf();
  return transaction(first, async (client) => {
    await client.query(LOCK_WAIT);
    // Waits for the recording transactions, and delays the next ones. One row.
    const { rows } = await client.query<{ isFree: boolean }>(
      `select coalesce(held_for = $1 or held_until < clock_timestamp(), true) as "isFree" from intake_leader for update`,
      [clientId],
    );
    if (rows[0]?.isFree !== true) throw new MoveLapsedError('another client is being moved');
    const behind = await holdCells(others, clientId, lastOf);
    await client.query(
      `update intake_leader set held_for = $1, held_behind = $2, held_until = clock_timestamp() + ${LEASE}`,
      [clientId, behind],
    );
    return behind;
  });
}

/** Throws `MoveLapsedError` when the hold has ended. One row. */
export async function renewHold(database: Queryable, clientId: Uuid): Promise<void> {
  const { rowCount } = await database.query(
    `update intake_leader set held_until = greatest(held_until, clock_timestamp() + ${LEASE})
     where held_for = $1 and held_until > clock_timestamp()`,
    [clientId],
  );
  if (rowCount !== 1) throw new MoveLapsedError('the hold on a cell has ended');
}

export async function releaseHold(database: Queryable, clientId: Uuid): Promise<void> {
  await database.query(
    'update intake_leader set held_for = null, held_behind = null, held_until = null where held_for = $1',
    [clientId],
  );
}

export interface CellPace {
  /** The last message that is known to be recorded. */
  readonly recordedUpTo: number;
  /** Whether an instance leads the intake. */
  readonly isLed: boolean;
}

/** Both tables have one row. */
export async function readPace(database: Queryable): Promise<CellPace> {
  const { rows } = await database.query<Omit<CellPace, 'recordedUpTo'> & { readonly sequence: string | null }>(
    `select sequence, coalesce(seen_at > clock_timestamp() - interval '10 seconds', false) as "isLed"
     from intake_position, intake_leads`,
  );
  const { sequence, ...rest } = rows[0] as (typeof rows)[number];
  return { recordedUpTo: Number(sequence ?? 0), ...rest };
}

/** Waits for all writes of the client under way. Throws `MoveLapsedError` when it does not live there. */
export async function closeClient(database: Queryable, clientId: Uuid): Promise<void> {
  const { rowCount } = await database.query(
    `update clients set moving_until = clock_timestamp() + ${LEASE} where id = $1 and moved_to is null`,
    [clientId],
  );
  if (rowCount !== 1) throw new MoveLapsedError('the client does not live in the source any more');
}

/** Throws `MoveLapsedError` when the client was open meanwhile. */
export async function renewClosing(database: Queryable, clientId: Uuid): Promise<void> {
  const { rowCount } = await database.query(
    `update clients set moving_until = clock_timestamp() + ${LEASE} where id = $1 and moving_until > clock_timestamp()`,
    [clientId],
  );
  if (rowCount !== 1) throw new MoveLapsedError('the client was open again');
}

const NUMBERS = '(select number from searches where client_id = $1)';

/** The open deliveries of the client. Served by deliveries_search and the primary key. */
const OPEN_WEBHOOKS = `open_deliveries o where o.id in (select id from deliveries where search_number in ${NUMBERS})`;

/**
 * From then on nothing of the closed client is processed: no webhook is claimed, and e-mails are postponed by a lease
 * from now. Resolves with the number of attempts under way.
 */
export async function putOff(database: Queryable, clientId: Uuid): Promise<number> {
  await passed(database);
  // Claims of items check the time under the lock on the row.
  await database.query(
    `with open as materialized (
       select id from mail_items
       where search_number in ${NUMBERS} and state in ('queued', 'retry_wait') and due_at < clock_timestamp() + ${LEASE}
       order by id for update
     )
     update mail_items set due_at = clock_timestamp() + ${LEASE} from open where mail_items.id = open.id
       and state in ('queued', 'retry_wait')`,
    [clientId],
  );
  const { rows } = await database.query<{ count: number }>(
    `select ((select count(*) from ${OPEN_WEBHOOKS} and o.claimed_by is not null)
       + (select count(*) from mail_items where search_number in ${NUMBERS} and state = 'sending'))::integer as count`,
    [clientId],
  );
  return (rows[0] as { count: number }).count;
}

/** For the copy's transaction in the target: its hold ends with the move only. Throws `MoveLapsedError`. */
export async function holdForGood(target: Queryable, clientId: Uuid): Promise<void> {
  const { rowCount } = await target.query(
    `update intake_leader set held_until = 'infinity' where held_for = $1 and held_until > clock_timestamp()`,
    [clientId],
  );
  if (rowCount !== 1) throw new MoveLapsedError('the hold on the target has ended');
}

/**
 * Decides the move. Throws `MoveLapsedError` when the source may have changed something of the client since it was
 * copied: its hold or its closing has expired, one of its deliveries is due or being sent, or the number of open ones
 * is not `openCount`.
 */
export async function leave(source: Database, clientId: Uuid, target: string, openCount: number): Promise<void> {
  await transaction(source, async (client) => {
    await asMigration(client, clientId);
    await client.query(LOCK_WAIT);
    const { rows } = await client.query<{ isHeld: boolean }>(
      `select coalesce(held_for = $1 and held_until > clock_timestamp(), false) as "isHeld" from intake_leader for update`,
      [clientId],
    );
    if (rows[0]?.isHeld !== true) throw new MoveLapsedError('the hold on the source has ended');
    const left = await client.query(
      `update clients set moved_to = $2, moving_until = null
       where id = $1 and moved_to is null and moving_until > clock_timestamp()`,
      [clientId, target],
    );
    if (left.rowCount !== 1) throw new MoveLapsedError('the client was open again');
    await assertStill(client, clientId, openCount);
    await client.query(
      `update searches set deleted_at = clock_timestamp(), revision = pg_current_xact_id()
       where client_id = $1 and deleted_at is null`,
      [clientId],
    );
    await client.query('delete from search_totals where client_id = $1', [clientId]);
    await releaseHold(client, clientId);
  });
}

/** An operator may have resent a delivery meanwhile. Locks the open ones until the client has left. */
async function assertStill(source: Queryable, clientId: Uuid, openCount: number): Promise<void> {
  const { rows: webhooks } = await source.query<{ isStill: boolean }>(
    `select o.claimed_by is null as "isStill" from ${OPEN_WEBHOOKS} order by o.id for update`,
    [clientId],
  );
  const { rows: items } = await source.query<{ isStill: boolean }>(
    `select state <> 'sending' and due_at > clock_timestamp() as "isStill" from mail_items
     where search_number in ${NUMBERS} and state in ${OPEN} order by id for update`,
    [clientId],
  );
  const open = [...webhooks, ...items];
  if (open.some(({ isStill }) => !isStill)) throw new MoveLapsedError('something of the client was sent meanwhile');
  if (open.length !== openCount) throw new MoveLapsedError('something of the client ended meanwhile');
}

/** Completes the move: false when the client is not inactive there, because it was activated before. */
export async function activateClient(target: Database, clientId: Uuid): Promise<boolean> {
  return transaction(target, async (client) => {
    await asMigration(client, clientId);
    const { rowCount } = await client.query(
      `update clients set moved_to = null, moving_until = null, arrived_in = pg_current_xact_id(),
         arrived_epoch = (select sequence_floor from intake_leader)
       where id = $1 and moved_to is not null`,
      [clientId],
    );
    if (rowCount !== 1) return false;
    await wakeCopy(client, clientId);
    await client.query(
      `update intake_leader set search_epoch = search_epoch + 1, held_for = null, held_behind = null, held_until = null
       where held_for = $1`,
      [clientId],
    );
    return true;
  });
}

/** At once, instead of at the end of the lease. */
export async function reopenClient(database: Queryable, clientId: Uuid): Promise<void> {
  await database.query('update clients set moving_until = null where id = $1 and moved_to is null', [clientId]);
}
