/**
 * The courier loads due deliveries into memory (due-queue.ts), assigns slots to them (fair-scheduler.ts), claims and
 * posts them (send.ts), and records their outcomes (settle.ts). A failed delivery waits for its retry
 * (retries.ts). The rows are the queue: everything that the courier has in memory may be lost at any moment.
 */

import { startGrace } from '../actor/actor.ts';
import { startTask, type Task } from '../actor/task.ts';
import type { DueDelivery } from '../domain/delivery.ts';
import { urlKeyOfKey } from '../domain/endpoint.ts';
import type { SearchNumber } from '../domain/ids.ts';
import { readAbandoned, recordLastAlertTimes, repairLastAlertTimes, type SettledAttempt } from '../store/attempts.ts';
import { declareDead, registerCourier, removeCouriers, writeHeartbeat } from '../store/couriers.ts';
import { readPausedEndpoints, readRememberedEndpoints, recordObservations } from '../store/endpoints.ts';
import { DueQueue } from './due-queue.ts';
import { FairScheduler } from './fair-scheduler.ts';
import { startRetries } from './retries.ts';
import { Sending } from './send.ts';
import { type CourierDependencies, type Settlement, startSettlement } from './settle.ts';

export type Courier = Awaited<ReturnType<typeof startCourier>>;

const WAITING_MAX = 16_384;
/** Outcomes that wait for PostgreSQL use no slot. At this number of them, no further attempt starts. */
const UNRECORDED_MAX = 512;
/** The share of the slots that one endpoint may use. Two slots are always allowed. */
const ENDPOINT_SHARE = 1 / 8;
/** With the default settings, an attempt and this time together end before `VIGIE_DRAIN_TIMEOUT_MS`. */
const RECORD_GRACE_MS = 10_000;

export async function startCourier(dependencies: CourierDependencies) {
  const { announcer, onTransientError, broker } = dependencies;
  const scheduler = openScheduler(dependencies);
  const maintenance = await CourierMaintenance.open(dependencies, scheduler);
  const onAttempt = (settled: SettledAttempt): void => {
    maintenance.recordAlert(settled);
    dependencies.onAttempt(settled);
  };
  const settlement: Settlement = startSettlement({ ...dependencies, onAttempt }, announcer.announce);
  const sending = new Sending(dependencies, {
    scheduler,
    holder: () => maintenance.number,
    due: () => due,
    settlement: () => settlement,
  });
  const due: DueQueue = new DueQueue(dependencies, scheduler, sending.pump);
  const endListening = announcer.listen({
    admit: (announced) => due.admit(announced),
    get isAlone() {
      return maintenance.isAlone;
    },
  });
  maintenance.start({ due, settlement, pump: sending.pump });
  const retries = startRetries(dependencies);
  return {
    /** Deliveries that are being sent or recorded. `waiting` counts due deliveries in memory that have no slot. */
    inFlight: () => scheduler.inFlight + settlement.unrecorded,
    waiting: () => scheduler.waiting,
    /** Stops claiming. Resolves when the current attempts have ended and, within `RECORD_GRACE_MS`, are recorded. */
    async drain() {
      endListening();
      await Promise.all([retries.stop(), due.stop()]);
      // Announces the waiting deliveries, so that another courier does not have to find them by a scan.
      announcer.pass([...scheduler.queues()].flatMap((queue) => due.empty(queue)));
      await sending.stop();
      await maintenance.stop();
      const grace = startGrace(RECORD_GRACE_MS);
      await settlement.drain(grace);
      grace.end();
      await maintenance.end(scheduler.inFlight + settlement.unrecorded > 0);
      await broker.connection.flush().catch((error: Error) => onTransientError('flush', error));
    },
  };
}

function openScheduler({ attemptsInFlightMax, attemptTimeoutMs }: CourierDependencies): FairScheduler<DueDelivery> {
  return new FairScheduler({
    slots: attemptsInFlightMax,
    concurrencyMax: Math.max(2, Math.floor(attemptsInFlightMax * ENDPOINT_SHARE)),
    tooLongMs: attemptTimeoutMs / 2,
    waitingMax: WAITING_MAX,
    unrecordedMax: UNRECORDED_MAX,
  });
}

const EVERY_MS = 1_000;
const REMEMBERED_MAX = 10_000;
/** The longest counted interval between two polls. In a longer interval this process was probably suspended. */
const POLL_COUNTED_MAX_MS = 2 * EVERY_MS;
const ABANDONED_PAGE = 1_000;

interface Watched {
  beat: string;
  /** How long this process has read the same heartbeat, in milliseconds. */
  silentMs: number;
}

interface MaintenanceParts {
  readonly due: DueQueue;
  readonly settlement: Settlement;
  readonly pump: () => void;
}

/**
 * Synchronizes a courier with the tables once a second. Writes its heartbeat, the results of endpoints and the times of
 * alerts. Pauses dead endpoints, aborts the attempts of dead couriers, and reads which endpoints are paused.
 */
class CourierMaintenance {
  readonly #dependencies: CourierDependencies;
  readonly #scheduler: FairScheduler<DueDelivery>;
  #number: number;
  #watched = new Map<number, Watched>();
  #polledAt = performance.now();
  readonly #alerts = new Map<SearchNumber, Date>();
  /** Keys of paused endpoints, and the version of the pauses at the last read; null before the first read. */
  #paused: ReadonlySet<string> = new Set();
  #pausesRead: string | null = null;
  #task: Task | null = null;

