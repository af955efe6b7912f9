/**
 * The limits on requests (decisions, sections 7 and 11). `RateLimiter` limits rates by a token bucket per key.
 * `ConcurrencyLimit` limits concurrent work, per client and in total. A request beyond a
 * `ConcurrencyLimit` waits if `waitingMax` allows it. Any other request beyond a limit is refused with 429.
 */

import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import { TurnRing } from '../engine/actor/turn-ring.ts';
import { withDeadline } from '../engine/actor/waiting.ts';
import { WorkerLostError } from '../engine/actor/worker-thread.ts';
import type { Principal } from '../engine/store/clients.ts';
import type { Database } from '../engine/store/database.ts';
import { isNoConnectionLeft, isStatementTimeout } from '../engine/store/outage.ts';
import { isWrite, principalOf } from './auth.ts';
import { goneOf } from './content.ts';
import type { ApiSettings, RateLimit } from './dependencies.ts';
import { BODY_BYTES_MAX, receiveBody, reservedBytes } from './json-body.ts';
import { Problem, storeFull } from './problem.ts';
import { LIMITED, REFUSALS, type Sentence } from './sentences.ts';

export interface ConcurrencyBounds {
  readonly perClientMax: number;
  readonly allMax: number;
  /** Maximum number of requests of a client that wait. Default: 0. */
  readonly waitingMax?: number;
  /** The `Retry-After` of a refusal. Default: 1. */
  readonly retryAfterSeconds?: number;
  /**
   * If the total is reached, a random number of seconds, less than `spreadSeconds`, is added to `Retry-After`, which
   * spreads the retries of clients. Default: 1.
   */
  readonly spreadSeconds?: number;
  /** True if a refusal closes its connection without reading the rest of the request. */
  readonly isClosing?: boolean;
}

/** Releases the units that `tryEnter`, `claim` or `enter` granted. Only the first call has an effect. */
export type Leave = () => void;

interface Waiting {
  readonly client: string;
  readonly host: '';
  readonly start: () => void;
}

/** Reads and writes of a client wait separately, and alternate. */
const KINDS = 2;

export class ConcurrencyLimit {
  readonly #what: Sentence;
  readonly #bounds: ConcurrencyBounds;
  readonly #random: () => number;
  readonly #ring = new TurnRing<Waiting>(KINDS);
  readonly #underWay = new Map<string, number>();
  readonly #waiting = new Map<string, number>();
  #all = 0;

  /** `what`: the subject of a refusal's sentence, in the plural. `random` is below 1. */
  constructor(what: Sentence, bounds: ConcurrencyBounds, random: () => number = Math.random) {
    this.#what = what;
    this.#bounds = bounds;
    this.#random = random;
  }

  /** Null when the limit is reached. */
  tryEnter(client: string): Leave | null {
    return this.#hasRoom(client) ? this.#start(client) : null;
  }

  /** Like `tryEnter`, for `weight` units, such as bytes. Throws a 429 `Problem` when the limit is reached. */
  claim(client: string, weight: number): Leave {
    return this.#hasRoom(client, weight) ? this.#start(client, weight) : this.#refuse(client, weight);
  }

