/**
 * `vigie cells move`: moves a client from its cell to another one (client-move.ts has the steps). Interrupted at any
 * point, the same command continues or restarts, and `--back` undoes what is not decided yet.
 */

import { UsageError } from '../../cli/command.ts';
import { type Progress, startProgress } from '../../cli/progress.ts';
import { CommandError, InterruptedError, print } from '../../cli/terminal.ts';
import type { Config } from '../../config.ts';
import { startTask } from '../../engine/actor/task.ts';
import { pause } from '../../engine/actor/waiting.ts';
import { announceChange } from '../../engine/broker/announcements.ts';
import { type Broker, connectBroker } from '../../engine/broker/connection.ts';
import { ADVERTS_STREAM } from '../../engine/broker/topology.ts';
import { UNNAMED_CELL } from '../../engine/domain/cell.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import { transaction } from '../../engine/store/database.ts';
import { cellNamed, type OpenCell, readCells, withCells, writeMap } from './cell-list.ts';
import { copyClient, copySnapshots, countOpen, removeCopy } from './client-copy.ts';
import {
  activateClient,
  type ClientStanding,
  closeClient,
  findStandings,
  holdCells,
  holdForGood,
  leave,
  MoveLapsedError,
  putOff,
  readObstacle,
  readPace,
  releaseHold,
  renewClosing,
  renewHold,
  reopenClient,
} from './client-move.ts';
import { WAITS_FOR_ANOTHER } from './table-copy.ts';

export interface MoveOptions {
  /** A name or an id. */
  readonly client: string;
  readonly to: string;
  readonly isBack: boolean;
  readonly cellsFile: string;
  /** The file for the map; empty writes none. */
  readonly map: string;
}

/** Throws `CommandError` and `UsageError`. */
export async function moveClient(config: Config, options: MoveOptions, stopping: AbortSignal): Promise<void> {
  const { client, to, isBack, map } = options;
  if (isBack === (to !== '')) throw new UsageError('cells move needs --to CELL, or --back');
  const cells = await readCells(options.cellsFile);
  if (!isBack) cellNamed(cells, to);
  await withCells(cells, (opened) =>
    withBrokers(config, opened, async (reached) => {
      const found = await find(reached, client);
      const unlock = await lockMove(reached, found.client);
      try {
        // Read again: another command may have ended just now.
        const { home, client: moved } = await find(reached, found.client.id);
        if (isBack) await takeBack(reached, home, moved);
        else await bring(reached, home, reached.find(({ name }) => name === to) as ReachedCell, moved, stopping);
        if (map !== '') await writeMap(opened, map);
        if (!isBack) await forgetElsewhere(reached, to, moved);
      } finally {
        await unlock();
      }
    }),
  );
}

async function bring(
  cells: readonly ReachedCell[],
  home: ReachedCell | null,
  target: ReachedCell,
  client: MovedClient,
  stopping: AbortSignal,
): Promise<void> {
  if (home === null) {
    // An interrupted command has decided the move: it can only go to one cell.
    const { rows } = await target.database.query('select from clients where id = $1 and moved_to is not null', [
      client.id,
    ]);
    const left = await findLeft(cells, client.id);
    if (rows.length === 0 || left !== target.name)
      throw new CommandError(`${client.name} is moving to ${left}: repeat that`);
  } else if (home !== target) {
    await moveRows(home, target, client, stopping);
  }
  const isActivated = await activateClient(target.database, client.id);
  await notifyCells(cells);
  print(isActivated ? `${client.name} is in ${target.name}` : `${client.name} was in ${target.name} already`);
}

async function takeBack(cells: readonly ReachedCell[], home: ReachedCell | null, client: MovedClient): Promise<void> {
  if (home === null) {
    const to = await findLeft(cells, client.id);
    throw new CommandError(`${client.name} has left already: vigie cells move ${client.name} --to ${to} ends it`);
  }
  await letGo(cells, home, client);
  await forgetElsewhere(cells, home.name, client);
  print(`${client.name} is in ${home.name}`);
}

async function forgetElsewhere(cells: readonly ReachedCell[], home: string, { id }: MovedClient): Promise<void> {
  for (const { name, database } of cells) if (name !== home) await removeCopy(database, id);
}

const RENEW_EVERY_MS = 3_000;
const CHECK_EVERY_MS = 200;
/** A cell that is further behind catches up first. */
const PACE_MAX_MS = 20_000;
/** An attempt's time, and that of recording it. */
const ATTEMPTS_MAX_MS = 60_000;

/**
 * Moves a client from its cell to another one, where it stays inactive for now (client-move.ts). If anything interrupts
 * the move before, the client stays where it was. Throws `CommandError` when the move is not possible, or not now.
 */
