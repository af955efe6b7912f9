/** TCP ports of the loopback interface. */

import { createServer } from 'node:net';

/** Another process may take it before it is used. */
export async function freePort(): Promise<number> {
  const port = await listenOnce(0);
  if (port === null) throw new Error('no port of 127.0.0.1 is free');
  return port;
}

export async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== null;
}

/** Null when the port is taken. */
function listenOnce(wanted: number): Promise<number | null> {
  return new Promise((settle, reject) => {
    const server = createServer().once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') settle(null);
      else reject(error);
    });
    server.listen(wanted, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => settle(port));
    });
  });
}