  /**
   * Returns at once if the limit is not reached. Otherwise clients take turns (actor/turn-ring.ts), and the promise
   * rejects when `gone` is aborted. Throws a 429 `Problem` when too many requests of the client wait already, and a 400
   * `Problem` when the client has disconnected.
   */
  enter(client: string, gone: () => AbortSignal = noSignal, isWriting = false): Leave | Promise<Leave> {
    if (this.#hasRoom(client)) return this.#start(client);
    const { waitingMax = 0 } = this.#bounds;
    if ((this.#waiting.get(client) ?? 0) >= waitingMax) this.#refuse(client);
    const signal = gone();
    if (signal.aborted) throw new Problem(400, REFUSALS.clientGone);
    add(this.#waiting, client, 1);
    return new Promise((resolve, reject) => {
      const leaveRing = (): void => {
        signal.removeEventListener('abort', giveUp);
        this.#ring.place(waiting, null);
        add(this.#waiting, client, -1);
      };
      const giveUp = (): void => {
        leaveRing();
        reject(new Problem(400, REFUSALS.clientGone));
      };
      const start = (): void => {
        leaveRing();
        resolve(this.#start(client));
      };
      const waiting: Waiting = { client, host: '', start };
      this.#ring.place(waiting, isWriting ? 1 : 0);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  async run<T>(client: string, work: () => Promise<T>, gone?: () => AbortSignal): Promise<T> {
    const leave = await this.enter(client, gone);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  #hasRoom(client: string, weight = 1): boolean {
    return this.#all + weight <= this.#bounds.allMax && this.#hasOwnRoom(client, weight);
  }

  #hasOwnRoom(client: string, weight: number): boolean {
    return (this.#underWay.get(client) ?? 0) + weight <= this.#bounds.perClientMax;
  }

  #start(client: string, weight = 1): Leave {
    add(this.#underWay, client, weight);
    this.#all += weight;
    let isUnderWay = true;
    return () => {
      if (!isUnderWay) return;
      isUnderWay = false;
      add(this.#underWay, client, -weight);
      this.#all -= weight;
      this.#ring.next((next) => this.#hasRoom(next))?.start();
    };
  }

  #refuse(client: string, weight = 1): never {
    const { perClientMax, allMax, waitingMax = 0, retryAfterSeconds = 1, spreadSeconds = 1 } = this.#bounds;
    const headers = this.#bounds.isClosing ? { Connection: 'close' } : {};
    if (!this.#hasOwnRoom(client, weight))
      refuse(REFUSALS.tooManyAtOnce(this.#what, perClientMax + waitingMax), retryAfterSeconds, headers);
    const seconds = retryAfterSeconds + Math.floor(this.#random() * spreadSeconds);
    refuse(REFUSALS.busyWith(this.#what, allMax, seconds), seconds, headers);
  }
}

function noSignal(): AbortSignal {
  return new AbortController().signal;
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/** Throws a 429 `Problem`. */
export function refuse(detail: Sentence, seconds: number, headers: Readonly<Record<string, string>> = {}): never {
  throw new Problem(429, detail, { headers: { 'Retry-After': String(seconds), ...headers } });
}

const BUCKETS_MAX = 100_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

/**
 * A token bucket per key, in memory: `burst` tokens, refilled at `perSecond`. A bucket is refilled when it is read, so
 * there is no timer. A bucket that has not been read for long is full, and may be dropped. `nowMs` is monotonic.
 */
export class RateLimiter {
  readonly #nowMs: () => number;
  readonly #buckets = new LRUCache<string, Bucket>({ max: BUCKETS_MAX });

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Takes a token, if there is one. `retryAfterSeconds` is 0 when the request is allowed; seconds are rounded up. */
  consume(key: string, { perSecond, burst }: RateLimit) {
    const atMs = this.#nowMs();
    const bucket = this.#buckets.get(key) ?? { tokens: burst, atMs };
    this.#buckets.set(key, bucket);
    bucket.tokens = Math.min(burst, bucket.tokens + ((atMs - bucket.atMs) / 1_000) * perSecond);
    bucket.atMs = atMs;
    const isAllowed = bucket.tokens >= 1;
    if (isAllowed) bucket.tokens -= 1;
    return {
      remaining: Math.max(0, Math.floor(bucket.tokens)),
      fullAfterSeconds: Math.ceil((burst - bucket.tokens) / perSecond),
      retryAfterSeconds: isAllowed ? 0 : Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond)),
    };
  }

  /** Charges the further tokens that a request costs. The balance may become negative. */
  charge(key: string, tokens: number): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.tokens -= tokens;
  }
}

/** A body costs one more token per this many bytes, because reading and validating them takes as long as a request. */
const BYTES_PER_TOKEN = 64 * 1_024;

/**
 * Limits the rate per key and process, separately for reads and writes. Answers 429 with `Retry-After` before the body
 * of the request is read, and sets `RateLimit-*` (IETF draft, third version) on the answer.
 */
export function limitRate(settings: ApiSettings, nowMs: () => number): Middleware {
  const [reads, writes] = [new RateLimiter(nowMs), new RateLimiter(nowMs)];
  return (ctx, next) => {
    const principal = ctx.state.principal as Principal | undefined;
    if (principal === undefined) return next();
    const { keyId } = principal;
    const isWriting = isWrite(ctx);
    const limit = limitOf(principal, isWriting, settings);
    const rates = isWriting ? writes : reads;
    const { remaining, fullAfterSeconds, retryAfterSeconds } = rates.consume(keyId, limit);
    ctx.state.chargeBody = (bytes: number) => rates.charge(keyId, Math.floor(bytes / BYTES_PER_TOKEN));
    ctx.res.setHeader('RateLimit-Limit', limit.burst);
    ctx.res.setHeader('RateLimit-Remaining', remaining);
    ctx.res.setHeader('RateLimit-Reset', fullAfterSeconds);
    if (retryAfterSeconds > 0) refuse(REFUSALS.rate(limit.perSecond, isWriting), retryAfterSeconds);
    return next();
  };
}

/** On a full disk only some writes fail. All are refused, so that clients learn at once that they must wait. */
export function refuseWritesWhile(isStoreFull: () => boolean): Middleware {
  return (ctx, next) => {
    if (ctx.state.principal !== undefined && isWrite(ctx) && isStoreFull()) throw storeFull();
    return next();
  };
}

function limitOf(client: Principal, isWriting: boolean, settings: ApiSettings): RateLimit {
  const limit = isWriting ? settings.writeLimit : settings.rateLimit;
  const perSecond = (isWriting ? client.writeLimitPerSecond : client.rateLimitPerSecond) ?? limit.perSecond;
  const burst = isWriting ? client.writeLimitBurst : client.rateLimitBurst;
  return { perSecond, burst: burst ?? Math.max(limit.burst, perSecond) };
}

const CLIENT_SHARE = 1 / 3;

/** Limits the memory of request bodies. A body counts until its request is answered. */
const BODY_BYTES = {
  perClientMax: 16 * BODY_BYTES_MAX,
  allMax: 64 * BODY_BYTES_MAX,
  spreadSeconds: 8,
  isClosing: true,
};

/**
 * Clients take turns for the connections of the API's pool, one request per turn, and none uses more than a third of
 * them. A request waits for its turn after it has arrived completely, so that a slow connection holds no turn. The turn
 * ends with the answer, or before a long wait (`leaveTurn`). Requests without a key take no turn. Points of interest
 * need no connection and are answered earlier.
 */
export function createTurns(connectionsMax: number): Middleware {
  // One connection is reserved for the process itself.
  const allMax = Math.max(1, connectionsMax - 1);
  const perClientMax = Math.max(1, Math.floor(allMax * CLIENT_SHARE));
  const turns = new ConcurrencyLimit(LIMITED.requests, { perClientMax, allMax, waitingMax: Infinity });
  const bodies = new ConcurrencyLimit(LIMITED.bodyBytes, BODY_BYTES);
  return async (ctx, next) => {
    if (ctx.state.principal === undefined) return next();
    const { clientId } = principalOf(ctx);
    const release = bodies.claim(clientId, reservedBytes(ctx));
    let leave: Leave | undefined;
    try {
      await receiveBody(ctx);
      leave = await turns.enter(clientId, () => goneOf(ctx), isWrite(ctx));
      ctx.state.leaveTurn = leave;
      return await next();
    } finally {
      leave?.();
      release();
    }
  };
}

/** Called before a wait for another party, such as an endpoint: the log does not report the request as slow. */
export function waitForOthers(ctx: Context): void {
  ctx.state.waitsForOthers = true;
  leaveTurn(ctx);
}

/** Called before long work, or a long wait, that needs no connection of the API's pool. */
export function leaveTurn(ctx: Context): void {
  (ctx.state.leaveTurn as Leave | undefined)?.();
}

export type QueryLimiter = ReturnType<typeof createQueryLimiter>;

/** The numbers of concurrent queries are those of the decisions, section 11. */
const QUERIES = { perClientMax: 2, allMax: 8, spreadSeconds: 8 };
const SINGLE_QUERIES = { perClientMax: 20, allMax: 1_000 };
const PUBLIC_QUERIES = { perClientMax: 1, allMax: 2, waitingMax: 10 };
const RETRY_AFTER_SECONDS = 5;
/** The longest time that a client waits for a query on a busy machine. */
const DEADLINE_MS = 30_000;

/**
 * Limits clients' queries for more than single rows. Queries over many properties, searches or e-mails take long, so
 * only a few run at a time (`run`).
 */
export function createQueryLimiter(database: Database, deadlineMs = DEADLINE_MS) {
  const queries = new ConcurrencyLimit(LIMITED.queries, QUERIES);
  const singleQueries = new ConcurrencyLimit(LIMITED.singleQueries, SINGLE_QUERIES);
  const publicQueries = new ConcurrencyLimit(LIMITED.publicQueries, PUBLIC_QUERIES);
  return {
    /** For statements of these queries outside worker threads. Each statement has a time limit. */
    database,
    /** `gone`: aborted on disconnection and at the deadline. Throws a 429 `Problem` beyond a limit or the deadline. */
    run<T>(ctx: Context, work: (gone: AbortSignal) => Promise<T>): Promise<T> {
      leaveTurn(ctx);
      return queries.run(principalOf(ctx).clientId, () => {
        const gone = goneOf(ctx);
        const late = (): Error => new Error('the query took too long');
        return withDeadline(deadlineMs, gone, late, ({ signal }) =>
          work(signal).catch((error: unknown) => refuseQuery(error, gone, signal)),
        );
      });
    },
    /** Like `run`, for short queries, of which more may run at once. Only their statements have a time limit. */
    runSingle<T>(ctx: Context, work: () => Promise<T>): Promise<T> {
      leaveTurn(ctx);
      return singleQueries.run(principalOf(ctx).clientId, () => work().catch(refuseQuery));
    },
    /** For a reader without a key. One query of the reader runs at a time, and two in total; further ones wait. */
    runPublic<T>(reader: string, work: () => Promise<T>): Promise<T> {
      return publicQueries.run(reader, () => work().catch(refuseQuery));
    },
  };
}

function refuseQuery(error: unknown, gone?: AbortSignal, ending?: AbortSignal): never {
  // The client has disconnected, and will not read this answer.
  if (gone?.aborted) throw new Problem(400, REFUSALS.clientGone);
  if (error instanceof WorkerLostError) {
    throw new Problem(503, REFUSALS.questionFailed, { headers: { 'Retry-After': '1' } });
  }
  if (ending?.aborted || isStatementTimeout(error)) refuse(REFUSALS.tooLong, RETRY_AFTER_SECONDS);
  if (!isNoConnectionLeft(error)) throw error;
  refuse(REFUSALS.busy(RETRY_AFTER_SECONDS), RETRY_AFTER_SECONDS);
}