  constructor(dependencies: CourierDependencies, scheduler: FairScheduler<DueDelivery>, number: number) {
    this.#dependencies = dependencies;
    this.#scheduler = scheduler;
    this.#number = number;
  }

  /** Passes the recorded states of endpoints to the scheduler, then registers a courier. */
  static async open(parts: CourierDependencies, scheduler: FairScheduler<DueDelivery>): Promise<CourierMaintenance> {
    for (const endpoint of await readRememberedEndpoints(parts.database, REMEMBERED_MAX)) {
      scheduler.remember(endpoint);
    }
    return new CourierMaintenance(parts, scheduler, await registerCourier(parts.database));
  }

  /** The number that identifies this courier in claims. */
  get number(): number {
    return this.#number;
  }

  get isAlone(): boolean {
    return this.#watched.size <= 1;
  }

  recordAlert({ searchNumber, outcome, after }: SettledAttempt): void {
    if (after.state !== 'delivered') return;
    this.#alerts.set(searchNumber, new Date(outcome.startedAt.getTime() + Math.round(outcome.durationMs)));
  }

  start(parts: MaintenanceParts): void {
    const { onTransientError } = this.#dependencies;
    const work = async (): Promise<void> => {
      try {
        const pauses = await this.#followCouriers(parts.settlement);
        await this.#write();
        await this.#followPauses(parts.due, pauses);
      } finally {
        this.#scheduler.forgetIdle();
        parts.pump();
      }
    };
    this.#task = startTask({ what: 'courier state', everyMs: EVERY_MS, isDueAtOnce: true, work, onTransientError });
  }

  async stop(): Promise<void> {
    await this.#task?.stop();
  }

  /** Writes the observations since the last write, and removes the courier unless it may still have a claim. */
  async end(mayHold: boolean): Promise<void> {
    const { database, onTransientError } = this.#dependencies;
    await this.#write()
      .then(() => (mayHold ? undefined : removeCouriers(database, [this.#number])))
      .catch((error: Error) => onTransientError('courier state', error));
  }

  /** Detects dead couriers by this process's clock, to avoid comparing clocks. Returns the version of the pauses. */
  async #followCouriers(settlement: Settlement): Promise<string | null> {
    const { database, attemptTimeoutMs, silentMarginMs = 15_000 } = this.#dependencies;
    const couriers = await writeHeartbeat(database, this.#number);
    const now = performance.now();
    const sinceMs = Math.min(now - this.#polledAt, POLL_COUNTED_MAX_MS);
    this.#polledAt = now;
    this.#watched = new Map(
      couriers.map(({ number, beat: heard }) => {
        const before = this.#watched.get(number);
        return [number, { beat: heard, silentMs: before?.beat === heard ? before.silentMs + sinceMs : 0 }];
      }),
    );
    // Another process has declared this courier dead, so further claims need a new courier number.
    if (!this.#watched.has(this.#number)) this.#number = await registerCourier(database);
    const silent = couriers.filter(
      ({ number }) => (this.#watched.get(number)?.silentMs ?? 0) > attemptTimeoutMs + silentMarginMs,
    );
    if (silent.length > 0) await this.#abortClaimsOf(await declareDead(database, silent), settlement);
    return couriers.find(({ number }) => number === this.#number)?.pauses ?? null;
  }

  async #abortClaimsOf(dead: readonly number[], settlement: Settlement): Promise<void> {
    const { database, onAborted } = this.#dependencies;
    for (let isMore = true; isMore; ) {
      const abandoned = await readAbandoned(database, dead, ABANDONED_PAGE);
      await settlement.abort(abandoned);
      if (abandoned.length > 0) onAborted(abandoned.length);
      isMore = abandoned.length === ABANDONED_PAGE;
    }
    await repairLastAlertTimes(database);
    await removeCouriers(database, dead);
  }

  /** If a write fails, the observations of a second are lost. The attempts themselves are recorded separately. */
  async #write(): Promise<void> {
    const { database, endpointPauseDays, onEndpointDead, onFailureSeries } = this.#dependencies;
    const observed = [...this.#scheduler.queues()].flatMap((queue) => queue.nextObservation() ?? []);
    const { dead, series } = await recordObservations(database, observed, endpointPauseDays);
    for (const each of dead) onEndpointDead(each);
    for (const each of series) onFailureSeries(each);
    const alerts = new Map(this.#alerts);
    await recordLastAlertTimes(database, alerts);
    for (const [number, at] of alerts) if (this.#alerts.get(number) === at) this.#alerts.delete(number);
  }

  /** Reads the pauses if they have changed. A pause of a URL applies to the queues of all clients for that URL. */
  async #followPauses(due: DueQueue, pauses: string | null): Promise<void> {
    if (pauses === null || pauses !== this.#pausesRead) {
      this.#paused = new Set(await readPausedEndpoints(this.#dependencies.database));
      this.#pausesRead = pauses;
      for (const key of this.#paused) this.#scheduler.queue(key);
    }
    for (const queue of this.#scheduler.queues()) {
      const isPaused = this.#paused.has(queue.key) || this.#paused.has(urlKeyOfKey(queue.key));
      if (queue.isPaused !== isPaused) this.#scheduler.setPaused(queue.key, isPaused);
      if (isPaused) due.empty(queue);
    }
  }
}