async function moveRows(
  source: ReachedCell,
  target: ReachedCell,
  client: MovedClient,
  stopping: AbortSignal,
): Promise<void> {
  const obstacle = await readObstacle(source.database, target.database, client.id);
  if (obstacle !== null) throw new CommandError(`${client.name} cannot be moved: ${obstacle}`);
  await assertLed([source, target]);
  const progress = startProgress(`${client.name} to ${target.name}`, 'rows');
  try {
    await removeCopy(target.database, client.id);
    const copiedBefore = await copyAhead(source, target, client, { progress, stopping });
    await hold(source, target, client);
    await underHold(source, target, client, { copiedBefore, progress, stopping });
  } catch (error) {
    // Where a server is away, the hold expires by itself.
    await letGo([source, target], source, client).catch(() => undefined);
    if (!(error instanceof MoveLapsedError)) throw error;
    throw new CommandError(`${client.name} was not moved, and is where it was: ${error.message}`, { cause: error });
  } finally {
    progress.end();
  }
}

interface MovingOptions {
  readonly progress: Progress;
  readonly stopping: AbortSignal;
}

/** Most of the bytes, which no longer change: the cells need not pause for them. */
async function copyAhead(
  source: ReachedCell,
  target: ReachedCell,
  { id, name }: MovedClient,
  { progress, stopping }: MovingOptions,
): Promise<string> {
  let copied = 0;
  return copySnapshots(source.database, target.database, id, (count) => {
    if (stopping.aborted) throw new InterruptedError(stopping, `${name} is where it was`);
    copied += count;
    progress.update({ doing: `documents of ${name} to ${target.name}`, count: copied, share: null });
  });
}

async function assertLed(cells: readonly ReachedCell[]): Promise<void> {
  for (const { name, database } of cells) {
    const { isLed } = await readPace(database);
    if (!isLed) throw new CommandError(`nobody takes adverts in at ${name}: start its daemons`);
  }
}

async function hold(source: ReachedCell, target: ReachedCell, { id }: MovedClient): Promise<number> {
  const inOrder = [source, target].sort((one, other) => (one.name < other.name ? -1 : 1));
  return holdCells(
    inOrder.map(({ database }) => database),
    id,
    async () => (await source.broker.manager.streams.info(ADVERTS_STREAM)).state.last_seq,
  );
}

/** Renews the hold and the closing meanwhile, so that they expire only with this process. */
async function underHold(
  source: ReachedCell,
  target: ReachedCell,
  client: MovedClient,
  { copiedBefore, progress, stopping }: MovingOptions & { readonly copiedBefore: string },
): Promise<void> {
  const { id, name } = client;
  await closeClient(source.database, id);
  announceChange(source.broker, 'keys');
  let lapsed: Error | null = null;
  const renew = async (): Promise<void> => {
    await renewClosing(source.database, id);
    await Promise.all([source, target].map(({ database }) => renewHold(database, id)));
    await putOff(source.database, id);
  };
  const onTransientError = (_: string, error: Error): void => {
    lapsed = error;
  };
  const renewing = startTask({ what: 'move', everyMs: RENEW_EVERY_MS, work: renew, onTransientError });
  let openCount = 0;
  const goOn = (): void => {
    if (stopping.aborted) throw new InterruptedError(stopping, `${name} is where it was`);
    if (lapsed instanceof MoveLapsedError) throw lapsed;
  };
  try {
    const { rows } = await source.database.query<{ behind: string }>('select held_behind as behind from intake_leader');
    const behind = Number(rows[0]?.behind ?? 0);
    for (const cell of [source, target]) await untilRecorded(cell, behind, goOn);
    await untilStill(source, id, goOn);
    let copied = 0;
    openCount = await transaction(target.database, async (into) => {
      await into.query(WAITS_FOR_ANOTHER);
      await transaction(source.database, async (from) => {
        await from.query(`set transaction isolation level repeatable read, read only; ${WAITS_FOR_ANOTHER}`);
        await copyClient(from, into, { clientId: id, home: source.name, copiedBefore }, (count) => {
          goOn();
          copied += count;
          progress.update({ doing: `${name} to ${target.name}`, count: copied, share: null });
        });
      });
      goOn();
      await holdForGood(into, id);
      return countOpen(into, id);
    });
  } finally {
    await renewing.stop();
  }
  await leave(source.database, id, target.name, openCount);
}

async function untilRecorded({ name, database }: ReachedCell, behind: number, goOn: () => void): Promise<void> {
  for (const deadline = performance.now() + PACE_MAX_MS; ; await pause(CHECK_EVERY_MS)) {
    goOn();
    const { recordedUpTo } = await readPace(database);
    if (recordedUpTo >= behind) return;
    if (performance.now() > deadline) {
      throw new MoveLapsedError(`${name} is ${behind - recordedUpTo} messages behind: let it catch up`);
    }
  }
}

