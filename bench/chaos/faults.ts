/** The faults of a chaos run, and the order in which they occur. */

import { setTimeout as wait } from 'node:timers/promises';
import type { PostgresPair } from '../../test/support/postgres-pair.ts';
import type { Random } from '../adverts/seeded-random.ts';
import type { ChaosCrawler } from './crawler.ts';
import { type Durations, type Fault, freezing, type Lasting, serverFaults } from './fault.ts';
import type { Instance } from './instances.ts';
import type { Mischief } from './mischief.ts';
import { clusterFaults, singleNatsFaults } from './nats-faults.ts';
import { overloadFault } from './overload.ts';
import { postgresFaults } from './postgres-faults.ts';
import type { Link, Scene } from './scene.ts';

export const ROLLING_RESTART = 'a rolling restart';
export const PROMOTION = 'the standby of PostgreSQL is promoted';

/**
 * Runs two concurrent sequences of random faults until `isOver`; one begins with `opening`. `say` gets the name of each
 * fault when it begins. Resolves with the number of faults.
 */
export async function wreakHavoc(
  faults: readonly Fault[],
  opening: string,
  random: Random,
  isOver: () => boolean,
  say: (what: string) => void,
): Promise<number> {
  const struck = new Set<string>();
  let count = 0;
  async function strike({ name, victims, strike }: Fault): Promise<void> {
    for (const victim of victims) struck.add(victim);
    count += 1;
    say(name);
    await strike();
    for (const victim of victims) struck.delete(victim);
  }
  async function hand(): Promise<void> {
    while (!isOver()) {
      const free = faults.filter(({ victims }) => !victims.some((victim) => struck.has(victim)));
      if (free.length > 0) await strike(random.weighted(free.map((each) => [each, each.weight] as const)));
      await wait(random.integer(100, 3_000));
    }
  }
  const first = faults.find(({ name }) => name === opening);
  await Promise.all([first === undefined ? hand() : strike(first).then(hand), hand()]);
  return count;
}

/** `secondsMax`: the longest time that a fault may last. */
export function faultsOf(
  scene: Scene,
  crawler: ChaosCrawler,
  mischief: Mischief,
  random: Random,
  secondsMax: number,
): readonly Fault[] {
  const lasting = (longestSeconds: number) => wait(random.integer(200, 1_000 * Math.min(longestSeconds, secondsMax)));
  const durations = { lasting, exactly: (seconds: number) => wait(1_000 * Math.min(seconds, secondsMax)) };
  const { nats } = scene;
  const { postgres } = scene.servers;
  return [
    ...scene.instances.flatMap((instance) => instanceFaults(instance, durations)),
    rollingRestart(scene.instances),
    ...(nats.type === 'single'
      ? singleNatsFaults(nats, durations)
      : clusterFaults(nats, scene.natsOfLeader, random, durations)),
    ...serverFaults('PostgreSQL', postgres, durations),
    ...standbyFaults(postgres, lasting),
    ...Object.entries(scene.links).flatMap(([name, link]) => linkFaults(name, link, lasting)),
    ...postgresFaults({ postgres, disks: scene.postgresDisks, clock: scene.clock, random, lasting }),
    overloadFault(postgres, lasting),
    scene.hiccups.faultOf(lasting),
    {
      name: 'a burst of 500 messages with one crawledAt',
      weight: 4,
      victims: ['crawler'],
      strike: async () => crawler.burst(500),
    },
    ...mischiefFaults(mischief, lasting),
    minuteFault(scene.instances, mischief, random),
  ];
}

/** After the crash the next leader reads recorded messages again, whose equal `crawledAt` does not give their order. */
function minuteFault(instances: readonly Instance[], mischief: Mischief, random: Random): Fault {
  return {
    name: 'price changes with one crawledAt, then kill -9 of all daemons',
    weight: 3,
    victims: ['a property', ...instances.map(({ name }) => name)],
    async strike() {
      mischief.publishMinute();
      await wait(random.integer(50, 1_500));
      await Promise.all(instances.map((instance) => instance.end('SIGKILL')));
      await Promise.all(instances.map((instance) => instance.untilUp()));
    },
  };
}

