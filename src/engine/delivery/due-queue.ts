/**
 * Ids of due deliveries in the memory of this courier: announced by whoever made them due, or fetched from the table, where
 * an endpoint has more than may wait here. An announcement may be lost: every endpoint with something due is looked for at
 * the start and again and again, as often as costs next to nothing. The row decides when a delivery is claimed (send.ts).
 */

import { startTask, type Task, type TaskOptions } from '../actor/task.ts';
import { oncePerTick, pause } from '../actor/waiting.ts';
import { type DueDelivery, HELD_BACK_MAX_MS, type Lane } from '../domain/delivery.ts';
import { firstUuidAt, type Uuid } from '../domain/ids.ts';
import type { Database } from '../store/database.ts';
import { type BacklogRange, letInAged, readDue, readDueLanes } from '../store/deliveries.ts';
import type { EndpointLane } from './endpoint-lane.ts';
import type { FairScheduler } from './fair-scheduler.ts';
import type { CourierDependencies } from './settle.ts';

const LANES: readonly Lane[] = ['first', 'again'];
const LANES_FETCHED_MAX = 64;
const SOON_MS = 20;
/** The looks take at most a twentieth of a core, and an announcement that was lost is made up for within this time. */
const LOOK_MIN_MS = 1_000;
const LOOK_MAX_MS = 20_000;
const LOOK_REST_FACTOR = 20;
const AGED_EVERY_MS = 1_000;
const AGED_PAGE = 1_000;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000' as Uuid;

/** `pump`: called whenever something has come. */
export class DueQueue {
  readonly #database: Database;
  readonly #clock: () => Date;
  readonly #scheduler: FairScheduler<DueDelivery>;
  readonly #pump: () => void;
  readonly #waiting = new Set<Uuid>();
  /** Being claimed, sent or recorded; and what was announced of it meanwhile, which may be what follows. */
  readonly #taken = new Map<Uuid, DueDelivery | null>();
  readonly #stopping = new AbortController();
  readonly #tasks: readonly Task[];
  readonly #fetching: Task;
  #agedPlace = BEFORE_ALL;

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
      startTask({ what, everyMs, isDueAtOnce: everyMs < LOOK_MAX_MS, work, onTransientError });
    this.#fetching = task('fetch due deliveries', Number.POSITIVE_INFINITY, () => this.#fetch());
    const looking = task('look for due deliveries', LOOK_MIN_MS, () => this.#look());
    const aging = task('order', AGED_EVERY_MS, (stopping) => this.#letIn(stopping));
    this.#tasks = [this.#fetching, looking, aging];
  }

  /** Returns what there is no room for: it waits in the queue. */
  admit(due: readonly DueDelivery[]): readonly DueDelivery[] {
    const left: DueDelivery[] = [];
    for (const each of due) {
      if (this.#taken.has(each.id)) this.#taken.set(each.id, each);
      else if (this.#waiting.has(each.id)) continue;
      else if (this.#scheduler.add(each.endpointKey, each, each.lane)) this.#waiting.add(each.id);
      else left.push(each);
    }
    this.#pump();
    if (left.length > 0) this.refill();
    return left;
  }

  /** Again in a moment: somebody had the row locked. */
  admitSoon(due: readonly DueDelivery[]): void {
    this.#inAMoment(() => this.admit(due));
  }

  /** Looks in a moment what else the endpoint has: somebody had a row of it locked. */
  fetchSoon(endpointKey: string, lane: Lane): void {
    this.#inAMoment(() => {
      this.#scheduler.noteBacklog(endpointKey, lane, true);
      this.refill();
    });
  }

  /** It has got a slot. */
  take(id: Uuid): void {
    this.#waiting.delete(id);
    this.#taken.set(id, null);
  }

  /** It is not this courier's any more, or has ended. */
  forget(id: Uuid): void {
    const announced = this.#taken.get(id) ?? null;
    this.#taken.delete(id);
    if (announced !== null) this.admit([announced]);
  }

  /** What waits here, taken out: it waits in the queue. */
  empty(lane: EndpointLane<DueDelivery>): readonly DueDelivery[] {
    const entries = this.#scheduler.empty(lane);
    for (const { id, endpointKey, lane: kind } of entries) {
      this.#waiting.delete(id);
      this.#scheduler.noteBacklog(endpointKey, kind);
    }
    return entries;
  }

  /** Fetches as many as there is room for. Call it whenever something has been taken out. */
  readonly refill = oncePerTick(() => {
    if (this.#scheduler.wanting(1).length > 0) this.#fetching.ask();
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
    const ranges = this.#scheduler.wanting(LANES_FETCHED_MAX).flatMap(rangesOf);
    if (ranges.length === 0) return;
    const due = await readDue(this.#database, ranges);
    for (const { endpointKey, lane: kind, count } of ranges) {
      const fetched = due.filter((each) => each.endpointKey === endpointKey && each.lane === kind);
      for (const each of fetched) {
        if (this.#taken.has(each.id) || this.#waiting.has(each.id)) continue;
        this.#waiting.add(each.id);
        this.#scheduler.addFetched(endpointKey, each, kind);
      }
      const last = fetched.length < count ? null : (fetched.at(-1)?.id ?? null);
      this.#scheduler.noteFetched(this.#scheduler.lane(endpointKey), kind, last);
    }
    this.#pump();
    this.refill();
  }

  async #look(): Promise<number> {
    const startedAt = performance.now();
    for (const { endpointKey, lane } of await readDueLanes(this.#database)) {
      this.#scheduler.noteBacklog(endpointKey, lane, true);
    }
    this.refill();
    return Math.min(LOOK_MAX_MS, Math.max(LOOK_MIN_MS, LOOK_REST_FACTOR * (performance.now() - startedAt)));
  }

  async #letIn(stopping: AbortSignal): Promise<void> {
    const before = firstUuidAt(new Date(this.#clock().getTime() - HELD_BACK_MAX_MS));
    for (let isMore = true; isMore && !stopping.aborted; ) {
      const { due, last } = await letInAged(this.#database, this.#agedPlace, before, AGED_PAGE);
      this.admit(due);
      this.#agedPlace = last ?? (before > this.#agedPlace ? before : this.#agedPlace);
      isMore = last !== null;
    }
  }
}

function rangesOf(lane: EndpointLane<DueDelivery>): readonly BacklogRange[] {
  return LANES.flatMap((kind) => {
    const wanted = lane.wanted(kind);
    return wanted === null ? [] : [{ endpointKey: lane.key, lane: kind, ...wanted }];
  });
}
