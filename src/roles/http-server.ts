/** HTTP servers with limits on connections and time, and an orderly shutdown. */

import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startTask } from '../engine/actor/task.ts';
import { endsWithin } from '../engine/actor/waiting.ts';

export interface ServerBounds {
  readonly connectionsMax: number;
  /** The time from the first byte of a request to its last byte. */
  readonly requestTimeoutMs?: number;
  /** Time without a byte in either direction, even between requests. Must exceed the time until any response begins. */
  readonly idleTimeoutMs?: number;
}

/** Enough for a megabyte on a slow connection. */
const REQUEST_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 5_000;
/** Most load balancers keep a connection for a minute and must be the first to close it, so this is longer. */
const IDLE_TIMEOUT_MS = 75_000;

/**
 * A request that is not sent in time is answered with 408, and its connection is closed. Idle connections are closed
 * too, and excess connections are closed at once.
 */
export function createHttpServer(listener: RequestListener, bounds: ServerBounds): Server {
  const { connectionsMax, requestTimeoutMs = REQUEST_TIMEOUT_MS, idleTimeoutMs = IDLE_TIMEOUT_MS } = bounds;
  const headersTimeout = Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs);
  const times = {
    headersTimeout,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: idleTimeoutMs,
    // Node.js checks the first two limits at this interval.
    connectionsCheckingInterval: Math.ceil(headersTimeout / 10),
  };
  const server = createServer(times, listener);
  server.maxConnections = connectionsMax;
  return server.setTimeout(idleTimeoutMs);
}

/**
 * Resolves with the URL; rejects if the port is in use. Once `ending` is aborted, the response to each new request
 * closes its connection, so that clients with persistent connections move to another instance.
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

/** The time limit for a client that does not complete its request or does not read its response. */
const SLOW_CLIENT_MAX_MS = 5_000;
const CHECK_EVERY_MS = 50;
/** Lets the last responses reach their clients. */
const LAST_ANSWERS_MS = 250;

/**
 * Refuses new connections, answers the received requests, and resolves when the last connection has ended. Idle
 * connections are closed at once. Other connections are closed after `SLOW_CLIENT_MAX_MS`, but not before `lastWork`
 * resolves. `lastWork` is work that requests may wait for; its owner limits its duration.
 */
export async function closeServer(server: Server, lastWork: () => Promise<unknown> = async () => null): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // A connection becomes idle when its last response ends, even if that response began before the shutdown.
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
