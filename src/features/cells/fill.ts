/**
 * `vigie cells fill`: fills a new cell with the properties of another one; it then continues in the stream after them.
 */

import { UsageError } from '../../cli/command.ts';
import { startProgress } from '../../cli/progress.ts';
import { CommandError, InterruptedError, print } from '../../cli/terminal.ts';
import type { Config } from '../../config.ts';
import { type Broker, connectBroker } from '../../engine/broker/connection.ts';
import { readConsumerPosition, readStoredAt } from '../../engine/broker/stream-position.ts';
import { ADVERTS_STREAM, ensureIntake } from '../../engine/broker/topology.ts';
import { UNNAMED_CELL } from '../../engine/domain/cell.ts';
import { noteCell, readDatabaseLabel } from '../../engine/store/cell.ts';
import { type Database, migrate, openDatabase, type Queryable, transaction } from '../../engine/store/database.ts';
import { LEADER_LOCK } from '../../engine/store/intake-leader.ts';
import {
  type KeptPosition,
  noteReach,
  type RecordedPosition,
  readIntakePosition,
} from '../../engine/store/intake-position.ts';
import { type CellAddress, cellNamed, type OpenCell, readCells, withCells } from './cell-list.ts';
import { copyTable, type TableCopy, WAITS_FOR_ANOTHER } from './table-copy.ts';

export interface FillOptions {
  readonly name: string;
  readonly from: string;
  readonly cellsFile: string;
}

/** Throws `CommandError` and `UsageError`. Running it again completes an interrupted fill. */
export async function fillCell(
  config: Config,
  { name, from, cellsFile }: FillOptions,
  stopping: AbortSignal,
): Promise<void> {
  if (from === '') throw new UsageError('cells fill needs --from CELL');
  const cells = await readCells(cellsFile);
  const [target, source] = [cellNamed(cells, name), cellNamed(cells, from)];
  if (target === source) throw new UsageError('a cell cannot be filled from itself');
  const { natsUrl } = config;
  if (natsUrl === null) throw new CommandError('NATS_URL is not set: the NATS that the cells share');
  await bringUp(target);
  await withCells([target, source], async ([into, out]) => {
    await beginBehind(config, natsUrl, into as OpenCell, out as OpenCell);
    const filled = await fill(into as OpenCell, out as OpenCell, stopping);
    await goOnBehind(config, natsUrl, into as OpenCell, filled.position);
    const { properties, position, isFilledNow } = filled;
    print(
      isFilledNow
        ? `${name} has ${properties} properties, and goes on behind message ${position.sequence} of ${ADVERTS_STREAM}`
        : `${name} had been filled already, with ${properties} properties up to message ${position.sequence}`,
    );
  });
}

/** A cell that has never been started has no tables, and does not state its name. */
async function bringUp({ name, databaseUrl }: CellAddress): Promise<void> {
  await migrate(databaseUrl);
  const database = openDatabase({ url: databaseUrl, connectionsMax: 1, onConnectionLost: () => undefined });
  await noteCell(database, name === UNNAMED_CELL ? null : name).finally(() => database.end());
}

async function fill(target: OpenCell, source: OpenCell, stopping: AbortSignal): Promise<CellFill> {
  const progress = startProgress(`from ${source.name} to ${target.name}`, 'rows');
  try {
    return await fillFrom(source.database, target.database, (copied, total) => {
      if (stopping.aborted) throw new InterruptedError(stopping, 'nothing was copied');
      progress.update({ doing: `from ${source.name} to ${target.name}`, count: copied, share: copied / total });
    });
  } catch (error) {
    if (!(error instanceof CellFillError)) throw error;
    const { name } = error.side === 'source' ? source : target;
    throw new CommandError(`${name}: ${error.message}`, { cause: error });
  } finally {
    progress.end();
  }
}

/** Before the copy: later messages are then not trimmed, however long it takes (broker/stream-position.ts). */
async function beginBehind(config: Config, url: string, target: OpenCell, source: OpenCell): Promise<void> {
  const { recorded } = await readIntakePosition(source.database);
  // The fill is refused, and a durable created now would begin with the oldest message when the fill is repeated.
  if (recorded.sequence === 0) return;
  const broker = await connectAs(config, url, target);
  await ensureIntake(broker, recorded.sequence).finally(() => broker.close());
}

async function connectAs(
  { natsReplicas: replicas }: Config,
  url: string,
  { name, database, databaseUrl }: OpenCell,
): Promise<Broker> {
  const cell = name === UNNAMED_CELL ? null : name;
  const label = await readDatabaseLabel(database, databaseUrl);
  const own = { replicas, cell, database: label };
  return connectBroker({ url, ...own, name: 'vigie command', onStatus: () => undefined });
}

/** Without its durable the cell would begin with the oldest message of the stream: nothing new, and slow. */
async function goOnBehind(config: Config, url: string, target: OpenCell, at: RecordedPosition): Promise<void> {
  const broker = await connectAs(config, url, target);
  try {
    const { state } = await broker.manager.streams.info(ADVERTS_STREAM);
    const storedAt = await readStoredAt(broker, ADVERTS_STREAM, at.sequence);
    if (at.sequence > state.last_seq || (storedAt !== null && storedAt !== at.storedAt)) {
      throw new CommandError(`${ADVERTS_STREAM} on NATS_URL is not the stream that the properties are from`);
    }
    await ensureIntake(broker, at.sequence);
    const { acknowledgedUpTo } = await readConsumerPosition(broker, ADVERTS_STREAM, broker.names.intakeConsumer);
    if (acknowledgedUpTo > at.sequence) {
      throw new CommandError(
        `the consumer ${broker.names.intakeConsumer} is of another cell that was called ${target.name}`,
      );
    }
  } finally {
    await broker.close();
  }
}

/** Why a cell cannot be filled, or cannot be the source. */
class CellFillError extends Error {
  readonly code = 'CELL_FILL_REFUSED';
  readonly side: 'source' | 'target';

  constructor(side: CellFillError['side'], reason: string) {
    super(reason);
    this.side = side;
  }
}

type FilledPosition = RecordedPosition & Pick<KeptPosition, 'stream' | 'reach'>;

interface CellFill {
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

/** Rows that a new database, or a daemon without the lead, has written already. */
const EMPTIED = [...COPIES].reverse().map(({ table }) => `delete from ${table}`);
/** Sequences continue after the copied numbers; revisions become numbers of this database's transactions. */
const CONTINUED = [
  `select setval(pg_get_serial_sequence('site_categories', 'id'), (select max(id) from site_categories))`,
  `select setval(pg_get_serial_sequence('points_of_interest_sources', 'id'), (select max(id) from points_of_interest_sources))`,
  `select setval(pg_get_serial_sequence('events', 'id'), (select max(id) from events))`,
  'update points_of_interest_sources set revision = pg_current_xact_id()',
  'update commune_coordinates set revision = pg_current_xact_id()',
];

/**
 * Copies another cell's recorded adverts into a new cell: properties with their events and summaries, and the places
 * and categories on which their evaluation depends. All of it is one snapshot of the other database and one transaction
 * of the new one. The position in the stream is part of both, so nothing is missed, and messages that are read twice
 * change nothing.
 *
 * All or nothing: throws `CellFillError` or any other error without leaving a trace. No instance can become the
 * target's leader meanwhile. `onRows`: called with the rows copied, and their approximate total.
 */
async function fillFrom(
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

/** What an earlier fill has copied, null when the target is empty. The lead is locked until the transaction ends. */
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
