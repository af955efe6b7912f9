/** Opens a test's own servers on the loopback interface. */

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { tryPort } from '../../src/local/child-server.ts';
import type { Cleanup } from './servers.ts';
import { until } from './until.ts';

/** Below the ports that Linux gives to programs that ask for any free port (`ip_local_port_range`). */
const [LATER_FROM, LATER_BELOW] = [20_000, 32_768];

/** Resolves with a free port for a server that starts later. No other program gets it by chance in the meantime. */
export async function portForLater(): Promise<number> {
  const found = await until(
    () => tryPort('127.0.0.1', randomInt(LATER_FROM, LATER_BELOW)).catch(() => null),
    (port) => port !== null,
  );
  return Number(found);
}

/**
 * Listens on a free port of the loopback interface, and resolves with the port. After the test it closes the server
 * and its connections.
 */
export async function listenOnLoopback(cleanup: Cleanup, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.once('close', () => sockets.delete(socket))));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanup.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
