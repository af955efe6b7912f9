/**
 * One endpoint as the courier sees it: its waiting deliveries, its concurrency limit, and its response times. The
 * concurrency limit starts at one, grows with each quick answer and is halved by each attempt that used up its time
 * (additive increase, multiplicative decrease, as in TCP, RFC 5681). So an endpoint gets slots in proportion to what it
 * answers, and one that hangs holds few of them.
 */

import type { AttemptOutcome, Lane } from '../domain/delivery.ts';
import { type EndpointObservation, observed, partiesOf, type RememberedEndpoint } from '../domain/endpoint.ts';
import { createdAtOf, firstUuidAt, type Uuid } from '../domain/ids.ts';

/** `unknown`: has not answered yet. `slow`: its last answers, or those overdue now, take a second or more. */
export type EndpointHealth = 'healthy' | 'unknown' | 'slow';

export interface EndpointQueueSettings {
  /** Concurrent attempts, at most. */
  readonly concurrencyMax: number;
  /** An attempt that takes this long halves the concurrency limit, whatever its outcome. */
  readonly tooLongMs: number;
}

/** The concurrency limit of an endpoint that hangs. */
const CONCURRENCY_MIN = 2;
/** The limit's maximum after a restart; it grows again from here. */
const CONCURRENCY_REMEMBERED_MAX = 4;
/** Deliveries here will be sent soon; the rest waits in the table. */
const WAIT_MAX_MS = 20_000;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000' as Uuid;
/** Refill threshold and batch size. */
const DRAW_BELOW = 32;
const DRAW_MAX = 128;
const QUEUE_MIN = 4;
/** Until one has answered this process. */
const QUEUE_UNPROVEN = 64;
const QUEUE_MAX = 1_024;
/** An answer overdue by this much stops new attempts until one answer arrives. */
const STALL_MIN_MS = 500;
const STALL_FACTOR = 4;
/** From this duration on, an endpoint counts as slow. */
const SLOW_FROM_MS = 1_000;
const DURATION_WEIGHT = 0.2;
/** Statuses that ask for a lower rate. */
const OVERLOAD_STATUSES = new Set([429, 503]);

interface Backlog {
  /** Up to where it was fetched; null: to its end. */
  position: Uuid | null;
  /** The lowest id that joined after the backlog was last fetched up to it, or to its end. */
  arrival: Uuid | null;
}

const closedBacklog = (): Backlog => ({ position: null, arrival: null });

export class EndpointQueue<T> {
  readonly key: string;
  readonly client: string;
  readonly host: string;
  readonly #settings: EndpointQueueSettings;
  readonly #unansweredMax: (queue: EndpointQueue<T>) => number;
  readonly #queues: Readonly<Record<Lane, T[]>> = { first: [], retry: [] };
  /** When each attempt under way started, oldest first. */
  readonly #startedAt = new Set<{ readonly at: number }>();
  #turn = 0;
  #concurrency = 1;
  #class: EndpointHealth = 'unknown';
  #typicalMs: number | null = null;
  #observation: ReturnType<typeof observed> = null;
  #hasAnswered = false;
  isPaused = false;
  /** It was paused, and what waited meanwhile is not fetched to its end: it holds a quarter of its slots. */
  isCatchingUp = false;
  readonly #backlogs = { first: closedBacklog(), retry: closedBacklog() };

  /** `unansweredMax`: how many may wait here until it has answered 200 for the first time. */
  constructor(key: string, settings: EndpointQueueSettings, unansweredMax: (queue: EndpointQueue<T>) => number) {
    this.key = key;
    this.#unansweredMax = unansweredMax;
    ({ client: this.client, host: this.host } = partiesOf(key));
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
    return this.#queues.first.length + this.#queues.retry.length;
  }

  get inFlight(): number {
    return this.#startedAt.size;
  }

  get concurrency(): number {
    return this.#concurrency;
  }

