/**
 * Stores the ids of due deliveries in this courier's memory. Deliveries are announced when they become due. If an
 * endpoint has more deliveries than may wait here, the others are fetched from the table later. Announcements may be
 * lost, so the table is scanned for endpoints with due deliveries, at start-up and as often as this costs little. The
 * row decides whether a delivery can be claimed (send.ts).
 */

import { startTask, type Task, type TaskOptions } from '../actor/task.ts';
import { oncePerTick, pause } from '../actor/waiting.ts';
import { type DueDelivery, HELD_BACK_MAX_MS, type Lane } from '../domain/delivery.ts';
import { firstUuidAt, type Uuid } from '../domain/ids.ts';
import type { Database } from '../store/database.ts';
import { readDue, readDueLanes, releaseExpiredHolds } from '../store/deliveries.ts';
import type { EndpointQueue } from './endpoint-queue.ts';
import type { FairScheduler } from './fair-scheduler.ts';
import type { CourierDependencies } from './settle.ts';

const QUEUES_FETCHED_MAX = 64;
const SOON_MS = 20;
/** After a scan, the next waits twenty times its duration, within these limits. Scans thus cost PostgreSQL little. */
const SCAN_MIN_MS = 1_000;
const SCAN_MAX_MS = 20_000;
const SCAN_REST_FACTOR = 20;
const EXPIRED_EVERY_MS = 1_000;
const EXPIRED_PAGE = 1_000;
/** Each second's release covers this time, because a claim may hold back a delivery that an earlier release passed. */
const EXPIRED_SPAN_MS = 8_000;
/** All expired holds are read at most this often: a commit that waits for a standby server becomes visible late. */
const ALL_EXPIRED_EVERY_MS = 10_000;

/** Calls `pump` when deliveries have arrived. */
export class DueQueue {
  readonly #database: Database;
  readonly #clock: () => Date;
  readonly #scheduler: FairScheduler<DueDelivery>;
  readonly #pump: () => void;
  readonly #waiting = new Map<Uuid, DueDelivery['endpointKey']>();
  /** For each delivery being claimed, sent or recorded: null, or a new announcement, possibly of its next attempt. */
  readonly #inProgress = new Map<Uuid, DueDelivery | null>();
  readonly #stopping = new AbortController();
  readonly #tasks: readonly Task[];
  readonly #fetching: Task;

