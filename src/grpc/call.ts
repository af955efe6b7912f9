/**
 * Turns an asynchronous function into a gRPC handler. The deadline and the caller's cancellation abort a signal, which
 * also cancels the call's statements in PostgreSQL. Errors become statuses with details, and each call is logged.
 */

import type { EventEmitter } from 'node:events';
import type {
  handleUnaryCall,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
  sendUnaryData,
} from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { orAborted } from '../engine/actor/waiting.ts';
import type { AskThread } from '../engine/actor/worker-thread.ts';
import { isBrokerOutage } from '../engine/broker/outage.ts';
import { snakeCase } from '../engine/domain/text.ts';
import { cancellable } from '../engine/store/cancellable.ts';
import { isDatabaseOutage } from '../engine/store/outage.ts';
import type { AdminDependencies } from './dependencies.ts';
import {
  AdminError,
  cancelled,
  deadlineExceeded,
  internalError,
  invalidArgument,
  senderTooSlow,
  statusOf,
  unavailable,
} from './errors.ts';
import type { AdminServiceServer, AdminServiceService } from './generated/vigie/admin/v1/admin.ts';

export interface CallContext {
  /** Aborted at the deadline and when the caller cancels. Its reason is the `AdminError` with which the call ends. */
  readonly signal: AbortSignal;
}

/** The time limits of calls without a deadline. */
export interface CallTimeouts {
  readonly usualMs: number;
  /** For the `LONG` methods of `handlers.ts`, and for imports. */
  readonly longMs: number;
}

export const CALL_TIMEOUTS: CallTimeouts = { usualMs: 30_000, longMs: 10 * 60_000 };

/** The SQLSTATE of PostgreSQL's `idle_in_transaction_session_timeout`. */
const TRANSACTION_IDLE = '25P03';

type AnyCall =
  | ServerUnaryCall<unknown, unknown>
  | ServerReadableStream<unknown, unknown>
  | ServerWritableStream<unknown, unknown>;

/** `own`: the dependencies; their database cancels its statements when the signal of the call is aborted. */
type Handle<Q, R> = (request: Q, own: AdminDependencies, context: CallContext) => Promise<R>;

/** The handlers of unary methods, by the name of the method. */
export type Rpcs = {
  readonly [Name in keyof AdminServiceService]?: AdminServiceServer[Name] extends handleUnaryCall<infer Q, infer R>
    ? Handle<Q, R>
    : never;
};

/** `timeoutMs`: the time limit of a call without a deadline. */
export function unary<Q, R>(all: AdminDependencies, timeoutMs: number, handle: Handle<Q, R>) {
  return (call: ServerUnaryCall<Q, R>, callback: sendUnaryData<R>): void => {
    void run(all, call, timeoutMs, (own, context) => handle(call.request, own, context), callback);
  };
}

export function clientStreaming<Q, R>(all: AdminDependencies, timeoutMs: number, handle: Handle<AsyncIterable<Q>, R>) {
  return (call: ServerReadableStream<Q, R>, callback: sendUnaryData<R>): void => {
    void run(all, call, timeoutMs, (own, context) => handle(call, own, context), callback);
  };
}

/** A call without a deadline has no time limit. */
export function serverStreaming<Q, R>(all: AdminDependencies, handle: Handle<ServerWritableStream<Q, R>, void>) {
  return (call: ServerWritableStream<Q, R>): void => {
    const end = (error: unknown): void => {
      if (error === null) call.end();
      else call.emit('error', error);
    };
    void run(all, call, Number.POSITIVE_INFINITY, (own, context) => handle(call, own, context), end);
  };
}

