/**
 * From a client that lives in one cell to one that has left it and sleeps in another (store/client-move.ts). Whatever
 * breaks it off before that, the client stays where it was.
 */

import { startTask } from '../../engine/actor/task.ts';
import { pause } from '../../engine/actor/waiting.ts';
import { announceKeyChange } from '../../engine/broker/announcements.ts';
import { ADVERTS_STREAM } from '../../engine/broker/topology.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import { copyClient, copySnapshots, countOpen } from '../../engine/store/client-copy.ts';
import {
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
} from '../../engine/store/client-move.ts';
import { removeCopy } from '../../engine/store/client-removal.ts';
import { transaction } from '../../engine/store/database.ts';
import { WAITS_FOR_ANOTHER } from '../../engine/store/table-copy.ts';
import { type Progress, startProgress } from '../progress.ts';
import { InterruptedError } from '../stop-signal.ts';
import { CommandError } from '../terminal.ts';
import { type MovedClient, type ReachedCell, tellCells } from './client-location.ts';

const RENEW_EVERY_MS = 3_000;
const LOOK_EVERY_MS = 200;
/** A cell further behind is let catch up first. */
const PACE_MAX_MS = 20_000;
/** An attempt's time, and that of recording it. */
const ATTEMPTS_MAX_MS = 60_000;

/** Throws `CommandError` when it is not possible, or not now. */
export async function travel(
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
    // Where a server is away, it lapses by itself.
    await letGo([source, target], source, client).catch(() => undefined);
    if (!(error instanceof MoveLapsedError)) throw error;
    throw new CommandError(`${client.name} was not moved, and is where it was: ${error.message}`, { cause: error });
  } finally {
    progress.end();
  }
}

interface TravelOptions {
  readonly progress: Progress;
  readonly stopping: AbortSignal;
}

/** Most of the bytes, which change no more: the cells need not stand still for them. */
async function copyAhead(
  source: ReachedCell,
  target: ReachedCell,
  { id, name }: MovedClient,
  { progress, stopping }: TravelOptions,
): Promise<string> {
  let copied = 0;
  return copySnapshots(source.database, target.database, id, (count) => {
    if (stopping.aborted) throw new InterruptedError(stopping, `${name} is where it was`);
    copied += count;
    progress.tell({ doing: `documents of ${name} to ${target.name}`, count: copied, share: null });
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

/** Renewing meanwhile what has been agreed on, so that it lapses with this process alone. */
async function underHold(
  source: ReachedCell,
  target: ReachedCell,
  client: MovedClient,
  { copiedBefore, progress, stopping }: TravelOptions & { readonly copiedBefore: string },
): Promise<void> {
  const { id, name } = client;
  await closeClient(source.database, id);
  announceKeyChange(source.broker);
  let lapsed: Error | null = null;
  const renew = async (): Promise<void> => {
    await renewClosing(source.database, id);
    await Promise.all([source, target].map(({ database }) => renewHold(database, id)));
    await putOff(source.database, id);
  };
  const onTrouble = (_: string, error: Error): void => {
    lapsed = error;
  };
  const renewing = startTask({ what: 'move', everyMs: RENEW_EVERY_MS, work: renew, onTrouble });
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
          progress.tell({ doing: `${name} to ${target.name}`, count: copied, share: null });
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
  for (const deadline = performance.now() + PACE_MAX_MS; ; await pause(LOOK_EVERY_MS)) {
    goOn();
    const { recordedUpTo } = await readPace(database);
    if (recordedUpTo >= behind) return;
    if (performance.now() > deadline) {
      throw new MoveLapsedError(`${name} is ${behind - recordedUpTo} messages behind: let it catch up`);
    }
  }
}

/** What is being sent ends by itself, within an attempt's time. */
async function untilStill({ database }: ReachedCell, id: Uuid, goOn: () => void): Promise<void> {
  for (const deadline = performance.now() + ATTEMPTS_MAX_MS; ; await pause(LOOK_EVERY_MS)) {
    goOn();
    if ((await putOff(database, id)) === 0) return;
    if (performance.now() > deadline) throw new MoveLapsedError('attempts of it do not end');
  }
}

/** Unless it has left: then the target goes on with the move alone. */
export async function letGo(cells: readonly ReachedCell[], source: ReachedCell, { id }: MovedClient): Promise<void> {
  const standings = await findStandings(source.database, id);
  if (standings[0]?.movedTo !== null) return;
  for (const { database } of cells) await releaseHold(database, id);
  await reopenClient(source.database, id);
  await tellCells(cells);
}
