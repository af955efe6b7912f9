/**
 * Limits concurrent requests of a kind, per client and in total, for requests that hold a scarce resource for as long
 * as another party decides. A request beyond the limit is asked to retry later, and never waits here.
 */

import type { Context } from 'koa';
import { WorkerLostError } from '../engine/actor/worker-thread.ts';
import type { Uuid } from '../engine/domain/ids.ts';
import type { Database } from '../engine/store/database.ts';
import { isNoConnectionLeft, isStatementTimeout } from '../engine/store/outage.ts';
import { principalOf } from './auth.ts';
import { goneOf } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { Problem } from './problem.ts';
import { leaveTurn } from './request-turns.ts';
import { LIMITED, REFUSALS, type Sentence } from './sentences.ts';

export interface ConcurrencyBounds {
  readonly perClientMax: number;
  readonly allMax: number;
  /** The `Retry-After` of a refusal. */
  readonly retryAfterSeconds: number;
  /**
   * Requests beyond the total get a random number of up to as many seconds, so that a crowd does not return in the same
   * second. Default one.
   */
  readonly spreadSeconds?: number;
}

export type ConcurrencyLimit = <T>(clientId: Uuid, work: () => Promise<T>) => Promise<T>;

/**
 * Returns a function that runs `work`, or throws a 429 `Problem`. `what` is the subject of its sentence, in the plural;
 * `random` is below 1.
 */
export function createConcurrencyLimit(
  what: Sentence,
  bounds: ConcurrencyBounds,
  random: () => number = Math.random,
): ConcurrencyLimit {
  const { perClientMax, allMax, retryAfterSeconds, spreadSeconds = 1 } = bounds;
  const take = createPlaces(bounds);
  return async (clientId, work) => {
    const giveBack = take(clientId);
    if (giveBack === 'client is full') refuse(REFUSALS.tooManyAtOnce(what, perClientMax), retryAfterSeconds);
    if (giveBack === 'all are full') {
      const seconds = retryAfterSeconds + Math.floor(random() * spreadSeconds);
      refuse(REFUSALS.busyWith(what, allMax, seconds), seconds);
    }
    try {
      return await work();
    } finally {
      giveBack();
    }
  };
}

type Places = Pick<ConcurrencyBounds, 'perClientMax' | 'allMax'>;

/** What it returns takes a place, and returns how to give it back, or why there is none. */
export function createPlaces({ perClientMax, allMax }: Places) {
  const byClient = new Map<Uuid, number>();
  let all = 0;
  return (clientId: Uuid): (() => void) | 'client is full' | 'all are full' => {
    const own = byClient.get(clientId) ?? 0;
    if (own >= perClientMax) return 'client is full';
    if (all >= allMax) return 'all are full';
    byClient.set(clientId, own + 1);
    all += 1;
    return () => {
      all -= 1;
      const left = (byClient.get(clientId) ?? 1) - 1;
      if (left === 0) byClient.delete(clientId);
      else byClient.set(clientId, left);
    };
  };
}

function refuse(detail: Sentence, seconds: number): never {
  throw new Problem(429, detail, { headers: { 'Retry-After': String(seconds) } });
}

export interface QueryLimiter {
  /** For single explanations: its statements have a time limit. */
  readonly database: Database;
  /** `gone`: the client has disconnected. Throws a 429 `Problem` when too many queries run, or this one is too slow. */
  run<T>(ctx: Context, work: (gone: AbortSignal) => Promise<T>): Promise<T>;
  /** The same for queries of a few keys: more of them at once. */
  runSingle<T>(ctx: Context, work: () => Promise<T>): Promise<T>;
}

/** Decisions, section 11. */
const BOUNDS = { perClientMax: 2, allMax: 8, retryAfterSeconds: 1, spreadSeconds: 8 };
const SINGLE_BOUNDS = { perClientMax: 20, allMax: 1_000, retryAfterSeconds: 1 };
const RETRY_AFTER_SECONDS = 5;
/** Queries are as long as their work, whatever else the machine does; clients wait no longer than this. */
const DEADLINE_MS = 30_000;

/**
 * Bounds the queries of clients beyond single rows. Those over many properties or searches, which may take a second, run
 * in a thread of their own, a few at once; each statement has two seconds, and a client that leaves ends its own.
 */
export function createQueryLimiter(
  { database: shared, queryDatabase }: ApiDependencies,
  deadlineMs = DEADLINE_MS,
): QueryLimiter {
  const database = queryDatabase ?? shared;
  const limit = createConcurrencyLimit(LIMITED.queries, BOUNDS);
  const limitSingle = createConcurrencyLimit(LIMITED.singleQueries, SINGLE_BOUNDS);
  return {
    database,
    run(ctx, work) {
      leaveTurn(ctx);
      return limit(principalOf(ctx).clientId, () => {
        const gone = goneOf(ctx);
        const late = AbortSignal.timeout(deadlineMs);
        return work(AbortSignal.any([gone, late])).catch((error: unknown) => refuseQuery(error, gone, late));
      });
    },
    runSingle(ctx, work) {
      leaveTurn(ctx);
      return limitSingle(principalOf(ctx).clientId, () => work().catch(refuseQuery));
    },
  };
}

function refuseQuery(error: unknown, gone?: AbortSignal, late?: AbortSignal): never {
  // The answer is not read.
  if (gone?.aborted) throw new Problem(400, REFUSALS.clientLeft);
  if (error instanceof WorkerLostError) {
    throw new Problem(503, REFUSALS.questionFailed, { headers: { 'Retry-After': '1' } });
  }
  const headers = { 'Retry-After': String(RETRY_AFTER_SECONDS) };
  if (late?.aborted || isStatementTimeout(error)) throw new Problem(429, REFUSALS.tooLong, { headers });
  if (!isNoConnectionLeft(error)) throw error;
  throw new Problem(429, REFUSALS.busy(RETRY_AFTER_SECONDS), { headers });
}
