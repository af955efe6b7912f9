/**
 * The state of one endpoint in the courier: its waiting deliveries, its concurrency limit, and its response times. The
 * concurrency limit starts at one and grows with each quick 200. An attempt that takes too long halves it, as does a
 * 429 or 503 (additive increase, multiplicative decrease, as in TCP, RFC 5681). An endpoint therefore gets slots in
 * proportion to its answers, and an endpoint that hangs uses few.
 */

import { type AttemptOutcome, LANES, type Lane } from '../domain/delivery.ts';
import { type EndpointObservation, observed, partiesOf, type RememberedEndpoint } from '../domain/endpoint.ts';
import { createdAtOf, firstUuidAt, type Uuid } from '../domain/ids.ts';

/**
 * `unknown`: no attempt of this process has ended, and the stored state does not decide. `slow`: the mean duration is a
 * second or more, the last attempt was too long, or an answer is overdue.
 */
export type EndpointClass = 'healthy' | 'unknown' | 'slow';

export interface EndpointQueueSettings {
  /** Maximum concurrent attempts. */
  readonly concurrencyMax: number;
  /** An attempt that takes this long halves the concurrency limit, even if it succeeds. */
  readonly tooLongMs: number;
}

/** Halving ends at this concurrency limit. A failure that does not halve raises a lower limit to it. */
const CONCURRENCY_MIN = 2;
/** The highest concurrency limit that an endpoint keeps after a restart. */
const CONCURRENCY_REMEMBERED_MAX = 4;
/** About as many deliveries wait here as can be sent within this time. The others wait in the table. */
const WAIT_MAX_MS = 20_000;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000' as Uuid;
/** A lane with fewer deliveries than the first number is refilled with up to the second number of deliveries. */
const DRAW_BELOW = 32;
const DRAW_MAX = 128;
const QUEUE_MIN = 4;
/** Capacity until an attempt of this process has ended. */
const QUEUE_UNPROVEN = 64;
const QUEUE_MAX = 1_024;
/** If the endpoint is not slow, no new attempt starts while an answer takes this long and four times the usual time. */
const STALL_MIN_MS = 500;
const STALL_FACTOR = 4;
/** An endpoint counts as slow from this mean duration. */
const SLOW_FROM_MS = 1_000;
const DURATION_WEIGHT = 0.2;
/** Statuses that ask for a lower rate. */
const OVERLOAD_STATUSES = new Set([429, 503]);

interface Backlog {
  /** The id up to which the backlog was fetched; null if it was fetched to its end. */
  position: Uuid | null;
  /** The lowest id that has joined the backlog and that the fetch may have passed; null if there is none. */
  arrival: Uuid | null;
}

const closedBacklog = (): Backlog => ({ position: null, arrival: null });

export class EndpointQueue<T> {
  readonly key: string;
  readonly client: string;
  readonly host: string;
  readonly #settings: EndpointQueueSettings;
  readonly #unansweredMax: (queue: EndpointQueue<T>) => number;
  readonly #queues: Readonly<Record<Lane, T[]>> = { first: [], retry: [], recovery: [] };
  /** When each current attempt started, oldest first. */
  readonly #startedAt = new Set<{ readonly at: number }>();
  #turn = 0;
  #concurrency = 1;
  #class: EndpointClass = 'unknown';
  #typicalMs: number | null = null;
  #observation: ReturnType<typeof observed> = null;
  #hasAnswered = false;
  isPaused = false;
  /** True while the backlog of a pause is being fetched: the endpoint then uses at most a quarter of its slots. */
  isCatchingUp = false;
  readonly #backlogs = { first: closedBacklog(), retry: closedBacklog(), recovery: closedBacklog() };

  /** `unansweredMax` returns how many deliveries may wait here until the endpoint has first answered 200. */
  constructor(key: string, settings: EndpointQueueSettings, unansweredMax: (queue: EndpointQueue<T>) => number) {
    this.key = key;
    this.#unansweredMax = unansweredMax;
    ({ client: this.client, host: this.host } = partiesOf(key));
    this.#settings = settings;
  }

  /** Restores the state that an earlier process recorded. */
  remember({ failureStreak, lastError, concurrency, hasAnswered }: RememberedEndpoint): void {
    this.#hasAnswered = hasAnswered;
    if (failureStreak === 0) this.#class = 'healthy';
    else if (lastError === 'timeout') this.#class = 'slow';
    this.#concurrency = Math.max(1, Math.min(concurrency, CONCURRENCY_REMEMBERED_MAX));
  }

