/** PostgreSQL at its worst without being away: far more work than it can do, and statements that it refuses once. */

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { Settings } from '../../test/support/daemon.ts';
import type { PostgresPair } from '../../test/support/postgres-pair.ts';
import { temporaryDirectory } from '../../test/support/servers.ts';
import type { Fault } from './faults.ts';

type Lasting = (longestSeconds: number) => Promise<void>;

const LOADERS = 8;
/** Sorts what does not fit into its memory. */
const LOAD = 'select count(*) from (select md5(n::text) as hash from generate_series(1, 2000000) n order by 1) sorted';
const OVERLOAD_SECONDS_MAX = 600;

export function overloadFault(postgres: PostgresPair, lasting: Lasting): Fault {
  async function load(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const client = new pg.Client(postgres.urls[0]);
      client.on('error', () => undefined);
      try {
        await client.connect();
        while (!isOver()) await client.query(LOAD);
      } catch {
        // Killed meanwhile: the one that comes back is loaded as well.
        await lasting(1);
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }
  return {
    name: 'PostgreSQL is overloaded',
    weight: 1,
    victims: ['load'],
    async strike() {
      let isOver = false;
      const over = lasting(OVERLOAD_SECONDS_MAX).then(() => {
        isOver = true;
      });
      await Promise.all([over, ...Array.from({ length: LOADERS }, () => load(() => isOver))]);
    },
  };
}

export interface Hiccups {
  /** For every daemon. */
  readonly settings: Settings;
  readonly faultOf: (lasting: Lasting) => Fault;
}

/** See test/support/failing-statements.ts: each process meets each error at each statement once. */
export async function prepareHiccups(): Promise<Hiccups> {
  const file = join(await temporaryDirectory('hiccups'), 'faults');
  const failing = fileURLToPath(new URL('../../test/support/failing-statements.ts', import.meta.url));
  return {
    settings: { FAULTS_FILE: file, NODE_OPTIONS: `--import=tsx --import=${failing}` },
    faultOf: (lasting) => ({
      name: 'PostgreSQL refuses statements',
      weight: 2,
      victims: ['statements'],
      async strike() {
        await writeFile(file, '');
        await lasting(30);
        await rm(file);
      },
    }),
  };
}