/** Attempts under way end by themselves, within the time limit of an attempt. */
async function untilStill({ database }: ReachedCell, id: Uuid, goOn: () => void): Promise<void> {
  for (const deadline = performance.now() + ATTEMPTS_MAX_MS; ; await pause(CHECK_EVERY_MS)) {
    goOn();
    if ((await putOff(database, id)) === 0) return;
    if (performance.now() > deadline) throw new MoveLapsedError('attempts of it do not end');
  }
}

/** Unless the client has left: then only the completed move releases the target. */
async function letGo(cells: readonly ReachedCell[], source: ReachedCell, { id }: MovedClient): Promise<void> {
  const standings = await findStandings(source.database, id);
  if (standings[0]?.movedTo !== null) return;
  for (const { database } of cells) await releaseHold(database, id);
  await reopenClient(source.database, id);
  await notifyCells(cells);
}

/** A cell with its streams on NATS. */
interface ReachedCell extends OpenCell {
  readonly broker: Broker;
}

type MovedClient = Pick<ClientStanding, 'id' | 'name'>;

interface ClientLocation {
  readonly client: MovedClient;
  /** Null while it has left one cell and was not activated in the other. */
  readonly home: ReachedCell | null;
}

async function withBrokers<T>(
  { natsUrl: url, natsReplicas: replicas }: Config,
  cells: readonly OpenCell[],
  work: (reached: readonly ReachedCell[]) => Promise<T>,
): Promise<T> {
  if (url === null) throw new CommandError('NATS_URL is not set: the NATS that the cells share');
  const reached: ReachedCell[] = [];
  try {
    for (const cell of cells) {
      const named = cell.name === UNNAMED_CELL ? null : cell.name;
      const options = { url, replicas, cell: named, name: 'vigie command', onStatus: () => undefined };
      reached.push({ ...cell, broker: await connectBroker(options) });
    }
    return await work(reached);
  } finally {
    await Promise.all(reached.map(({ broker }) => broker.close()));
  }
}

/** Throws `CommandError` when there is no such client. */
async function find(cells: readonly ReachedCell[], nameOrId: string): Promise<ClientLocation> {
  let known: ClientStanding | null = null;
  let home: ReachedCell | null = null;
  for (const cell of cells) {
    const [standing, another] = await findStandings(cell.database, nameOrId);
    if (standing === undefined) continue;
    if (another !== undefined || (known !== null && known.id !== standing.id)) {
      throw new CommandError(`several clients are called ${nameOrId}: say which by its id`);
    }
    known = standing;
    if (standing.movedTo !== null) continue;
    if (home !== null) throw livesTwice(standing.name, [home.name, cell.name]);
    home = cell;
  }
  if (known === null) throw new CommandError(`no cell has a client ${nameOrId}`);
  return { client: known, home };
}

/** A cell was restored to a state before the client left. */
function livesTwice(client: string, cells: readonly string[]): CommandError {
  return new CommandError(
    `${client} lives in ${cells.join(' and ')}: delete it where it is from a backup (admin clients delete)`,
  );
}

/**
 * Locks the client in every cell, so that one command at a time moves it, wherever to. Resolves with a function that
 * releases the locks.
 */
async function lockMove(cells: readonly ReachedCell[], { id, name }: MovedClient): Promise<() => Promise<void>> {
  const unlocks: (() => void)[] = [];
  const unlock = async (): Promise<void> => {
    for (const end of unlocks) end();
  };
  for (const { database } of cells) {
    const session = await database.connect();
    // Closed, not returned to the pool: the lock ends with the session.
    unlocks.push(() => session.release(true));
    const { rows } = await session.query<{ isFree: boolean }>(
      `select pg_try_advisory_lock(hashtextextended('vigie move ' || $1, 0)) as "isFree"`,
      [id],
    );
    if (rows[0]?.isFree === true) continue;
    await unlock();
    throw new CommandError(`${name} is being moved by another command`);
  }
  return unlock;
}

/** The cell that the client has left its former one for. */
async function findLeft(cells: readonly ReachedCell[], id: Uuid): Promise<string> {
  const heads: string[] = [];
  for (const { name, database } of cells) {
    const { rows } = await database.query<{ held: boolean }>(
      `select coalesce(held_for = $1 and held_until = 'infinity', false) as held from intake_leader`,
      [id],
    );
    if (rows[0]?.held === true) heads.push(name);
  }
  return heads[0] ?? 'no known cell';
}

/** Instances learn of it in any case: of keys and secrets within five seconds, of searches within one. */
async function notifyCells(cells: readonly ReachedCell[]): Promise<void> {
  for (const { broker } of cells) {
    announceChange(broker, 'keys');
    announceChange(broker, 'secrets');
    announceChange(broker, 'searches');
    await broker.connection.flush();
  }
}
