/** HTTP servers that nobody can fill: bounded connections, and none that waits for ever for its client. */

import { createServer, type RequestListener, type Server } from 'node:http';

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
 * maximum are closed unheard.
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
