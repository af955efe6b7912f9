/**
 * What is due comes into the memory of this courier: announced by whoever made it due, or drawn from the queue, where an
 * endpoint has more than may wait here. An announcement may be lost: all endpoints that have something due are looked for
 * at the start and again and again, as often as costs next to nothing. What waits here is only an id: the row decides
 * when it is claimed (send.ts).
 */

import { startTask, type Task, type TaskOptions } from '../actor/task.ts';
import { oncePerTick, pause } from '../actor/waiting.ts';
import { type DueDelivery, HELD_BACK_MAX_MS, type Lane } from '../domain/delivery.ts';
import { firstUuidAt, type Uuid } from '../domain/ids.ts';
import type { Database } from '../store/database.ts';
import { type Draw, letInAged, readDue, readDueLanes } from '../store/deliveries.ts';
import type { EndpointLane } from './endpoint-lane.ts';
import type { FairScheduler } from './fair-scheduler.ts';
import type { CourierDependencies } from './settle.ts';

const LANES: readonly Lane[] = ['first', 'again'];
const LANES_DRAWN_MAX = 64;
const SOON_MS = 20;
/** The looks take at most a twentieth of a core, and an announcement that was lost is made up for within this time. */
const LOOK_MIN_MS = 1_000;
const LOOK_MAX_MS = 20_000;
const LOOK_REST_FACTOR = 20;
const AGED_EVERY_MS = 1_000;
const AGED_PAGE = 1_000;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000' as Uuid;

/** `pump`: told whenever something has come. */
export class DueStore {
  readonly #database: Database;
  readonly #clock: () => Date;
  readonly #round: FairScheduler<DueDelivery>;
  readonly #pump: () => void;
  readonly #waiting = new Set<Uuid>();
  /** Being claimed, sent or recorded; and what was announced of it meanwhile, which may be what follows. */
  readonly #taken = new Map<Uuid, DueDelivery | null>();
  readonly #stopping = new AbortController();
  readonly #tasks: readonly Task[];
  readonly #drawing: Task;
  #agedPlace = BEFORE_ALL;

  constructor(
    { database, clock, onTrouble }: Pick<CourierDependencies, 'database' | 'clock' | 'onTrouble'>,
    round: FairScheduler<DueDelivery>,
    pump: () => void,
  ) {
    this.#database = database;
    this.#clock = clock;
    this.#round = round;
    this.#pump = pump;
    const task = (what: string, everyMs: number, work: TaskOptions['work']): Task =>
      startTask({ what, everyMs, isDueAtOnce: everyMs < LOOK_MAX_MS, work, onTrouble });
    this.#drawing = task('draw', Number.POSITIVE_INFINITY, () => this.#draw());
    const looking = task('look for due deliveries', LOOK_MIN_MS, () => this.#look());
    const aging = task('order', AGED_EVERY_MS, (stopping) => this.#letIn(stopping));
    this.#tasks = [this.#drawing, looking, aging];
  }

  /** Returns what there is no room for: it waits in the queue. */
  admit(due: readonly DueDelivery[]): readonly DueDelivery[] {
    const left: DueDelivery[] = [];
    for (const each of due) {
      if (this.#taken.has(each.id)) this.#taken.set(each.id, each);
      else if (this.#waiting.has(each.id)) continue;
      else if (this.#round.add(each.endpointKey, each, each.lane)) this.#waiting.add(each.id);
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
  drawSoon(endpointKey: string, lane: Lane): void {
    this.#inAMoment(() => {
      this.#round.noteBacklog(endpointKey, lane, true);
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
    const entries = this.#round.empty(lane);
    for (const { id, endpointKey, lane: kind } of entries) {
      this.#waiting.delete(id);
      this.#round.noteBacklog(endpointKey, kind);
    }
    return entries;
  }

  /** Draws what there is room for. Call it whenever something has been taken out. */
  readonly refill = oncePerTick(() => {
    if (this.#round.wanting(1).length > 0) this.#drawing.ask();
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

  async #draw(): Promise<void> {
    const draws = this.#round.wanting(LANES_DRAWN_MAX).flatMap(drawsOf);
    if (draws.length === 0) return;
    const due = await readDue(this.#database, draws);
    for (const { endpointKey, lane: kind, count } of draws) {
      const drawn = due.filter((each) => each.endpointKey === endpointKey && each.lane === kind);
      for (const each of drawn) {
        if (this.#taken.has(each.id) || this.#waiting.has(each.id)) continue;
        this.#waiting.add(each.id);
        this.#round.addDrawn(endpointKey, each, kind);
      }
      this.#round.drawn(this.#round.lane(endpointKey), kind, drawn.length < count ? null : (drawn.at(-1)?.id ?? null));
    }
    this.#pump();
    this.refill();
  }

  async #look(): Promise<number> {
    const startedAt = performance.now();
    for (const { endpointKey, lane } of await readDueLanes(this.#database)) {
      this.#round.noteBacklog(endpointKey, lane, true);
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

function drawsOf(lane: EndpointLane<DueDelivery>): readonly Draw[] {
  return LANES.flatMap((kind) => {
    const wanted = lane.wanted(kind);
    return wanted === null ? [] : [{ endpointKey: lane.key, lane: kind, ...wanted }];
  });
}
