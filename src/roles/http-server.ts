/** HTTP servers with bounded connections, time limits, and an orderly shutdown. */

import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startTask } from '../engine/actor/task.ts';
import { endsWithin } from '../engine/actor/waiting.ts';

export interface ServerBounds {
  readonly connectionsMax: number;
  /** From the first byte of a request to its last. */
  readonly requestTimeoutMs?: number;
  /** Without a byte in either direction, between two requests too. Longer than any answer takes to begin. */
  readonly idleTimeoutMs?: number;
}

/** The time for a megabyte on a slow connection. */
const REQUEST_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 5_000;
/** Longer than the minute for which most load balancers keep a connection: they must be the first to close it. */
const IDLE_TIMEOUT_MS = 75_000;

/**
 * Requests that are not sent in time end with 408 and their connections, idle connections end, and excess connections
 * are closed at once.
 */
export function createHttpServer(listener: RequestListener, bounds: ServerBounds): Server {
  const { connectionsMax, requestTimeoutMs = REQUEST_TIMEOUT_MS, idleTimeoutMs = IDLE_TIMEOUT_MS } = bounds;
  const headersTimeout = Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs);
  const times = {
    headersTimeout,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: idleTimeoutMs,
    // The precision of Node.js for the first two.
    connectionsCheckingInterval: Math.ceil(headersTimeout / 10),
  };
  const server = createServer(times, listener);
  server.maxConnections = connectionsMax;
  return server.setTimeout(idleTimeoutMs);
}

/**
 * Resolves with the URL; rejects when the port is taken. Once `ending` is aborted every answer closes its connection,
 * so that clients with kept connections go to another instance.
 */
export function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  ending: AbortSignal,
): Promise<string> {
  const closeKeepAlive = (_: IncomingMessage, response: ServerResponse): void =>
    void response.setHeader('Connection', 'close');
  ending.addEventListener('abort', () => server.prependListener('request', closeKeepAlive), { once: true });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const { address, port: bound, family } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
    });
  });
}

/** The time limit of a client that neither ends its request nor reads its answer. */
const SLOW_CLIENT_MAX_MS = 5_000;
const CHECK_EVERY_MS = 50;
/** For the last answers to reach their clients. */
const LAST_ANSWERS_MS = 250;

/**
 * Refuses new connections, answers the requests received, and resolves when the last connection has ended. Idle
 * connections end at once. Remaining ones are closed after the clients' time limit, though not before `lastWork` has
 * resolved: the work that requests may wait for, bounded by its owner.
 */
export async function closeServer(server: Server, lastWork: () => Promise<unknown> = async () => null): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // A connection whose last answer began before the shutdown is idle only when that answer has ended.
  const work = (): void => server.closeIdleConnections();
  const idle = startTask({ what: 'idle connections', everyMs: CHECK_EVERY_MS, work });
  try {
    if (await endsWithin(closed, SLOW_CLIENT_MAX_MS)) return;
    await lastWork();
    if (await endsWithin(closed, LAST_ANSWERS_MS)) return;
    server.closeAllConnections();
    await closed;
  } finally {
    await idle.stop();
  }
}
