/**
 * A new cell begins with what another one has recorded of the adverts: properties with their events and summaries, and the
 * places and categories that they are judged by. All of it is one snapshot of the other database and one transaction of
 * the new one. The position in the stream is part of both, so nothing is missed and what is met twice changes nothing.
 */

import { type Database, type Queryable, transaction } from '../../engine/store/database.ts';
import { LEADER_LOCK } from '../../engine/store/intake-leader.ts';
import {
  type KeptPosition,
  noteReach,
  type RecordedPosition,
  readIntakePosition,
} from '../../engine/store/intake-position.ts';
import { copyTable, type TableCopy, WAITS_FOR_ANOTHER } from './table-copy.ts';

/** Why a cell cannot be filled, or filled from. */
export class CellFillError extends Error {
  readonly code = 'CELL_FILL_REFUSED';
  readonly side: 'source' | 'target';

  constructor(side: CellFillError['side'], reason: string) {
    super(reason);
    this.side = side;
  }
}

type FilledPosition = RecordedPosition & Pick<KeptPosition, 'stream' | 'reach'>;

export interface CellFill {
  /** Where the copy ended. */
  readonly position: FilledPosition;
  readonly properties: number;
  /** False when it had been filled before. */
  readonly isFilledNow: boolean;
}

/** A state has up to 8 MiB. */
const PROPERTIES_PER_PAGE = 32;
const ROWS_PER_PAGE = 2_000;

/** In an order that triggers and references allow. */
const COPIES: readonly TableCopy[] = [
  { table: 'site_categories', pageRows: ROWS_PER_PAGE },
  { table: 'commune_coordinates', pageRows: ROWS_PER_PAGE },
  { table: 'points_of_interest_sources', pageRows: ROWS_PER_PAGE },
  { table: 'points_of_interest', pageRows: ROWS_PER_PAGE },
  { table: 'market_medians', pageRows: ROWS_PER_PAGE },
  { table: 'properties', pageRows: PROPERTIES_PER_PAGE },
  { table: 'property_summaries', pageRows: ROWS_PER_PAGE },
  { table: 'events', pageRows: ROWS_PER_PAGE },
];

export const FILLED_TABLES: readonly string[] = COPIES.map(({ table }) => table);

/** What a new database has of them already, or a daemon that did not take adverts in has written. */
const EMPTIED = [...COPIES].reverse().map(({ table }) => `delete from ${table}`);
/** What counts on behind the copied numbers, and revisions, which are numbers of this database's transactions. */
const CONTINUED = [
  `select setval(pg_get_serial_sequence('site_categories', 'id'), (select max(id) from site_categories))`,
  `select setval(pg_get_serial_sequence('points_of_interest_sources', 'id'), (select max(id) from points_of_interest_sources))`,
  `select setval(pg_get_serial_sequence('events', 'id'), (select max(id) from events))`,
  'update points_of_interest_sources set revision = pg_current_xact_id()',
  'update commune_coordinates set revision = pg_current_xact_id()',
];

/**
 * All or nothing: throws `CellFillError`, and whatever else breaks it off, without a trace. Nobody can begin to take
 * adverts in at the target meanwhile. `onRows`: called with the rows copied, and of about how many there are.
 */
export async function fillFrom(
  source: Database,
  target: Database,
  onRows: (copied: number, total: number) => void,
): Promise<CellFill> {
  return transaction(target, async (into) => {
    await into.query(WAITS_FOR_ANOTHER);
    const filled = await lockUnused(into);
    if (filled !== null) return filled;
    return transaction(source, async (from) => {
      await from.query(`set transaction isolation level repeatable read, read only; ${WAITS_FOR_ANOTHER}`);
      const position = await readPosition(from);
      if (position === null) throw new CellFillError('source', 'it has not recorded any advert');
      const total = await readRowCount(from);
      let copied = 0;
      for (const statement of EMPTIED) await into.query(statement);
      for (const copy of COPIES) {
        await copyTable(from, into, copy, (count) => {
          copied += count;
          onRows(copied, Math.max(total, copied));
        });
      }
      for (const statement of CONTINUED) await into.query(statement);
      const { sequence, storedAt, stream, reach } = position;
      await into.query(
        'update intake_position set sequence = $1, stored_at = $2, stream_number = $3, stream_created = $4',
        [sequence, storedAt, stream.number, stream.createdAt],
      );
      if (reach !== null) {
        const { text, values } = noteReach(stream.number, reach);
        await into.query(text, [...values]);
      }
      return { position, properties: await countProperties(into), isFilledNow: true };
    });
  });
}

/** What it was filled with before, null when it is empty. Its lead is held until the transaction ends. */
async function lockUnused(target: Queryable): Promise<CellFill | null> {
  const { rows } = await target.query<{ isFree: boolean }>(
    `select pg_try_advisory_xact_lock(${LEADER_LOCK}) as "isFree"`,
  );
  if (rows[0]?.isFree !== true)
    throw new CellFillError('target', 'a daemon takes adverts in there, or another command fills it');
  const { rows: leads } = await target.query<{ term: string }>('select term from intake_leader');
  if (leads[0]?.term !== '0')
    throw new CellFillError('target', 'it has taken adverts in by itself: only a new cell can be filled');
  const position = await readPosition(target);
  if (position === null) return null;
  return { position, properties: await countProperties(target), isFilledNow: false };
}

/** Null before the first advert. */
async function readPosition(client: Queryable): Promise<FilledPosition | null> {
  const { recorded, stream, reach } = await readIntakePosition(client);
  return recorded.sequence === 0 ? null : { ...recorded, stream, reach };
}

async function countProperties(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ count: number }>('select count(*)::integer as count from properties');
  return (rows[0] as { count: number }).count;
}

/** As PostgreSQL estimates it. */
async function readRowCount(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select coalesce(sum(greatest(reltuples, 0)), 0)::float8 as count from pg_class where oid = any($1::regclass[])`,
    [FILLED_TABLES],
  );
  return (rows[0] as { count: number }).count;
}
