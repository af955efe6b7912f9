/**
 * Detects connections that wait for an answer that will never arrive. A network that drops packets, or has lost the
 * state of the connection, sends no reset. A slow statement looks the same on this side, so a separate connection asks
 * PostgreSQL about the sessions of silent connections. A session that is running a statement is left alone, however
 * long that takes. If the session has already answered or is gone, or if the server cannot be reached, the connection
 * is dead and is destroyed. Its users see an error, as after a reset. Detection usually takes less than 20 s.
 */

import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import pg from 'pg';
import { startTask, type Task } from '../actor/task.ts';
import { createSession, type DatabaseServers } from './database-servers.ts';

/** A client that is monitored while its socket is connected. */
interface WatchedClient {
  readonly client: pg.Client;
  readonly socket: Socket;
  bytesRead: number;
  /** When received bytes were last noticed; at first, when the client was added. Monotonic milliseconds. */
  heardAt: number;
  /** Number of bytes that had been sent when all requests were last answered. */
  bytesAnswered: number;
}

/** The session of one connection, as PostgreSQL reports it. */
interface SessionState {
  readonly pid: number;
  readonly isAtWork: boolean;
}

const CHECK_EVERY_MS = 2_500;
const SILENT_MS = 10_000;
const ANSWER_MAX_MS = 5_000;

/** Returns a class of clients for a pool. The clients connect to `servers` and are monitored. */
export function watchedClients(servers: DatabaseServers): new (options?: pg.ClientConfig) => pg.Client {
  const watch = createDeadConnectionDetector(servers);
  return class extends pg.Client {
    constructor(options: pg.ClientConfig = {}) {
      let socket: Socket | undefined;
      super({
        ...options,
        stream(client?: { readonly ssl?: unknown }) {
          socket = servers.openSocket(client);
          return socket;
        },
      });
      if (socket === undefined) return;
      watch.add(this, socket);
      socket.once('connect', () => {
        const { remoteAddress, remotePort } = socket as Socket;
        // A cancel request must go to the same server that this client has reached.
        if (remoteAddress !== undefined) Object.assign(this, { host: remoteAddress, port: remotePort });
      });
    }
  };
}

function createDeadConnectionDetector(servers: DatabaseServers) {
  const watched = new Set<WatchedClient>();
  let checking: Task | null = null;

  async function check(): Promise<void> {
    const lookedAt = performance.now();
    const silent = [...watched].filter((each) => silenceOf(each, lookedAt) > SILENT_MS && isWaiting(each));
    if (silent.length === 0) return;
    const readBefore = silent.map(({ socket }) => socket.bytesRead);
    const dead = await deadAmong(silent, servers);
    // If bytes have arrived since, they were in transit, so the connection is alive.
    const broken = dead.filter((each) => each.socket.bytesRead === readBefore[silent.indexOf(each)]);
    if (broken.length === 0) return;
    const now = performance.now();
    // Idle connections use the same network path. If they are dead, each would delay its next user.
    const unheard = [...watched].filter((each) => silenceOf(each, now) > SILENT_MS && !isWaiting(each));
    for (const { socket } of [...broken, ...unheard]) socket.destroy(silenceError());
  }

  return {
    add(client: pg.Client, socket: Socket) {
      const entry = {
        client,
        socket,
        bytesRead: 0,
        heardAt: performance.now(),
        bytesAnswered: Number.POSITIVE_INFINITY,
      };
      const noteAnswered = (): void => {
        entry.bytesAnswered = socket.bytesWritten;
      };
      // Connecting has its own time limit. The first statement can be sent only after `readyForQuery`.
      (client as unknown as { readonly connection: EventEmitter }).connection.once('readyForQuery', noteAnswered);
      client.on('drain', noteAnswered);
      socket.once('connect', () => {
        watched.add(entry);
        checking ??= startTask({ what: 'silence', everyMs: CHECK_EVERY_MS, work: check, keepsProcess: false });
      });
      socket.once('close', () => {
        watched.delete(entry);
        if (watched.size > 0) return;
        void checking?.stop();
        checking = null;
      });
    },
  };
}

/** Returns the milliseconds since bytes were received, and updates the entry. */
function silenceOf(entry: WatchedClient, now: number): number {
  const { bytesRead } = entry.socket;
  if (bytesRead !== entry.bytesRead) {
    entry.bytesRead = bytesRead;
    entry.heardAt = now;
  }
  return now - entry.heardAt;
}

function isWaiting({ socket, bytesAnswered }: WatchedClient): boolean {
  return socket.bytesWritten > bytesAnswered;
}

function silenceError(): Error {
  return Object.assign(new Error('the connection to PostgreSQL does not answer'), { code: 'ETIMEDOUT' });
}

async function deadAmong(
  silent: readonly WatchedClient[],
  servers: DatabaseServers,
): Promise<readonly WatchedClient[]> {
  try {
    const sessions = await readSessions(silent.map(processIdOf), servers);
    const atWork = new Set(sessions.filter(({ isAtWork }) => isAtWork).map(({ pid }) => pid));
    return silent.filter((each) => !atWork.has(processIdOf(each)));
  } catch (error) {
    // A server that refuses a connection with an error, such as too many connections, is reachable.
    return 'severity' in (error as object) ? [] : silent;
  }
}

const processIds = new WeakMap<object, number>();

/** Stores the server process of a client. With a pooler, it differs from the process in the cancel key. */
export function noteSession(client: object, processId: number): void {
  processIds.set(client, processId);
}

function processIdOf({ client }: WatchedClient): number {
  return processIds.get(client) ?? (client as unknown as { readonly processID: number }).processID;
}

/** Rejects if PostgreSQL refuses the connection or does not answer in time. */
async function readSessions(pids: readonly number[], servers: DatabaseServers): Promise<readonly SessionState[]> {
  const { client, end } = createSession(servers, 'vigie watch', ANSWER_MAX_MS);
  try {
    await client.connect();
    // No index: PostgreSQL builds the view from its few sessions. A session that waits for its client is not working.
    const { rows } = await client.query<SessionState>({
      text: `select pid, state = 'active' and wait_event_type is distinct from 'Client' as "isAtWork"
        from pg_stat_activity where pid = any($1)`,
      values: [pids],
    });
    return rows;
  } finally {
    void end();
  }
}
