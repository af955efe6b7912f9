/**
 * The health service (grpc.health.v1), the one that strangers may call: what they ask is bounded in number and time, and
 * nothing they name is kept. grpc-health-check brings the definition; its implementation keeps every name ever watched.
 */

import {
  ResponderBuilder,
  type Server,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { service } from 'grpc-health-check';
import { deadlineExceeded, exhausted, notFound, statusOf, unavailable } from './errors.ts';

type Serving = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';
interface Question {
  readonly service: string;
}
interface Answer {
  readonly status: Serving;
}
type Watcher = ServerWritableStream<Question, Answer>;

export interface Health {
  /** Tells those who watch. */
  setServing(isServing: boolean): void;
}

const HEALTH_PATH = '/grpc.health.v1.Health/';
const WATCHERS_MAX = 16;
/** Half-sent questions may hold a message of the full size each. */
const CALLS_MAX = 32;
const QUESTION_MS = 10_000;

export function isHealthCall(path: string): boolean {
  return path.startsWith(HEALTH_PATH);
}

/** `names`: the services that have a status. `stopping`: ends the watches. */
export function addHealth(server: Server, names: readonly string[], stopping: AbortSignal): Health {
  let current: Serving = 'SERVING';
  const watchers = new Set<Watcher>();
  stopping.addEventListener('abort', () => {
    for (const watcher of watchers) watcher.emit('error', statusOf(unavailable('this instance, which is stopping,')));
  });
  server.addService(service, {
    check({ request }: ServerUnaryCall<Question, Answer>, callback: sendUnaryData<Answer>) {
      if (names.includes(request.service)) callback(null, { status: current });
      else callback(statusOf(notFound('Service', 'such service')));
    },
    list(_call: ServerUnaryCall<unknown, unknown>, callback: sendUnaryData<unknown>) {
      callback(null, { statuses: Object.fromEntries(names.map((name) => [name, { status: current }])) });
    },
    watch(watcher: Watcher) {
      if (watchers.size >= WATCHERS_MAX) {
        watcher.emit('error', statusOf(exhausted('TOO_MANY_WATCHERS', `at most ${WATCHERS_MAX} watch health at once`)));
        return;
      }
      watchers.add(watcher);
      watcher.on('cancelled', () => watchers.delete(watcher));
      watcher.write({ status: names.includes(watcher.request.service) ? current : 'SERVICE_UNKNOWN' });
    },
  });
  return {
    setServing(isServing) {
      const next = isServing ? 'SERVING' : 'NOT_SERVING';
      if (next === current) return;
      current = next;
      for (const watcher of watchers) {
        if (names.includes(watcher.request.service)) watcher.write({ status: current });
      }
    },
  };
}

/** Ends what is one health call too many, and those whose question does not come. */
export function boundHealthCalls(questionMs: number = QUESTION_MS): ServerInterceptor {
  let calls = 0;
  return (method, call) => {
    if (!isHealthCall(method.path)) return new ServerInterceptingCall(call);
    let timer: NodeJS.Timeout | undefined;
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        if (calls >= CALLS_MAX) {
          call.sendStatus(statusOf(exhausted('TOO_MANY_CALLS', `at most ${CALLS_MAX} ask for health at once`)));
          return;
        }
        calls += 1;
        timer = setTimeout(() => call.sendStatus(statusOf(deadlineExceeded())), questionMs);
        next(metadata);
      })
      .withOnReceiveMessage((message, next) => {
        clearTimeout(timer);
        next(message);
      })
      // After every end, ours or the caller's.
      .withOnCancel(() => {
        if (timer === undefined) return;
        clearTimeout(timer);
        calls -= 1;
      })
      .build();
    return new ServerInterceptingCall(call, new ResponderBuilder().withStart((next) => next(listener)).build());
  };
}
