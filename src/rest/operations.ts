/**
 * The operations port: liveness, readiness and metrics. It needs no key and shows no customer data; it is meant for the
 * loopback interface or an internal network.
 */

import Router from '@koa/router';
import Koa from 'koa';
import { inTime } from '../engine/actor/waiting.ts';
import type { ApiLogger } from './dependencies.ts';
import { reportProblems } from './problem.ts';

/** Returns nothing, or a warning, if the part works; else throws. `/readyz` shows the warning or error. */
export type Check = () => Promise<string | null | void> | string | null | void;

export interface OperationsDependencies {
  /** Keyed by name. `/readyz` is 200 when all of them pass. */
  readonly checks: Readonly<Record<string, Check>>;
  /** Prometheus text format. */
  readonly metrics: () => Promise<string>;
  readonly metricsContentType: string;
  readonly logger: Pick<ApiLogger, 'error'>;
}

const CHECK_TIMEOUT_MS = 2_000;

export function createOperations({ checks, metrics, metricsContentType, logger }: OperationsDependencies): Koa {
  const app = new Koa();
  const router = new Router();
  app.use(reportProblems(logger));
  // A process that answers is alive. An unreachable database is no reason to kill it.
  router.get('/healthz', (ctx) => {
    ctx.body = { status: 'ok' };
  });
  router.get('/readyz', async (ctx) => {
    const results = await Promise.all(Object.entries(checks).map(runCheck));
    const isReady = results.every(([, { status }]) => status !== 'failed');
    ctx.status = isReady ? 200 : 503;
    ctx.body = { status: isReady ? 'ok' : 'unavailable', checks: Object.fromEntries(results) };
  });
  router.get('/metrics', async (ctx) => {
    ctx.set('Content-Type', metricsContentType);
    ctx.body = await metrics();
  });
  app.use(router.routes());
  return app;
}

async function runCheck([name, check]: [string, Check]) {
  const startedAtMs = performance.now();
  const took = () => Math.round(performance.now() - startedAtMs);
  const late = (): Error => new Error(`no answer within ${CHECK_TIMEOUT_MS} ms`);
  try {
    // JSON leaves out an undefined reason.
    const reason = (await inTime(Promise.resolve(check()), CHECK_TIMEOUT_MS, late)) ?? undefined;
    return [name, { status: reason === undefined ? 'ok' : 'caution', durationMs: took(), reason }] as const;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [name, { status: 'failed', durationMs: took(), reason }] as const;
  }
}
