/**
 * From an asynchronous function to a gRPC handler: the deadline and the caller's cancellation become an abort signal,
 * errors become statuses with details, and each call leaves one line in the log.
 */

import type { EventEmitter } from 'node:events';
import type { ServerReadableStream, ServerUnaryCall, ServerWritableStream, sendUnaryData } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import type { AdminDependencies } from './dependencies.ts';
import { AdminError, cancelled, deadlineExceeded, internalError, statusOf, unavailable } from './errors.ts';

export interface CallContext {
  /** Aborted at the deadline and when the caller cancels; its reason is the `AdminError` to answer. */
  readonly signal: AbortSignal;
}

export interface CallOptions {
  /** For a caller that gives no deadline. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;
export const LONG_TIMEOUT_MS = 10 * 60_000;

type AnyCall =
  | ServerUnaryCall<unknown, unknown>
  | ServerReadableStream<unknown, unknown>
  | ServerWritableStream<unknown, unknown>;

export type Reports = Pick<AdminDependencies, 'logger' | 'onCall'>;

export function unary<Q, R>(
  reports: Reports,
  handle: (request: Q, context: CallContext) => Promise<R>,
  options: CallOptions = {},
) {
  return (call: ServerUnaryCall<Q, R>, callback: sendUnaryData<R>): void => {
    void run(reports, call, options.timeoutMs ?? TIMEOUT_MS, (context) => handle(call.request, context), callback);
  };
}

export function clientStreaming<Q, R>(
  reports: Reports,
  handle: (requests: AsyncIterable<Q>, context: CallContext) => Promise<R>,
  options: CallOptions = {},
) {
  return (call: ServerReadableStream<Q, R>, callback: sendUnaryData<R>): void => {
    void run(reports, call, options.timeoutMs ?? TIMEOUT_MS, (context) => handle(call, context), callback);
  };
}

/** A stream without a deadline goes on until the caller cancels. */
export function serverStreaming<Q, R>(
  reports: Reports,
  handle: (call: ServerWritableStream<Q, R>, context: CallContext) => Promise<void>,
) {
  return (call: ServerWritableStream<Q, R>): void => {
    const end = (error: unknown): void => {
      if (error === null) call.end();
      else call.emit('error', error);
    };
    void run<null>(
      reports,
      call,
      Number.POSITIVE_INFINITY,
      async (context) => {
        await handle(call, context);
        return null;
      },
      (error) => end(error),
    );
  };
}

async function run<R>(
  reports: Reports,
  call: AnyCall,
  timeoutMs: number,
  handle: (context: CallContext) => Promise<R>,
  answer: sendUnaryData<R>,
): Promise<void> {
  const startedAt = performance.now();
  const controller = new AbortController();
  const timer = startTimer(call.getDeadline(), timeoutMs, () => controller.abort(deadlineExceeded()));
  (call as EventEmitter).on('cancelled', () =>
    controller.abort(isPast(call.getDeadline()) ? deadlineExceeded() : cancelled()),
  );
  let failure: AdminError | null = null;
  try {
    const response = await orAborted(handle({ signal: controller.signal }), controller.signal);
    answer(null, response);
  } catch (error) {
    failure = error instanceof AdminError ? error : foreignError(error, call, reports);
    answer(statusOf(failure));
  } finally {
    clearTimeout(timer);
  }
  const code = status[failure?.code ?? status.OK];
  reports.onCall(code);
  reports.logger.info(
    {
      method: call.getPath(),
      peer: call.getPeer(),
      code,
      reason: failure?.message ?? null,
      durationMs: Math.round(performance.now() - startedAt),
    },
    'admin call',
  );
}

/** What is not ours is not shown: it may hold addresses or values. */
function foreignError(error: unknown, call: AnyCall, { logger }: Reports): AdminError {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string' && /^(ECONN|08|57P|EPIPE|ETIMEDOUT)/.test(code)) return unavailable('PostgreSQL');
  if (code === 'TIMEOUT' || code === '503' || code === 'CONNECTION_CLOSED') return unavailable('NATS');
  logger.error({ method: call.getPath(), err: error }, 'admin call failed');
  return internalError();
}

function orAborted<R>(work: Promise<R>, signal: AbortSignal): Promise<R> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** grpc-js ends the call at the caller's deadline by itself; this one is for those without. */
function startTimer(deadline: Date | number, timeoutMs: number, onTimeout: () => void): NodeJS.Timeout | undefined {
  if (timeoutMs === Number.POSITIVE_INFINITY || Number(deadline) !== Number.POSITIVE_INFINITY) return undefined;
  return setTimeout(onTimeout, timeoutMs);
}

function isPast(deadline: Date | number): boolean {
  return Number(deadline) <= Date.now();
}
