/** Notices before anything opens that a port is taken: later, work would be taken over and dropped again. */

import { createServer } from 'node:net';
import type { Config } from '../config.ts';

export class PortTakenError extends Error {
  readonly code = 'PORT_TAKEN';
}

/** Throws `PortTakenError`, which names every port of ours that cannot be listened on, and its setting. */
export async function assertPortsFree({ roles, operations, api, admin }: Config): Promise<void> {
  const wanted = [
    { setting: 'VIGIE_OPERATIONS', ...operations },
    ...(roles.includes('api') ? [{ setting: 'VIGIE_API', ...api }] : []),
    ...(roles.includes('admin') ? [{ setting: 'VIGIE_ADMIN', ...admin }] : []),
  ];
  const problems = await Promise.all(wanted.map(problemOf));
  const found = problems.filter((problem) => problem !== null);
  if (found.length > 0) throw new PortTakenError(found.join('\n'));
}

interface Wanted {
  readonly setting: string;
  readonly host: string;
  readonly port: number;
}

/** Null when the address is ours to take. */
function problemOf({ setting, host, port }: Wanted): Promise<string | null> {
  return new Promise((settle) => {
    const probe = createServer();
    probe.once('error', ({ code, message }: NodeJS.ErrnoException) => {
      const address = `${host}:${port}`;
      settle(
        code === 'EADDRINUSE'
          ? `another program listens on ${address}. Stop it, or give ${setting}_ADDRESS a port that is free (0 takes any).`
          : `cannot listen on ${address} (${message}). Correct ${setting}_ADDRESS.`,
      );
    });
    probe.listen(port, host, () => probe.close(() => settle(null)));
  });
}
