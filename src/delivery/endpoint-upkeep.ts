/**
 * Once a second, what the courier and the table of endpoints must tell each other: how endpoints have been answering,
 * which ones an operator has paused, and for which ones PostgreSQL holds parked deliveries, put there by whomever.
 */

import { startTask } from '../actor/task.ts';
import { urlKeyOfKey } from '../domain/endpoint.ts';
import type { Database } from '../store/database.ts';
import { readParkedEndpoints } from '../store/deliveries.ts';
import { readPausedEndpoints, readRememberedEndpoints, recordObservations } from '../store/endpoints.ts';
import type { FairRound } from '../webhooks/fair-round.ts';
import type { WaitingDelivery } from './attempts.ts';
import type { Followers } from './followers.ts';

export interface UpkeepDependencies {
  readonly database: Database;
  readonly round: FairRound<WaitingDelivery>;
  readonly followers: Pick<Followers, 'takeOlder'>;
  readonly park: (waiting: WaitingDelivery) => Promise<void>;
  readonly pump: () => void;
  readonly onTrouble: (what: string, error: Error) => void;
}

export interface EndpointUpkeep {
  stop(): Promise<void>;
  /** What has been seen since the last write. */
  writeLast(): Promise<void>;
}

const UPKEEP_EVERY_MS = 1_000;
const REMEMBERED_MAX = 10_000;
/** Half of JetStream's `ack_wait`: what has waited so long in memory waits better in the table. */
const WAITED_MAX_MS = 45_000;

/** Resolves when the round knows what earlier processes knew. */
export async function startEndpointUpkeep(dependencies: UpkeepDependencies): Promise<EndpointUpkeep> {
  const { database, round, pump, onTrouble } = dependencies;
  for (const endpoint of await readRememberedEndpoints(database, REMEMBERED_MAX)) {
    round.lane(endpoint.key).remember(endpoint);
  }
  await followTable(dependencies);

  async function look(): Promise<void> {
    try {
      await writeObservations(dependencies);
      await followTable(dependencies);
      await parkLongWaiting(dependencies);
    } finally {
      round.forgetIdle();
      pump();
    }
  }

  const task = startTask({ what: 'endpoint upkeep', everyMs: UPKEEP_EVERY_MS, work: look, onTrouble });
  return {
    stop: task.stop,
    writeLast: () => writeObservations(dependencies).catch((error: Error) => onTrouble('endpoint upkeep', error)),
  };
}

/** What a failed write loses are a second's counts; the attempts themselves are logged. */
async function writeObservations({ database, round }: UpkeepDependencies): Promise<void> {
  const observed = [...round.lanes()].flatMap((lane) => lane.takeObservation() ?? []);
  await recordObservations(database, observed);
}

/** A pause of a URL holds for the lanes of all clients that name it. */
async function followTable({ database, round, park }: UpkeepDependencies): Promise<void> {
  const paused = new Set(await readPausedEndpoints(database));
  const parked = await readParkedEndpoints(database);
  for (const key of [...paused, ...parked]) round.lane(key);
  for (const lane of round.lanes()) {
    const isPaused = paused.has(lane.key) || paused.has(urlKeyOfKey(lane.key));
    if (lane.isPaused !== isPaused) round.setPaused(lane.key, isPaused);
    if (isPaused) for (const waiting of round.empty(lane)) await park(waiting);
  }
  for (const key of parked) round.noteParked(key);
}

async function parkLongWaiting({ round, followers, park }: UpkeepDependencies): Promise<void> {
  const since = performance.now() - WAITED_MAX_MS;
  for (const waiting of followers.takeOlder(since)) await park(waiting);
  for (const lane of round.lanes()) {
    if (lane.oldest !== null && lane.oldest.admittedAt < since) {
      for (const waiting of round.empty(lane)) await park(waiting);
    }
  }
}
