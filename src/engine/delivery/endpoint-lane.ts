/**
 * One endpoint as the courier sees it: what waits for it here, how many attempts may run at once, and how it has been
 * answering. The number of attempts at once starts at one, grows with each quick answer and is halved by each attempt
 * that used up its time (additive increase, multiplicative decrease, as TCP does it, RFC 5681). So an endpoint gets
 * slots in proportion to what it answers, and one that hangs holds few of them.
 */

import type { AttemptOutcome, Lane } from '../domain/delivery.ts';
import { type EndpointObservation, partiesOf, type RememberedEndpoint } from '../domain/endpoint.ts';
import type { Uuid } from '../domain/ids.ts';

/** `unknown`: has not answered yet. `slow`: its last answers, or those overdue at this moment, take a second or more. */
export type EndpointHealth = 'healthy' | 'unknown' | 'slow';

export interface LaneSettings {
  /** Attempts at once, at most. */
  readonly concurrencyMax: number;
  /** An attempt that takes this long halves the attempts at once, however it ends. */
  readonly tooLongMs: number;
}

/** An endpoint that hangs still gets its attempts done two at a time. */
const CONCURRENCY_MIN = 2;
/** After a restart it grows again from here. */
const CONCURRENCY_REMEMBERED_MAX = 4;
/** Waiting here is for what will be sent soon; the rest waits in the table. */
const WAIT_MAX_MS = 20_000;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000' as Uuid;
/** From its backlog: when fewer wait here, and how many. */
const DRAW_BELOW = 32;
const DRAW_MAX = 128;
const QUEUE_MIN = 4;
const QUEUE_UNPROVEN = 64;
const QUEUE_MAX = 1_024;
/** Answers overdue by this much stop new attempts until one comes in. */
const STALL_MIN_MS = 500;
const STALL_FACTOR = 4;
/** From here on an endpoint shares the slots of the slow ones. */
const SLOW_FROM_MS = 1_000;
const DURATION_WEIGHT = 0.2;
/** Failures that say "less of this". */
const OVERLOAD_STATUSES = new Set([429, 503]);

/** `hasArrivals`: more came since its end was last seen. */
function closedBacklog() {
  return { isOpen: false, place: BEFORE_ALL, hasArrivals: false };
}

export class EndpointLane<T> {
  readonly key: string;
  readonly client: string;
  readonly host: string;
  readonly #settings: LaneSettings;
  readonly #queues: Readonly<Record<Lane, T[]>> = { first: [], again: [] };
  /** When each attempt under way started, oldest first. */
  readonly #startedAt = new Set<{ readonly at: number }>();
  #turn = 0;
  #concurrency = 1;
  #class: EndpointHealth = 'unknown';
  #typicalMs: number | null = null;
  #observation: Omit<EndpointObservation, 'key' | 'concurrency'> | null = null;
  #hasAnswered = false;
  isPaused = false;
  readonly #backlogs = { first: closedBacklog(), again: closedBacklog() };

  constructor(key: string, settings: LaneSettings) {
    this.key = key;
    const { client, host } = partiesOf(key);
    this.client = client;
    this.host = host;
    this.#settings = settings;
  }

  /** As an earlier process left it. */
  remember({ failureStreak, lastError, concurrency, hasAnswered }: RememberedEndpoint): void {
    this.#hasAnswered = hasAnswered;
    if (failureStreak === 0) this.#class = 'healthy';
    else if (lastError === 'timeout') this.#class = 'slow';
    this.#concurrency = Math.max(1, Math.min(concurrency, CONCURRENCY_REMEMBERED_MAX));
  }

