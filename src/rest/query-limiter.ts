/**
 * Bounds the queries of clients beyond single rows. Those over many properties or searches, which may take a second, run
 * in the query worker (queries/), a few at once; each statement has two seconds, and a client that leaves ends its own.
 */

import type { Context } from 'koa';
import { WorkerLostError } from '../engine/actor/worker-thread.ts';
import type { Database } from '../engine/store/database.ts';
import { isNoConnectionLeft, isStatementTimeout } from '../engine/store/outage.ts';
import { principalOf } from './auth.ts';
import { createConcurrencyLimit } from './concurrency-limit.ts';
import { goneOf } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { Problem } from './problem.ts';
import { leaveTurn } from './request-turns.ts';
import { LIMITED, REFUSALS } from './sentences.ts';

export interface QueryLimiter {
  /** For single explanations: its statements are given up after a while. */
  readonly database: Database;
  /** `gone` is aborted when the client leaves. Throws a 429 `Problem` when too many are asked, or this one takes too long. */
  run<T>(ctx: Context, work: (gone: AbortSignal) => Promise<T>): Promise<T>;
  /** Likewise for what a few keys answer: more of them at once. */
  runSingle<T>(ctx: Context, work: () => Promise<T>): Promise<T>;
}

/** Decisions, section 11. */
const BOUNDS = { perClientMax: 2, allMax: 8, retryAfterSeconds: 1, spreadSeconds: 8 };
const SINGLE_BOUNDS = { perClientMax: 20, allMax: 1_000, retryAfterSeconds: 1 };
const RETRY_AFTER_SECONDS = 5;

export function createQueryLimiter({ database: shared, queryDatabase }: ApiDependencies): QueryLimiter {
  const database = queryDatabase ?? shared;
  const limit = createConcurrencyLimit(LIMITED.queries, BOUNDS);
  const limitSingle = createConcurrencyLimit(LIMITED.singleQueries, SINGLE_BOUNDS);
  return {
    database,
    run(ctx, work) {
      leaveTurn(ctx);
      return limit(principalOf(ctx).clientId, () => {
        const gone = goneOf(ctx);
        return work(gone).catch((error: unknown) => refuse(error, gone));
      });
    },
    runSingle(ctx, work) {
      leaveTurn(ctx);
      return limitSingle(principalOf(ctx).clientId, () => work().catch(refuse));
    },
  };
}

function refuse(error: unknown, gone?: AbortSignal): never {
  // Nobody reads it.
  if (gone?.aborted) throw new Problem(400, REFUSALS.clientLeft);
  if (error instanceof WorkerLostError) {
    throw new Problem(503, REFUSALS.questionFailed, { headers: { 'Retry-After': '1' } });
  }
  const headers = { 'Retry-After': String(RETRY_AFTER_SECONDS) };
  if (isStatementTimeout(error)) throw new Problem(429, REFUSALS.tooLong, { headers });
  if (!isNoConnectionLeft(error)) throw error;
  throw new Problem(429, REFUSALS.busy(RETRY_AFTER_SECONDS), { headers });
}
