/** Faults of PostgreSQL that operators repair: its disk is full, it refuses logins, or its clock is wrong. */

import { setTimeout as wait } from 'node:timers/promises';
import { POSTGRES_ROLE } from '../../src/local/postgres-cluster.ts';
import { queryOnce } from '../../test/support/database.ts';
import type { PostgresPair } from '../../test/support/postgres-pair.ts';
import type { SimulatedClock } from '../../test/support/simulated-clock.ts';
import { RECOVERY_MAX_MS, until } from '../../test/support/until.ts';
import type { Random } from '../adverts/seeded-random.ts';
import type { SmallDisk } from './disk.ts';
import type { Fault, Lasting } from './fault.ts';

const VICTIMS = ['PostgreSQL'];
const HOURS_OFF = 2;

/** Long enough for the retries that NATS holds to become due at their own times. */
const HELD_MS = 15_000;
/**
 * If NATS has lost a retry, only the due time of its row is left, which is wrong: an operator would correct it. The
 * statement does not affect the retries of `--waiting`, which are due later.
 */
const PUT_HOURS_RIGHT = `update open_deliveries set due_at = due_at - interval '${HOURS_OFF} hours'
  where lane = -1 and due_at > clock_timestamp() + interval '1 hour'
    and due_at < clock_timestamp() + interval '${HOURS_OFF + 1} hours'`;

export interface PostgresFaultOptions {
  readonly postgres: PostgresPair;
  /** Disks of the primary and the standby; empty if the machine forbids mounting any. */
  readonly disks: readonly SmallDisk[];
  readonly clock: SimulatedClock;
  readonly random: Random;
  readonly lasting: Lasting;
}

export function postgresFaults(options: PostgresFaultOptions): readonly Fault[] {
  return [...(options.disks.length === 0 ? [] : [fullDisk(options)]), ...refusedLogins(options), wrongClock(options)];
}

/** PostgreSQL ends if there is no space for its WAL. Operators free space, and start it again if necessary. */
function fullDisk({ postgres, disks, lasting }: PostgresFaultOptions): Fault {
  return {
    name: 'the disk of PostgreSQL is full',
    weight: 3,
    victims: VICTIMS,
    async strike() {
      const disk = disks.find(({ path }) => postgres.directory.startsWith(path)) as SmallDisk;
      await disk.fill();
      await lasting(20);
      await disk.free();
      await until(
        async () => {
          if (!isAlive(postgres.pid)) {
            await postgres.stop();
            await postgres.restart();
          }
          return queryOnce(postgres.superuserUrl, 'select').then(
            () => true,
            () => false,
          );
        },
        (isUp) => isUp,
        RECOVERY_MAX_MS,
      );
    },
  };
}

/** Each refusal also ends the role's existing connections. */
function refusedLogins({ postgres, lasting }: PostgresFaultOptions): readonly Fault[] {
  const { password, pathname } = new URL(postgres.urls[0]);
  const database = pathname.slice(1);
  const refusals = [
    [
      'rejects the password',
      `alter role ${POSTGRES_ROLE} password 'another one'`,
      `alter role ${POSTGRES_ROLE} password '${password}'`,
    ],
    ['does not let the role log in', `alter role ${POSTGRES_ROLE} nologin`, `alter role ${POSTGRES_ROLE} login`],
    [
      'has no connection left for the role',
      `alter role ${POSTGRES_ROLE} connection limit 0`,
      `alter role ${POSTGRES_ROLE} connection limit -1`,
    ],
    [
      'has revoked the right to connect',
      `revoke connect on database ${database} from public, ${POSTGRES_ROLE}`,
      `grant connect on database ${database} to public, ${POSTGRES_ROLE}`,
    ],
  ] as const;
  const throwOut = `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${POSTGRES_ROLE}'`;
  return refusals.map(([what, refuse, admit]) => ({
    name: `PostgreSQL ${what}`,
    weight: 1,
    victims: VICTIMS,
    async strike() {
      await queryOnce(postgres.superuserUrl, refuse);
      await queryOnce(postgres.superuserUrl, throwOut);
      await lasting(20);
      await queryOnce(postgres.superuserUrl, admit);
    },
  }));
}

function wrongClock({ postgres, clock, random, lasting }: PostgresFaultOptions): Fault {
  return {
    name: `PostgreSQL's clock is ${HOURS_OFF} hours off`,
    weight: 3,
    victims: [...VICTIMS, 'clock'],
    async strike() {
      const days = random.pick([1, -1]) * (HOURS_OFF / 24);
      await clock.advance(days, postgres.superuserUrl);
      await lasting(60);
      await clock.advance(-days, postgres.superuserUrl);
      await wait(HELD_MS);
      await queryOnce(postgres.superuserUrl, PUT_HOURS_RIGHT);
    },
  };
}

function isAlive(pid: number | null): boolean {
  if (pid === null) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