  /** 200, at least once, to this process or an earlier one. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  get waiting(): number {
    return this.#queues.first.length + this.#queues.again.length;
  }

  get inFlight(): number {
    return this.#startedAt.size;
  }

  get concurrency(): number {
    return this.#concurrency;
  }

  /** How much more may wait here: as much as is sent within `WAIT_MAX_MS`. */
  get room(): number {
    if (this.#typicalMs === null) return QUEUE_UNPROVEN - this.waiting;
    const soon = (this.#concurrency * WAIT_MAX_MS) / Math.max(1, this.#typicalMs);
    return Math.min(QUEUE_MAX, Math.max(QUEUE_MIN, Math.floor(soon))) - this.waiting;
  }

  /** Nothing waits or runs. */
  get isIdle(): boolean {
    const { first, again } = this.#backlogs;
    const hasWork = this.waiting > 0 || this.inFlight > 0 || first.isOpen || again.isOpen;
    return !hasWork && !this.isPaused && this.#observation === null;
  }

  /** The table may hold more for it than waits here: what comes later goes behind that. */
  hasBacklog(lane: Lane): boolean {
    return this.#backlogs[lane].isOpen;
  }

  /** To be fetched from the beginning, unless `isKnown` and being fetched already. */
  noteBacklog(lane: Lane, isKnown = false): void {
    const backlog = this.#backlogs[lane];
    if (!isKnown || !backlog.isOpen) backlog.place = BEFORE_ALL;
    backlog.isOpen = true;
  }

  /** Something came behind the others of its backlog: a fetch that is under way may not see it. */
  noteArrival(lane: Lane): void {
    this.#backlogs[lane].hasArrivals = true;
  }

  /** What to fetch of its backlog now: where from, and how much. */
  wanted(lane: Lane): { readonly place: Uuid; readonly count: number } | null {
    const { isOpen, place } = this.#backlogs[lane];
    if (!isOpen || this.isPaused || this.#queues[lane].length >= DRAW_BELOW) return null;
    const count = Math.min(DRAW_MAX, this.room);
    return count > 0 ? { place, count } : null;
  }

  /** Drawn up to `place`; null: to the end. */
  noteFetched(lane: Lane, place: Uuid | null): void {
    const backlog = this.#backlogs[lane];
    const isOver = place === null;
    backlog.isOpen = !isOver || backlog.hasArrivals;
    backlog.place = place ?? BEFORE_ALL;
    if (isOver) backlog.hasArrivals = false;
  }

  /** By its last answers alone. */
  get endpointHealth(): EndpointHealth {
    return this.#class;
  }

  classAt(now: number): EndpointHealth {
    return this.#isStalled(now) ? 'slow' : this.#class;
  }

  /** Nothing can start before `answered`, `withdraw` or the end of the pause. */
  isBlocked(now: number): boolean {
    return this.isPaused || this.inFlight >= this.#concurrency || this.#isStalled(now);
  }

  /** Whether there is something to send; `withRetries`: slots for retries are to be had. */
  hasWork(withRetries: boolean): boolean {
    return this.#queues.first.length > 0 || (withRetries && this.#queues.again.length > 0);
  }

  add(entry: T, lane: Lane): void {
    this.#queues[lane].push(entry);
  }

  /** The next entry. First attempts go first, but every fourth turn is for what is sent again. Ask `hasWork` before. */
  take(withRetries: boolean): { readonly entry: T; readonly isRetry: boolean } {
    this.#turn = (this.#turn + 1) % 4;
    const { first, again } = this.#queues;
    const isRetry = first.length === 0 || (this.#turn === 0 && withRetries && again.length > 0);
    return { entry: (isRetry ? again : first).shift() as T, isRetry };
  }

  /** Everything that waits here, taken out. */
  empty(): T[] {
    return [...this.#queues.first.splice(0), ...this.#queues.again.splice(0)];
  }

  /** Pass what it returns to `answered` or `withdraw`. */
  start(now: number): { readonly at: number } {
    const started = { at: now };
    this.#startedAt.add(started);
    return started;
  }

  /** The attempt was not made after all. */
  withdraw(started: { readonly at: number }): void {
    this.#startedAt.delete(started);
  }

  answered(started: { readonly at: number }, url: string, outcome: AttemptOutcome): void {
    this.#startedAt.delete(started);
    const { durationMs } = outcome;
    this.#hasAnswered ||= outcome.error === null;
    this.#typicalMs =
      this.#typicalMs === null ? durationMs : this.#typicalMs + DURATION_WEIGHT * (durationMs - this.#typicalMs);
    const isTooLong = outcome.error === 'timeout' || durationMs >= this.#settings.tooLongMs;
    const isOverloaded = outcome.statusCode !== null && OVERLOAD_STATUSES.has(outcome.statusCode);
    if (isTooLong || isOverloaded)
      this.#concurrency = Math.max(Math.min(CONCURRENCY_MIN, this.#concurrency), this.#concurrency >> 1);
    else if (outcome.error === null) this.#concurrency = Math.min(this.#settings.concurrencyMax, this.#concurrency + 1);
    else this.#concurrency = Math.max(this.#concurrency, CONCURRENCY_MIN);
    this.#class = isTooLong || this.#typicalMs >= SLOW_FROM_MS ? 'slow' : 'healthy';
    this.#observe(url, outcome);
  }

  /** What was seen since the last call, or null. */
  takeObservation(): EndpointObservation | null {
    if (this.#observation === null) return null;
    const observation = { ...this.#observation, key: this.key, concurrency: this.#concurrency };
    this.#observation = null;
    return observation;
  }

  #observe(url: string, { error, startedAt, durationMs }: AttemptOutcome): void {
    const endedAt = new Date(startedAt.getTime() + durationMs);
    const before = this.#observation ?? { succeededAt: null, failedAt: null, lastError: null, failuresSinceSuccess: 0 };
    const failuresSinceSuccess = error === null ? 0 : before.failuresSinceSuccess + 1;
    const ended = error === null ? { succeededAt: endedAt } : { failedAt: endedAt, lastError: error };
    this.#observation = { ...before, url, failuresSinceSuccess, ...ended };
  }

  /** True once the oldest attempt under way takes far longer than is usual here: nothing more is sent until it ends. */
  #isStalled(now: number): boolean {
    for (const { at } of this.#startedAt) {
      if (this.#class === 'slow') return false;
      return now - at >= Math.max(STALL_MIN_MS, STALL_FACTOR * (this.#typicalMs ?? 0));
    }
    return false;
  }
}