  /** True once the endpoint has answered 200, to this process or an earlier process. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  get waiting(): number {
    const { first, retry, recovery } = this.#queues;
    return first.length + retry.length + recovery.length;
  }

  get inFlight(): number {
    return this.#startedAt.size;
  }

  get concurrency(): number {
    return this.#concurrency;
  }

  /** How many more deliveries may wait here: in total about as many as can be sent within `WAIT_MAX_MS`. */
  get room(): number {
    const most = this.#hasAnswered ? QUEUE_MAX : Math.min(QUEUE_MAX, this.#unansweredMax(this));
    if (this.#typicalMs === null) return Math.min(most, QUEUE_UNPROVEN) - this.waiting;
    const soon = (this.#concurrency * WAIT_MAX_MS) / Math.max(1, this.#typicalMs);
    return Math.min(most, Math.max(QUEUE_MIN, Math.floor(soon))) - this.waiting;
  }

  /** True if nothing is waiting, running or to be written, and the endpoint is not paused. */
  get isIdle(): boolean {
    const hasWork = this.waiting > 0 || this.inFlight > 0 || this.#hasAnyBacklog;
    return !hasWork && !this.isPaused && this.#observation === null;
  }

  /** True if the table may have further deliveries for the endpoint. */
  hasBacklog(lane: Lane): boolean {
    return this.#backlogs[lane].position !== null;
  }

  get #hasAnyBacklog(): boolean {
    return LANES.some((lane) => this.hasBacklog(lane));
  }

  /** True if earlier deliveries may wait in the table. A delivery that the fetch has passed precedes all of them. */
  isBehindBacklog(lane: Lane, id: Uuid): boolean {
    return id > (this.#backlogs[lane].position ?? id);
  }

  /** Marks the backlog to be fetched from its beginning, unless `isKnown` and the fetch is in progress. */
  markBacklog(lane: Lane, isKnown = false): void {
    const backlog = this.#backlogs[lane];
    if (!isKnown || backlog.position === null) backlog.position = BEFORE_ALL;
  }

  /** Notes a delivery that has joined the backlog, at any position, because a running fetch may miss it. */
  markArrival(lane: Lane, id: Uuid): void {
    const backlog = this.#backlogs[lane];
    if (backlog.arrival === null || id < backlog.arrival) backlog.arrival = id;
  }

  /** The position and the size of the next page of the backlog; null if nothing can be fetched now. */
  nextPage(lane: Lane): { readonly position: Uuid; readonly count: number } | null {
    const { position } = this.#backlogs[lane];
    if (position === null || this.isPaused || this.#queues[lane].length >= DRAW_BELOW) return null;
    const count = Math.min(DRAW_MAX, this.room);
    return count > 0 ? { position, count } : null;
  }

  /**
   * Notes that the backlog was fetched up to `position`, or to its end for null. A joined delivery that the fetch may
   * have passed is fetched next.
   */
  markFetched(lane: Lane, position: Uuid | null): void {
    const backlog = this.#backlogs[lane];
    const { arrival } = backlog;
    const isPassed = arrival !== null && (position === null || arrival <= position);
    backlog.position = isPassed ? firstUuidAt(createdAtOf(arrival)) : position;
    if (isPassed) backlog.arrival = null;
    this.isCatchingUp &&= this.#hasAnyBacklog;
  }

  /** Based on the last answers alone. `classAt` also considers overdue answers. */
  get endpointClass(): EndpointClass {
    return this.#class;
  }

  classAt(now: number): EndpointClass {
    return this.#isStalled(now) ? 'slow' : this.#class;
  }

  /** True if no attempt can start before `answered`, `withdraw` or the end of the pause. */
  isBlocked(now: number): boolean {
    const most = this.isCatchingUp ? this.#settings.concurrencyMax / 4 : this.#concurrency;
    return this.isPaused || this.inFlight >= Math.min(most, this.#concurrency) || this.#isStalled(now);
  }

  /** True if a delivery can be sent. `withRetries`: slots for retries are free. */
  hasWork(withRetries: boolean): boolean {
    return (withRetries ? this.waiting : this.#queues.first.length) > 0;
  }

  add(entry: T, lane: Lane): void {
    this.#queues[lane].push(entry);
  }

  /**
   * The next entry. First attempts have priority, but every fourth turn serves retries or, if no retry waits,
   * recoveries. Call `hasWork` first.
   */
  next(withRetries: boolean): { readonly entry: T; readonly isRetry: boolean } {
    this.#turn = (this.#turn + 1) % 4;
    const { first, retry, recovery } = this.#queues;
    const again = retry.length > 0 ? retry : recovery;
    const isRetry = first.length === 0 || (this.#turn === 0 && withRetries && again.length > 0);
    return { entry: (isRetry ? again : first).shift() as T, isRetry };
  }

  empty(): T[] {
    return LANES.flatMap((lane) => this.#queues[lane].splice(0));
  }

  /** Starts an attempt. Pass the result to `answered` or `withdraw`. */
  start(now: number): { readonly at: number } {
    const started = { at: now };
    this.#startedAt.add(started);
    return started;
  }

  /** Ends an attempt that was not made. */
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

  /** The observations since the last call, or null. */
  nextObservation(): EndpointObservation | null {
    if (this.#observation === null) return null;
    const observation = { ...this.#observation, key: this.key, concurrency: this.#concurrency };
    this.#observation = null;
    return observation;
  }

  /** True while the oldest attempt takes far longer than usual here. No new attempt starts until it ends. */
  #isStalled(now: number): boolean {
    for (const { at } of this.#startedAt) {
      if (this.#class === 'slow') return false;
      return now - at >= Math.max(STALL_MIN_MS, STALL_FACTOR * (this.#typicalMs ?? 0));
    }
    return false;
  }
}
