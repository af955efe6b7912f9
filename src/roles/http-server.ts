/** HTTP servers that nobody can fill: bounded connections, none that waits for ever, and an end in order. */

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

/** For a megabyte that is a slow line. */
const REQUEST_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 5_000;
/** Longer than most load balancers keep a connection that they may use again, a minute: they must be first to end it. */
const IDLE_TIMEOUT_MS = 75_000;

/**
 * Requests that are not sent in time end with 408 and their connections, idle connections end, and those beyond the
 * maximum are closed at once.
 */
export function createHttpServer(listener: RequestListener, bounds: ServerBounds): Server {
  const { connectionsMax, requestTimeoutMs = REQUEST_TIMEOUT_MS, idleTimeoutMs = IDLE_TIMEOUT_MS } = bounds;
  const headersTimeout = Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs);
  const times = {
    headersTimeout,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: idleTimeoutMs,
    // How exactly Node keeps the first two.
    connectionsCheckingInterval: Math.ceil(headersTimeout / 10),
  };
  const server = createServer(times, listener);
  server.maxConnections = connectionsMax;
  return server.setTimeout(idleTimeoutMs);
}

/**
 * Resolves with the URL; rejects when the port is taken. Once `ending` is aborted every answer ends its connection, so
 * that clients who keep theirs look for another instance.
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

/** A client that neither ends its request nor reads its answer has this long. */
const SLOW_CLIENT_MAX_MS = 5_000;
const LOOK_EVERY_MS = 50;
/** For the answers that came last to reach their clients. */
const LAST_ANSWERS_MS = 250;

/**
 * Refuses new connections, answers what was asked already, and resolves when the last connection has ended. Those on
 * which nothing is asked end at once. What is left when clients have had their time is cut off, though not before
 * `lastWork` has resolved: the work that requests may wait for, bounded by its owner.
 */
export async function closeServer(server: Server, lastWork: () => Promise<unknown> = async () => null): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // A connection whose last answer began before the farewell is idle only when that answer has ended.
  const work = (): void => server.closeIdleConnections();
  const idle = startTask({ what: 'idle connections', everyMs: LOOK_EVERY_MS, work });
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