function instanceFaults(instance: Instance, { lasting, exactly }: Durations): Fault[] {
  const { name } = instance;
  const frozen = async (over: Promise<void>): Promise<void> => {
    instance.freeze();
    await over;
    instance.thaw();
  };
  return [
    {
      name: `kill -9 of ${name}`,
      weight: 6,
      victims: [name],
      async strike() {
        await instance.end('SIGKILL');
        await instance.untilUp();
      },
    },
    {
      name: `restart of ${name}`,
      weight: 2,
      victims: [name],
      async strike() {
        await instance.end('SIGTERM');
        await instance.untilUp();
      },
    },
    {
      name: `${name} freezes`,
      weight: 4,
      victims: [name],
      strike: () => frozen(lasting(25)),
    },
    {
      name: `${name} freezes for a minute`,
      weight: 1,
      victims: [name],
      strike: () => frozen(exactly(60)),
    },
    {
      name: `${name} freezes for eight seconds`,
      weight: 2,
      victims: [name],
      strike: () => frozen(exactly(8)),
    },
  ];
}

/** As in an upgrade, each instance is restarted when the previous one is ready. */
function rollingRestart(instances: readonly Instance[]): Fault {
  return {
    name: ROLLING_RESTART,
    weight: 3,
    victims: instances.map(({ name }) => name),
    async strike() {
      for (const instance of instances) {
        await instance.end('SIGTERM');
        await instance.untilUp();
      }
    },
  };
}

function mischiefFaults(mischief: Mischief, lasting: Lasting): Fault[] {
  return [
    {
      name: 'an advert that cannot be stored',
      weight: 3,
      victims: ['a property'],
      strike: async () => mischief.publishUnstorable(),
    },
    {
      name: 'a crowd of adverts in one property',
      weight: 2,
      victims: ['a property'],
      strike: async () => mischief.publishCrowd(),
    },
    {
      name: 'a hostile client',
      weight: 3,
      victims: ['REST interface'],
      async strike() {
        let isOver = false;
        const over = lasting(10).then(() => {
          isOver = true;
        });
        await Promise.all([over, mischief.ask(() => isOver)]);
      },
    },
  ];
}

/** While no standby answers, commits are not answered either. */
function standbyFaults(postgres: PostgresPair, lasting: Lasting): Fault[] {
  return [
    {
      name: 'the standby of PostgreSQL freezes',
      weight: 1,
      victims: ['PostgreSQL'],
      strike: () => freezing(postgres.standby, lasting(45)),
    },
    {
      name: PROMOTION,
      weight: 3,
      victims: ['PostgreSQL'],
      async strike() {
        await postgres.kill();
        await lasting(5);
        await postgres.promote();
        await lasting(5);
        await postgres.rejoin();
      },
    },
  ];
}

function linkFaults(name: string, link: Link, lasting: Lasting): Fault[] {
  const whileBroken = async (longestSeconds = 12): Promise<void> => {
    await lasting(longestSeconds);
    link.heal();
  };
  return [
    { name: `${name} is cut`, weight: 2, victims: [name], strike: async () => link.cut() },
    {
      name: `${name} stalls`,
      weight: 2,
      victims: [name],
      strike: () => {
        link.stall();
        return whileBroken();
      },
    },
    {
      name: `${name} refuses connections`,
      weight: 1,
      victims: [name],
      strike: () => {
        link.refuse();
        return whileBroken();
      },
    },
    ...(['up', 'down'] as const).map((direction) => ({
      name: `${name} loses all bytes, ${direction}`,
      weight: 1,
      victims: [name],
      strike: () => {
        link.swallow(direction);
        return whileBroken(60);
      },
    })),
  ];
}
