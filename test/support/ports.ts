/** Ports for servers of tests. */

import { succeeds } from '../../src/engine/actor/waiting.ts';
import { tryPort } from '../../src/local/child-server.ts';

/**
 * Below the ports that Linux gives to programs that ask for any free port (`ip_local_port_range`). Processes that run at
 * the same time usually have different hundreds.
 */
const PORTS = { first: 20_000, perProcess: 100, processes: 127 };
let given = 0;

/** Resolves with a free port for a server that starts later. No other program gets it by chance in the meantime. */
export async function portForLater(): Promise<number> {
  for (;;) {
    const port = PORTS.first + (process.pid % PORTS.processes) * PORTS.perProcess + (given % PORTS.perProcess);
    given += 1;
    if (await succeeds(tryPort('127.0.0.1', port))) return port;
  }
}
