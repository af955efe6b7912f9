/** Listening and closing of HTTP servers. */

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Resolves with the URL; rejects when the port is taken. */
export function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const { address, port: bound, family } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
    });
  });
}

/** Answers what was asked already; idle keep-alive connections are closed at once. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}
