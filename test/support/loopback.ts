/** Opens a test's own servers on the loopback interface. */

import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Cleanup } from './servers.ts';

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
