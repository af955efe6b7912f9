/**
 * Once a second, what a courier and the tables must tell each other: that it lives, and which others do not; how endpoints
 * and searches have been answered; which endpoints an operator has paused.
 */

import { startTask, type Task } from '../actor/task.ts';
import type { DueDelivery } from '../domain/delivery.ts';
import { urlKeyOfKey } from '../domain/endpoint.ts';
import type { SearchNumber } from '../domain/ids.ts';
import { noteAlerts, readAbandoned, type SettledAttempt } from '../store/attempts.ts';
import { beat, registerCourier, removeCouriers } from '../store/couriers.ts';
import { readPausedEndpoints, readRememberedEndpoints, recordObservations } from '../store/endpoints.ts';
import type { DueStore } from './draw.ts';
import type { FairScheduler } from './fair-scheduler.ts';
import type { CourierDependencies, Settlement } from './settle.ts';

const EVERY_MS = 1_000;
const REMEMBERED_MAX = 10_000;
/** Counted for a look that comes late, when it was this process that stood still. */
const LOOK_COUNTED_MAX_MS = 2 * EVERY_MS;
const ABANDONED_PAGE = 1_000;

interface Watched {
  beat: string;
  /** For how long looks have seen the same beat. */
  silentMs: number;
}

/** The rest of the courier. */
export interface UpkeepParts {
  readonly due: DueStore;
  readonly settlement: Settlement;
  readonly pump: () => void;
}

export class CourierMaintenance {
  readonly #dependencies: CourierDependencies;
  readonly #round: FairScheduler<DueDelivery>;
  #number: number;
  #watched = new Map<number, Watched>();
  #lookedAt = performance.now();
  #alerts = new Map<SearchNumber, Date>();
  #task: Task | null = null;

  constructor(dependencies: CourierDependencies, round: FairScheduler<DueDelivery>, number: number) {
    this.#dependencies = dependencies;
    this.#round = round;
    this.#number = number;
  }

  /** Resolves when the round knows what earlier processes knew. */
  static async open(dependencies: CourierDependencies, round: FairScheduler<DueDelivery>): Promise<CourierMaintenance> {
    const { database } = dependencies;
    for (const endpoint of await readRememberedEndpoints(database, REMEMBERED_MAX)) {
      round.lane(endpoint.key).remember(endpoint);
    }
    return new CourierMaintenance(dependencies, round, await registerCourier(database));
  }

  /** The number that claims carry. */
  get number(): number {
    return this.#number;
  }

  /** No other courier is known. */
  get isAlone(): boolean {
    return this.#watched.size <= 1;
  }

  noteAlert({ searchNumber, outcome, after }: SettledAttempt): void {
    if (after.state !== 'delivered') return;
    this.#alerts.set(searchNumber, new Date(outcome.startedAt.getTime() + Math.round(outcome.durationMs)));
  }

  start(parts: UpkeepParts): void {
    const { onTrouble } = this.#dependencies;
    const work = async (): Promise<void> => {
      try {
        await this.#followCouriers(parts.settlement);
        await this.#write();
        await this.#followPauses(parts.due);
      } finally {
        this.#round.forgetIdle();
        parts.pump();
      }
    };
    this.#task = startTask({ what: 'courier upkeep', everyMs: EVERY_MS, isDueAtOnce: true, work, onTrouble });
  }

  async stop(): Promise<void> {
    await this.#task?.stop();
  }

  /** Writes what has been seen since the last write, and that nothing is claimed any more: unless something may be. */
  async end(mayHold: boolean): Promise<void> {
    const { database, onTrouble } = this.#dependencies;
    await this.#write()
      .then(() => (mayHold ? undefined : removeCouriers(database, [this.#number])))
      .catch((error: Error) => onTrouble('courier upkeep', error));
  }

  /** By this process's own clock: no two clocks are compared. */
  async #followCouriers(settlement: Settlement): Promise<void> {
    const { database, attemptTimeoutMs, silentMarginMs = 15_000 } = this.#dependencies;
    const couriers = await beat(database, this.#number);
    const now = performance.now();
    const sinceMs = Math.min(now - this.#lookedAt, LOOK_COUNTED_MAX_MS);
    this.#lookedAt = now;
    this.#watched = new Map(
      couriers.map(({ number, beat: heard }) => {
        const before = this.#watched.get(number);
        return [number, { beat: heard, silentMs: before?.beat === heard ? before.silentMs + sinceMs : 0 }];
      }),
    );
    // Somebody has taken this process for dead: what it claims from now on is another courier's.
    if (!this.#watched.has(this.#number)) this.#number = await registerCourier(database);
    const dead = [...this.#watched].flatMap(([number, { silentMs }]) =>
      number !== this.#number && silentMs > attemptTimeoutMs + silentMarginMs ? [number] : [],
    );
    if (dead.length > 0) await this.#abortClaimsOf(dead, settlement);
  }

  async #abortClaimsOf(dead: readonly number[], settlement: Settlement): Promise<void> {
    const { database, onAborted } = this.#dependencies;
    for (let isMore = true; isMore; ) {
      const abandoned = await readAbandoned(database, dead, ABANDONED_PAGE);
      await settlement.abort(abandoned);
      if (abandoned.length > 0) onAborted(abandoned.length);
      isMore = abandoned.length === ABANDONED_PAGE;
    }
    await removeCouriers(database, dead);
  }

  /** What a failed write loses are a second's counts; the attempts themselves are logged. */
  async #write(): Promise<void> {
    const { database } = this.#dependencies;
    const observed = [...this.#round.lanes()].flatMap((lane) => lane.takeObservation() ?? []);
    const alerts = this.#alerts;
    this.#alerts = new Map();
    await recordObservations(database, observed);
    await noteAlerts(database, alerts);
  }

  /** A pause of a URL holds for the lanes of all clients that name it. */
  async #followPauses(due: DueStore): Promise<void> {
    const paused = new Set(await readPausedEndpoints(this.#dependencies.database));
    for (const key of paused) this.#round.lane(key);
    for (const lane of this.#round.lanes()) {
      const isPaused = paused.has(lane.key) || paused.has(urlKeyOfKey(lane.key));
      if (lane.isPaused !== isPaused) this.#round.setPaused(lane.key, isPaused);
      if (isPaused) due.empty(lane);
    }
  }
}
