/** The type of a fault, and the faults that any server can have. Every fault repairs what it broke before it ends. */

import type { TestServer } from '../../test/support/servers.ts';
import { familyOf } from '../pipeline/processes.ts';

export interface Fault {
  readonly name: string;
  readonly weight: number;
  /** The parts that the fault breaks. A part has one fault at a time. */
  readonly victims: readonly string[];
  readonly strike: () => Promise<void>;
}

/** How long a fault waits; no wait is longer than a part of the run. */
export interface Durations {
  /** Waits for a random time of at most this many seconds. */
  readonly lasting: Lasting;
  readonly exactly: Lasting;
}

export type Lasting = (seconds: number) => Promise<void>;

export function serverFaults(name: string, server: TestServer, { lasting, exactly }: Durations): readonly Fault[] {
  return [
    {
      name: `kill -9 of ${name}`,
      weight: 4,
      victims: [name],
      async strike() {
        await server.kill();
        await lasting(5);
        await server.restart();
      },
    },
    {
      name: `${name} freezes`,
      weight: 2,
      victims: [name],
      strike: () => freezing(server, lasting(15)),
    },
    {
      name: `${name} freezes for a minute`,
      weight: 1,
      victims: [name],
      strike: () => freezing(server, exactly(60)),
    },
  ];
}

/** Stops a server and all its processes until `over` resolves. */
export async function freezing(server: Pick<TestServer, 'pid'>, over: Promise<void>): Promise<void> {
  signalFamily(server, 'SIGSTOP');
  await over;
  signalFamily(server, 'SIGCONT');
}

function signalFamily(server: Pick<TestServer, 'pid'>, signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of server.pid === null ? [] : familyOf(server.pid)) {
    try {
      process.kill(pid, signal);
    } catch {
      // The process has already ended.
    }
  }
}
