/** `vigie cells fill`: a new cell begins with the properties of another one, and goes on in the stream behind them. */

import { UsageError } from '../../cli/command.ts';
import { startProgress } from '../../cli/progress.ts';
import { InterruptedError } from '../../cli/stop-signal.ts';
import { CommandError, print } from '../../cli/terminal.ts';
import type { Config } from '../../config.ts';
import { type Broker, connectBroker } from '../../engine/broker/connection.ts';
import { readConsumerPosition, readStoredAt } from '../../engine/broker/stream-position.ts';
import { ADVERTS_STREAM, ensureIntake } from '../../engine/broker/topology.ts';
import { UNNAMED_CELL } from '../../engine/domain/cell.ts';
import { noteCell, readDatabaseLabel } from '../../engine/store/cell.ts';
import { migrate, openDatabase } from '../../engine/store/database.ts';
import { type RecordedPosition, readIntakePosition } from '../../engine/store/intake-position.ts';
import { type CellFill, CellFillError, fillFrom } from './cell-fill.ts';
import { type CellAddress, cellNamed, type OpenCell, readCells, withCells } from './cell-list.ts';

export interface FillOptions {
  readonly name: string;
  readonly from: string;
  readonly cellsFile: string;
}

/** Throws `CommandError` and `UsageError`. What it has begun it can end when it is asked again. */
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

/** A cell that has never been started has no tables, and does not say which one it is. */
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
      progress.tell({ doing: `from ${source.name} to ${target.name}`, count: copied, share: copied / total });
    });
  } catch (error) {
    if (!(error instanceof CellFillError)) throw error;
    const { name } = error.side === 'source' ? source : target;
    throw new CommandError(`${name}: ${error.message}`, { cause: error });
  } finally {
    progress.end();
  }
}

/** Before the copy: what came meanwhile is not trimmed then, however long it takes (broker/trim.ts). */
async function beginBehind(config: Config, url: string, target: OpenCell, source: OpenCell): Promise<void> {
  const { recorded } = await readIntakePosition(source.database);
  // The fill is refused, and a durable made now would begin with the oldest message when it is asked again.
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

/** Without its durable the cell would begin with the oldest message that the stream holds: nothing new, and slow. */
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