  /** The remaining capacity here: as much as is sent within `WAIT_MAX_MS`. */
  get room(): number {
    const most = this.#hasAnswered ? QUEUE_MAX : Math.min(QUEUE_MAX, this.#unansweredMax(this));
    if (this.#typicalMs === null) return Math.min(most, QUEUE_UNPROVEN) - this.waiting;
    const soon = (this.#concurrency * WAIT_MAX_MS) / Math.max(1, this.#typicalMs);
    return Math.min(most, Math.max(QUEUE_MIN, Math.floor(soon))) - this.waiting;
  }

  /** Nothing waits or runs. */
  get isIdle(): boolean {
    const hasWork = this.waiting > 0 || this.inFlight > 0 || this.hasBacklog('first') || this.hasBacklog('retry');
    return !hasWork && !this.isPaused && this.#observation === null;
  }

  /** The table may hold further deliveries for it. */
  hasBacklog(lane: Lane): boolean {
    return this.#backlogs[lane].position !== null;
  }

  /** Whether a delivery queues behind others in the table. One at a passed position precedes all of them. */
  isBehindBacklog(lane: Lane, id: Uuid): boolean {
    return id > (this.#backlogs[lane].position ?? id);
  }

  /** Marks the backlog to be fetched from its beginning, unless `isKnown` and the fetch is under way. */
  markBacklog(lane: Lane, isKnown = false): void {
    const backlog = this.#backlogs[lane];
    if (!isKnown || backlog.position === null) backlog.position = BEFORE_ALL;
  }

  /** A delivery joined its backlog, at its end or at a passed position: a fetch under way may miss it. */
  markArrival(lane: Lane, id: Uuid): void {
    const backlog = this.#backlogs[lane];
    if (backlog.arrival === null || id < backlog.arrival) backlog.arrival = id;
  }

  /** The next page of its backlog to fetch: from where, and how many. */
  nextPage(lane: Lane): { readonly position: Uuid; readonly count: number } | null {
    const { position } = this.#backlogs[lane];
    if (position === null || this.isPaused || this.#queues[lane].length >= DRAW_BELOW) return null;
    const count = Math.min(DRAW_MAX, this.room);
    return count > 0 ? { position, count } : null;
  }

  /** The backlog was fetched up to `position`; null: to its end. What arrived at a passed position is fetched next. */
  markFetched(lane: Lane, position: Uuid | null): void {
    const backlog = this.#backlogs[lane];
    const { arrival } = backlog;
    const isPassed = arrival !== null && (position === null || arrival <= position);
    backlog.position = isPassed ? firstUuidAt(createdAtOf(arrival)) : position;
    if (isPassed) backlog.arrival = null;
    this.isCatchingUp &&= this.hasBacklog('first') || this.hasBacklog('retry');
  }

  /** By its last answers alone. */
  get endpointHealth(): EndpointHealth {
    return this.#class;
  }

  classAt(now: number): EndpointHealth {
    return this.#isStalled(now) ? 'slow' : this.#class;
  }

  /** No attempt can start before `answered`, `withdraw` or the end of the pause. */
  isBlocked(now: number): boolean {
    const most = this.isCatchingUp ? this.#settings.concurrencyMax / 4 : this.#concurrency;
    return this.isPaused || this.inFlight >= Math.min(most, this.#concurrency) || this.#isStalled(now);
  }

  /** Whether a delivery can be sent; `withRetries`: slots for retries are available. */
  hasWork(withRetries: boolean): boolean {
    return this.#queues.first.length > 0 || (withRetries && this.#queues.retry.length > 0);
  }

  add(entry: T, lane: Lane): void {
    this.#queues[lane].push(entry);
  }

  /** The next entry. First attempts have priority, but every fourth turn serves retries. Call `hasWork` before. */
  next(withRetries: boolean): { readonly entry: T; readonly isRetry: boolean } {
    this.#turn = (this.#turn + 1) % 4;
    const { first, retry } = this.#queues;
    const isRetry = first.length === 0 || (this.#turn === 0 && withRetries && retry.length > 0);
    return { entry: (isRetry ? retry : first).shift() as T, isRetry };
  }

  /** Removes and returns all waiting entries. */
  empty(): T[] {
    return [...this.#queues.first.splice(0), ...this.#queues.retry.splice(0)];
  }

  /** Pass the result to `answered` or `withdraw`. */
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
    this.#observation = observed(this.#observation, url, outcome);
  }

  /** Observations since the last call, or null. */
  takeObservation(): EndpointObservation | null {
    if (this.#observation === null) return null;
    const observation = { ...this.#observation, key: this.key, concurrency: this.#concurrency };
    this.#observation = null;
    return observation;
  }

  /** True once the oldest attempt under way takes far longer than usual here: no new attempt starts until it ends. */
  #isStalled(now: number): boolean {
    for (const { at } of this.#startedAt) {
      if (this.#class === 'slow') return false;
      return now - at >= Math.max(STALL_MIN_MS, STALL_FACTOR * (this.#typicalMs ?? 0));
    }
    return false;
  }
}
