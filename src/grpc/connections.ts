/**
 * The connections of the gRPC port. Whoever has shown no token is a stranger; strangers are few, and take no place of
 * those who have: when one too many comes, the stranger who has been there longest is closed.
 */

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

const CONNECTIONS_MAX = 64;
const STRANGERS_MAX = 16;

export interface Connections {
  readonly port: number;
  /** `peer`, as grpc-js names it, has shown that it may call. */
  welcome(peer: string): void;
  /** Takes no more; those that are there stay. */
  close(): void;
  /** Ends those that are left. */
  destroy(): void;
}

/** `serve` is handed each connection. `port` 0 takes a free one. Rejects when the address is taken, or not ours. */
export async function openConnections(
  host: string,
  port: number,
  serve: (socket: Socket) => void,
): Promise<Connections> {
  const sockets = new Set<Socket>();
  /** By peer, the oldest first. */
  const strangers = new Map<string, Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.add(socket);
    strangers.set(peer, socket);
    socket.once('close', () => {
      sockets.delete(socket);
      if (strangers.get(peer) === socket) strangers.delete(peer);
    });
    // Whoever breaks off before a session has begun is heard by nobody else.
    socket.on('error', () => socket.destroy());
    serve(socket);
    if (strangers.size <= STRANGERS_MAX && sockets.size <= CONNECTIONS_MAX) return;
    const [longest] = strangers.values();
    longest?.destroy();
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as { readonly port: number }).port,
    welcome: (peer) => void strangers.delete(peer),
    close: () => void server.close(),
    destroy() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
