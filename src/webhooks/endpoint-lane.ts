/**
 * One endpoint as the courier sees it: what waits for it here, how many attempts may run at once, and how it has been
 * answering. The number of attempts at once starts at one, grows with each quick answer and is halved by each attempt
 * that used up its time (additive increase, multiplicative decrease, as TCP does it, RFC 5681). So an endpoint gets
 * slots in proportion to what it answers, and one that hangs holds few of them.
 */

import type { AttemptOutcome } from '../domain/delivery.ts';
import { type EndpointObservation, partiesOf, type RememberedEndpoint } from '../domain/endpoint.ts';

/** `unproven`: has not answered yet. `slow`: its last answers, or those overdue at this moment, take a second or more. */
export type LaneClass = 'proven' | 'unproven' | 'slow';

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
/** Waiting here is for what will be sent soon: JetStream hands a message out again after 90 s. */
const WAIT_MAX_MS = 20_000;
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

export class EndpointLane<T> {
  readonly key: string;
  readonly client: string;
  readonly host: string;
  readonly #settings: LaneSettings;
  readonly #fresh: T[] = [];
  readonly #retries: T[] = [];
  /** When each attempt under way started, oldest first. */
  readonly #startedAt = new Set<{ readonly at: number }>();
  #turn = 0;
  #concurrency = 1;
  #class: LaneClass = 'unproven';
  #typicalMs: number | null = null;
  #observation: Omit<EndpointObservation, 'key' | 'concurrency'> | null = null;
  #hasAnswered = false;
  isPaused = false;
  /** PostgreSQL may hold parked deliveries for it. */
  mayHaveParked = false;

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
    if (failureStreak === 0) this.#class = 'proven';
    else if (lastError === 'timeout') this.#class = 'slow';
    this.#concurrency = Math.max(1, Math.min(concurrency, CONCURRENCY_REMEMBERED_MAX));
  }

  /** 200, at least once, to this process or an earlier one. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  get waiting(): number {
    return this.#fresh.length + this.#retries.length;
  }

  /** What has waited longest of its kind, roughly: the head of one of the two queues. */
  get oldest(): T | null {
    return this.#retries[0] ?? this.#fresh[0] ?? null;
  }

  get inFlight(): number {
    return this.#startedAt.size;
  }

  get concurrency(): number {
    return this.#concurrency;
  }

  /** What may wait here: as much as is sent within `WAIT_MAX_MS`. */
  get isFull(): boolean {
    if (this.#typicalMs === null) return this.waiting >= QUEUE_UNPROVEN;
    const soon = (this.#concurrency * WAIT_MAX_MS) / Math.max(1, this.#typicalMs);
    return this.waiting >= Math.min(QUEUE_MAX, Math.max(QUEUE_MIN, Math.floor(soon)));
  }

  /** Nothing waits, runs or is parked. */
  get isIdle(): boolean {
    return (
      this.waiting === 0 && this.inFlight === 0 && !this.mayHaveParked && !this.isPaused && this.#observation === null
    );
  }

  /** By its last answers alone. */
  get laneClass(): LaneClass {
    return this.#class;
  }

  classAt(now: number): LaneClass {
    return this.#isStalled(now) ? 'slow' : this.#class;
  }

  /** Nothing can start before `answered`, `withdraw` or the end of the pause. */
  isBlocked(now: number): boolean {
    return this.isPaused || this.inFlight >= this.#concurrency || this.#isStalled(now);
  }

  /** Whether there is something to send; `withRetries`: slots for retries are to be had. */
  hasWork(withRetries: boolean): boolean {
    return this.#fresh.length > 0 || (withRetries && (this.#retries.length > 0 || this.mayHaveParked));
  }

  add(entry: T, isRetry: boolean): void {
    (isRetry ? this.#retries : this.#fresh).push(entry);
  }

  /** A first attempt that goes before the others. */
  addFirst(entry: T): void {
    this.#fresh.unshift(entry);
  }

  /**
   * The next entry, or null for one to be drawn from what is parked. First attempts go first, but every fourth turn is
   * for what has waited longer. Ask `hasWork` before.
   */
  take(withRetries: boolean): { readonly entry: T | null; readonly isRetry: boolean } {
    this.#turn = (this.#turn + 1) % 8;
    const hasRetries = withRetries && this.#retries.length > 0;
    const hasParked = withRetries && this.mayHaveParked;
    const isFreshTurn = this.#fresh.length > 0 && (this.#turn % 4 !== 0 || !(hasRetries || hasParked));
    if (isFreshTurn) return { entry: this.#fresh.shift() as T, isRetry: false };
    const isParkedTurn = hasParked && (!hasRetries || this.#turn < 4);
    return { entry: isParkedTurn ? null : (this.#retries.shift() as T), isRetry: true };
  }

  /** Everything that waits here, taken out. */
  empty(): T[] {
    return [...this.#fresh.splice(0), ...this.#retries.splice(0)];
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
    this.#class = isTooLong || this.#typicalMs >= SLOW_FROM_MS ? 'slow' : 'proven';
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
    this.#observation =
      error === null
        ? { ...before, url, succeededAt: endedAt, failuresSinceSuccess: 0 }
        : {
            ...before,
            url,
            failedAt: endedAt,
            lastError: error,
            failuresSinceSuccess: before.failuresSinceSuccess + 1,
          };
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