async function run<R>(
  all: AdminDependencies,
  call: AnyCall,
  timeoutMs: number,
  handle: (own: AdminDependencies, context: CallContext) => Promise<R>,
  answer: sendUnaryData<R>,
): Promise<void> {
  const startedAt = performance.now();
  const controller = new AbortController();
  const { signal } = controller;
  const timer = startTimer(call.getDeadline(), timeoutMs, () => controller.abort(deadlineExceeded()));
  (call as EventEmitter).on('cancelled', () =>
    controller.abort(isPast(call.getDeadline()) ? deadlineExceeded() : cancelled()),
  );
  let failure: AdminError | null = null;
  let response: unknown = null;
  try {
    const askThread: AskThread = (program, request) => all.askThread(program, request, signal);
    if ('request' in call) requireValid(call.request);
    const own = { ...all, database: cancellable(all.database, signal), askThread };
    const answered = await orAborted(handle(own, { signal }), signal);
    response = answered;
    answer(null, answered);
  } catch (error) {
    failure = error instanceof AdminError ? error : foreignError(error, call, all);
    answer(statusOf(failure));
  } finally {
    clearTimeout(timer);
  }
  const code = status[failure?.code ?? status.OK];
  all.onCall(code);
  const method = call.getPath().split('/').at(-1) ?? '';
  const fields = {
    method,
    peer: call.getPeer(),
    code,
    error: failure === null ? null : withoutAddresses(failure.message),
    durationMs: Math.round(performance.now() - startedAt),
    ...argumentsOf('request' in call ? call.request : {}),
    result: resultOf(response),
  };
  if (READS.test(method)) all.logger.debug(fields, 'admin call');
  else all.logger.info(fields, 'admin call');
}

/** Throws INVALID_ARGUMENT for a request that could not be decoded, or that has a time outside the years 1 to 9999. */
function requireValid(request: unknown, path = ''): void {
  if (request instanceof AdminError) throw request;
  if (typeof request !== 'object' || request === null || ArrayBuffer.isView(request)) return;
  for (const [name, value] of Object.entries(request)) {
    const field = `${path}${snakeCase(name)}`;
    const year = value instanceof Date ? value.getUTCFullYear() : 1;
    if (!(year >= 1 && year <= YEAR_MAX)) throw invalidArgument(field, `must be in the years 1 to ${YEAR_MAX}`);
    requireValid(value, `${field}.`);
  }
}

/** The last year that google.protobuf.Timestamp allows. */
const YEAR_MAX = 9_999;

/** Methods that change nothing; they are logged at level debug. */
const READS = /^(?:Get|List|Explain|Watch)/;
/** URLs of endpoints may contain secrets, and addresses are personal data. */
const UNLOGGED = /(?:url|address)$/i;
const ARGUMENTS_LENGTH_MAX = 1_000;

/** For the log: the fields that the operator set, without URLs and addresses. No request has an API key. */
function argumentsOf(request: unknown) {
  const { reason = null, ...given } = JSON.parse(JSON.stringify(request, loggable)) as Record<string, unknown>;
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => Boolean(value)));
  const text = JSON.stringify(set);
  return { arguments: text.length > ARGUMENTS_LENGTH_MAX ? text.slice(0, ARGUMENTS_LENGTH_MAX) : set, reason };
}

/** A replacer for JSON.stringify, applied at every depth. */
function loggable(name: string, value: unknown): unknown {
  if (UNLOGGED.test(name)) return undefined;
  return typeof value === 'string' ? withoutAddresses(value) : value;
}

/** Replaces words that contain @ by an ellipsis, because they may be e-mail addresses. */
function withoutAddresses(text: string): string {
  if (!text.includes('@')) return text;
  const words = text.split(/(\s)/);
  return words.map((word) => (word.includes('@') ? '…' : word)).join('');
}

/** The name and the counts in a response, for the log: other members may be an API key or a whole document. */
function resultOf(response: unknown) {
  const entries = Object.entries(response ?? {});
  return Object.fromEntries(entries.filter(([name, value]) => name === 'name' || typeof value === 'number'));
}

/** Hides details of an internal error from the caller: they may contain addresses or values. */
function foreignError(error: unknown, call: AnyCall, { logger }: AdminDependencies): AdminError {
  if ((error as { code?: unknown } | null)?.code === TRANSACTION_IDLE) return senderTooSlow();
  if (isDatabaseOutage(error)) return unavailable('PostgreSQL');
  if (isBrokerOutage(error)) return unavailable('NATS');
  logger.error({ method: call.getPath(), err: error }, 'An admin call failed.');
  return internalError();
}

/** Only for calls without a deadline: grpc-js ends the others. */
function startTimer(deadline: Date | number, timeoutMs: number, onTimeout: () => void): NodeJS.Timeout | undefined {
  if (timeoutMs === Number.POSITIVE_INFINITY || Number(deadline) !== Number.POSITIVE_INFINITY) return undefined;
  return setTimeout(onTimeout, timeoutMs);
}

function isPast(deadline: Date | number): boolean {
  return Number(deadline) <= Date.now();
}
