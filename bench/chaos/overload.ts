/** Faults of a running PostgreSQL: it has far more work than it can do, or it refuses statements. */

import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { LOADER, moduleUrl } from '../../test/support/checkout.ts';
import type { Settings } from '../../test/support/daemon.ts';
import type { PostgresPair } from '../../test/support/postgres-pair.ts';
import { temporaryDirectory } from '../../test/support/servers.ts';
import { RECOVERY_MAX_MS, until } from '../../test/support/until.ts';
import type { Fault, Lasting } from './fault.ts';
import type { Instance } from './instances.ts';

const LOADERS = 4;
/** Sorts more rows than fit into the server's memory for a sort. */
const LOAD = 'select count(*) from (select md5(n::text) as hash from generate_series(1, 2000000) n order by 1) sorted';
const OVERLOAD_SECONDS_MAX = 60;
const STEADY_MS = 10_000;

/** Keeps PostgreSQL overloaded until `over` resolves. */
async function overload(postgres: PostgresPair, over: Promise<unknown>): Promise<void> {
  let isOver = false;
  async function load(): Promise<void> {
    while (!isOver) {
      const client = new pg.Client(postgres.urls[0]);
      client.on('error', () => undefined);
      try {
        await client.connect();
        while (!isOver) await client.query(LOAD);
      } catch {
        // The server was killed: continue when it is available again.
        await wait(1_000);
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }
  const loading = Array.from({ length: LOADERS }, load);
  await over;
  isOver = true;
  await Promise.all(loading);
}

export function overloadFault(postgres: PostgresPair, lasting: Lasting): Fault {
  return {
    name: 'PostgreSQL is overloaded',
    weight: 1,
    victims: ['load'],
    strike: () => overload(postgres, lasting(OVERLOAD_SECONDS_MAX)),
  };
}

export interface OverloadedScene {
  readonly servers: { readonly postgres: PostgresPair };
  readonly database: Pick<pg.Pool, 'query'>;
  readonly instances: readonly Instance[];
}

/**
 * Overloads PostgreSQL while nothing else is wrong, so that no instance has a reason to take the lead. Resolves with a
 * sentence if the leader changed.
 */
export async function overloadAlone(
  { servers, database, instances }: OverloadedScene,
  seconds: number,
): Promise<readonly string[]> {
  await Promise.all(instances.map((instance) => instance.untilUp()));
  const readTerm = async () => Number((await database.query('select term from intake_leader')).rows[0].term);
  const { after: before } = await until(
    async () => ({ before: await readTerm(), after: await wait(STEADY_MS).then(readTerm) }),
    (terms) => terms.before === terms.after,
    RECOVERY_MAX_MS,
  );
  await overload(servers.postgres, wait(1_000 * seconds));
  const changes = (await readTerm()) - before;
  return changes === 0 ? [] : [`the lead changed ${changes} times in ${seconds} s of overload`];
}

export interface Hiccups {
  /** For every daemon of the run. */
  readonly settings: Settings;
  readonly faultOf: (lasting: Lasting) => Fault;
  /** States how many different errors the daemons have received, at how many statements. */
  readonly summary: string;
}

/** Each process gets each SQLSTATE at most once for each statement (test/support/failing-statements.ts). */
export async function prepareHiccups(): Promise<Hiccups> {
  const file = join(await temporaryDirectory('hiccups'), 'faults');
  const met = new Set<string>();
  const failing = moduleUrl('test/support/failing-statements');
  return {
    settings: { FAULTS_FILE: file, NODE_OPTIONS: [...LOADER, `--import=${failing}`].join(' ') },
    faultOf: (lasting) => ({
      name: 'PostgreSQL refuses statements',
      weight: 2,
      victims: ['statements'],
      async strike() {
        await writeFile(file, '');
        await lasting(30);
        for (const line of (await readFile(file, 'utf8')).trim().split('\n')) met.add(line);
        await rm(file);
      },
    }),
    get summary() {
      const statements = new Set([...met].map((line) => line.slice(line.indexOf(' '))));
      return `${met.size} errors at ${statements.size} statements`;
    },
  };
}
