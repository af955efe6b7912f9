/**
 * Runs statements for a caller that may disconnect. If the caller's signal aborts, the running statement is also
 * cancelled in PostgreSQL, because its locks and waits must not outlive the call.
 */

import { connect } from 'node:net';
import type { PoolClient, QueryConfig, QueryResult } from 'pg';
import type { Database } from './database.ts';

/** A view of the database. If `signal` aborts, its running statement is cancelled, and later statements reject. */
export function cancellable(database: Database, signal: AbortSignal): Database {
  async function borrow(): Promise<PoolClient> {
    signal.throwIfAborted();
    const client = await database.connect();
    if (signal.aborted) client.release();
    signal.throwIfAborted();
    const onAbort = (): void => {
      cancel(client);
      // No later statement of the call may run, and above all no commit.
      void client.end();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const { release } = client;
    // The replaced method lasts for one use, because the pool sets `release` each time that it lends the connection.
    client.release = (error) => {
      signal.removeEventListener('abort', onAbort);
      release(signal.aborted || error);
    };
    return client;
  }

  const query = async (statement: string | QueryConfig, values?: unknown[]): Promise<QueryResult> => {
    const client = await borrow();
    let broken: Error | undefined;
    // A connection that breaks also emits an event. The pool must not lend such a connection again.
    const onBroken = (error: Error): void => {
      broken = error;
    };
    client.on('error', onBroken);
    try {
      return await client.query(statement, values);
    } finally {
      client.off('error', onBroken);
      client.release(broken);
    }
  };
  return { query: query as Database['query'], connect: borrow };
}

interface BackendKey {
  readonly processID: number;
  readonly secretKey: number;
}

const CANCEL_REQUEST_CODE = 80_877_102;
const CANCEL_REQUEST_BYTES = 16;

/**
 * Sends a CancelRequest (PostgreSQL, "Frontend/Backend Protocol", 55.2.8). The request needs none of the server's
 * connections, which may all wait for the same lock. It has no answer. If it cannot be sent, the statement continues.
 */
function cancel(client: PoolClient): void {
  const { processID, secretKey } = client as unknown as BackendKey;
  const request = Buffer.alloc(CANCEL_REQUEST_BYTES);
  for (const [position, word] of [CANCEL_REQUEST_BYTES, CANCEL_REQUEST_CODE, processID, secretKey].entries()) {
    request.writeInt32BE(word, 4 * position);
  }
  const { host, port } = client;
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.on('error', () => undefined);
  socket.end(request);
}
