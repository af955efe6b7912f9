/** HTTP servers from the first connection to the last: listening, saying farewell, closing. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startTask } from '../engine/actor/task.ts';
import { endsWithin } from '../engine/actor/waiting.ts';

/**
 * Resolves with the URL; rejects when the port is taken. Once `ending` is aborted every answer ends its connection, so
 * that clients who keep theirs look for another instance.
 */
export function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  ending: AbortSignal,
): Promise<string> {
  const sayFarewell = (_: IncomingMessage, response: ServerResponse): void =>
    void response.setHeader('Connection', 'close');
  ending.addEventListener('abort', () => server.prependListener('request', sayFarewell), { once: true });
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