  constructor(
    { database, clock, onTransientError }: Pick<CourierDependencies, 'database' | 'clock' | 'onTransientError'>,
    scheduler: FairScheduler<DueDelivery>,
    pump: () => void,
  ) {
    this.#database = database;
    this.#clock = clock;
    this.#scheduler = scheduler;
    this.#pump = pump;
    const task = (what: string, everyMs: number, work: TaskOptions['work']): Task =>
      startTask({ what, everyMs, isDueAtOnce: everyMs < SCAN_MAX_MS, work, onTransientError });
    this.#fetching = task('fetch due deliveries', Number.POSITIVE_INFINITY, () => this.#fetch());
    const scanning = task('scan for due deliveries', SCAN_MIN_MS, () => this.#scan());
    const releasing = task('held deliveries', EXPIRED_EVERY_MS, (stopping) => this.#release(stopping, EXPIRED_SPAN_MS));
    const releasingAll = task('held deliveries', ALL_EXPIRED_EVERY_MS, async (stopping) => {
      const startedAt = performance.now();
      await this.#release(stopping, Number.POSITIVE_INFINITY);
      return Math.max(ALL_EXPIRED_EVERY_MS, SCAN_REST_FACTOR * (performance.now() - startedAt));
    });
    this.#tasks = [this.#fetching, scanning, releasing, releasingAll];
  }

  /** Returns the deliveries that must wait in the table (`FairScheduler.add`). */
  admit(due: readonly DueDelivery[]): readonly DueDelivery[] {
    const left: DueDelivery[] = [];
    for (const each of due) {
      const { id, endpointKey } = each;
      const formerKey = this.#waiting.get(id) ?? endpointKey;
      // A resend moved the delivery to another endpoint, so it no longer waits for a slot of the former endpoint.
      if (formerKey !== endpointKey) this.empty(this.#scheduler.queue(formerKey));
      if (this.#inProgress.has(id)) this.#inProgress.set(id, each);
      else if (this.#waiting.has(id)) continue;
      else if (this.#scheduler.add(endpointKey, each, each.lane, id)) this.#waiting.set(id, endpointKey);
      else left.push(each);
    }
    this.#pump();
    if (left.length > 0) this.refill();
    return left;
  }

  /** Admits the deliveries after `SOON_MS`, because earlier deliveries are locked or their claims were given back. */
  admitSoon(due: readonly DueDelivery[]): void {
    this.#inAMoment(() => this.admit(due));
  }

  /** Fetches the endpoint's deliveries after `SOON_MS`, because one of them could not be claimed. */
  fetchSoon(endpointKey: string, lane: Lane): void {
    this.#inAMoment(() => {
      this.#scheduler.markBacklog(endpointKey, lane, true);
      this.refill();
    });
  }

  /** Call this when the delivery has received a slot. */
  begin(id: Uuid): void {
    this.#waiting.delete(id);
    this.#inProgress.set(id, null);
  }

  /** Call this when the attempt was recorded or not made. */
  forget(id: Uuid): void {
    const announced = this.#inProgress.get(id) ?? null;
    this.#inProgress.delete(id);
    if (announced !== null) this.admit([announced]);
  }

  /** Removes and returns the deliveries that wait here. They then wait in the table. */
  empty(queue: EndpointQueue<DueDelivery>): readonly DueDelivery[] {
    const entries = this.#scheduler.empty(queue);
    for (const { id, endpointKey, lane } of entries) {
      this.#waiting.delete(id);
      this.#scheduler.markBacklog(endpointKey, lane);
      queue.markArrival(lane, id);
    }
    return entries;
  }

  /** Fetches as many deliveries as there is room for. */
  readonly refill = oncePerTick(() => {
    if (this.#scheduler.hasPages) this.#fetching.ask();
  });

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#tasks.map((task) => task.stop()));
  }

  #inAMoment(work: () => void): void {
    void pause(SOON_MS).then(() => {
      if (!this.#stopping.signal.aborted) work();
    });
  }

  async #fetch(): Promise<void> {
    const pages = this.#scheduler.pages(QUEUES_FETCHED_MAX);
    if (pages.length === 0) return;
    const ranges = pages.map(({ queue, ...page }) => ({ endpointKey: queue.key, ...page }));
    const due = await readDue(this.#database, ranges);
    for (const { endpointKey, lane, count } of ranges) {
      const fetched = due.filter((each) => each.endpointKey === endpointKey && each.lane === lane);
      for (const each of fetched) {
        if (this.#inProgress.has(each.id) || this.#waiting.has(each.id)) continue;
        this.#waiting.set(each.id, endpointKey);
        this.#scheduler.addFetched(endpointKey, each, lane);
      }
      const last = fetched.length < count ? null : (fetched.at(-1)?.id ?? null);
      this.#scheduler.markFetched(this.#scheduler.queue(endpointKey), lane, last);
    }
    this.admit(due.filter(({ id }) => this.#waiting.has(id)));
    this.refill();
  }

  async #scan(): Promise<number> {
    const startedAt = performance.now();
    for (const { endpointKey, lane } of await readDueLanes(this.#database)) {
      this.#scheduler.markBacklog(endpointKey, lane, true);
    }
    this.refill();
    return Math.min(SCAN_MAX_MS, Math.max(SCAN_MIN_MS, SCAN_REST_FACTOR * (performance.now() - startedAt)));
  }

  /** Makes held deliveries due whose longest wait for other endpoints ended within the last `spanMs`. */
  async #release(stopping: AbortSignal, spanMs: number): Promise<void> {
    const beforeMs = this.#clock().getTime() - HELD_BACK_MAX_MS;
    const before = firstUuidAt(new Date(beforeMs));
    let position: Uuid | null = firstUuidAt(new Date(Math.max(0, beforeMs - spanMs)));
    while (position !== null && !stopping.aborted) {
      const { due, last } = await releaseExpiredHolds(this.#database, position, before, EXPIRED_PAGE);
      this.admit(due);
      position = last;
    }
  }
}
