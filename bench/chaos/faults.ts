/** What goes wrong in a chaos run. Every fault heals what it broke before it ends. */

import { setTimeout as wait } from 'node:timers/promises';
import type { Random } from '../../src/cli/demo/seeded-random.ts';
import type { TestServer } from '../../test/support/servers.ts';
import type { TcpProxy } from '../../test/support/tcp-proxy.ts';
import type { ChaosCrawler } from './crawler.ts';
import type { SmallDisk } from './disk.ts';
import type { Instance } from './instances.ts';
import type { Mischief } from './mischief.ts';
import { type Scene, signalFamily } from './scene.ts';

export interface Fault {
  readonly name: string;
  readonly weight: number;
  /** What it breaks: one fault at a time for each. */
  readonly victim: string;
  readonly strike: () => Promise<void>;
}

/** Two faults at a time, one after the other each, until `isOver`; `say` is told what happens, as it happens. */
export async function wreakHavoc(
  faults: readonly Fault[],
  random: Random,
  isOver: () => boolean,
  say: (what: string) => void,
): Promise<number> {
  const struck = new Set<string>();
  let count = 0;
  async function hand(): Promise<void> {
    while (!isOver()) {
      const free = faults.filter(({ victim }) => !struck.has(victim));
      if (free.length > 0) {
        const fault = random.weighted(free.map((each) => [each, each.weight] as const));
        struck.add(fault.victim);
        count += 1;
        say(fault.name);
        await fault.strike();
        struck.delete(fault.victim);
      }
      await wait(random.integer(100, 3_000));
    }
  }
  await Promise.all([hand(), hand()]);
  return count;
}

/** `secondsMax`: how long the longest fault may last. */
export function faultsOf(
  scene: Scene,
  crawler: ChaosCrawler,
  mischief: Mischief,
  random: Random,
  secondsMax: number,
): readonly Fault[] {
  const lasting = (longestSeconds: number) => wait(random.integer(200, 1_000 * Math.min(longestSeconds, secondsMax)));
  const { postgres, nats } = scene.servers;
  return [
    ...scene.instances.flatMap((instance) => instanceFaults(instance, lasting)),
    ...serverFaults('nats-server', nats, lasting),
    ...serverFaults('PostgreSQL', postgres, lasting),
    ...Object.entries(scene.links).flatMap(([name, link]) => linkFaults(name, link, lasting)),
    ...(scene.disk === null ? [] : [diskFault(scene.disk, nats, lasting)]),
    {
      name: 'a burst of 500 messages',
      weight: 4,
      victim: 'crawler',
      strike: async () => crawler.burst(500),
    },
    ...mischiefFaults(mischief, lasting),
  ];
}

type Lasting = (longestSeconds: number) => Promise<void>;

function instanceFaults(instance: Instance, lasting: Lasting): Fault[] {
  const { name } = instance;
  return [
    {
      name: `kill -9 of ${name}`,
      weight: 6,
      victim: name,
      async strike() {
        await instance.end('SIGKILL');
        await instance.untilUp();
      },
    },
    {
      name: `restart of ${name}`,
      weight: 2,
      victim: name,
      async strike() {
        await instance.end('SIGTERM');
        await instance.untilUp();
      },
    },
    {
      name: `${name} freezes`,
      weight: 4,
      victim: name,
      async strike() {
        instance.freeze();
        await lasting(25);
        instance.thaw();
      },
    },
  ];
}

function mischiefFaults(mischief: Mischief, lasting: Lasting): Fault[] {
  return [
    {
      name: 'an advert that cannot be stored',
      weight: 3,
      victim: 'a property',
      strike: async () => mischief.publishUnstorable(),
    },
    {
      name: 'a crowd of adverts in one property',
      weight: 2,
      victim: 'a property',
      strike: async () => mischief.publishCrowd(),
    },
    {
      name: 'a hostile client',
      weight: 3,
      victim: 'REST interface',
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

function serverFaults(name: string, server: TestServer, lasting: Lasting): Fault[] {
  return [
    {
      name: `kill -9 of ${name}`,
      weight: 4,
      victim: name,
      async strike() {
        await server.kill();
        await lasting(5);
        await server.restart();
      },
    },
    {
      name: `${name} freezes`,
      weight: 2,
      victim: name,
      async strike() {
        signalFamily(server, 'SIGSTOP');
        await lasting(15);
        signalFamily(server, 'SIGCONT');
      },
    },
  ];
}

function linkFaults(name: string, link: TcpProxy, lasting: Lasting): Fault[] {
  const whileBroken = async (): Promise<void> => {
    await lasting(12);
    link.heal();
  };
  return [
    { name: `${name} is cut`, weight: 2, victim: name, strike: async () => link.cut() },
    {
      name: `${name} passes nothing`,
      weight: 2,
      victim: name,
      strike: () => {
        link.stall();
        return whileBroken();
      },
    },
    {
      name: `${name} refuses`,
      weight: 1,
      victim: name,
      strike: () => {
        link.refuse();
        return whileBroken();
      },
    },
  ];
}

/** nats-server switches JetStream off when it finds its disk full: operators make room and start it again. */
function diskFault(disk: SmallDisk, nats: TestServer, lasting: Lasting): Fault {
  return {
    name: 'the disk of nats-server is full',
    weight: 3,
    victim: 'nats-server',
    async strike() {
      await disk.fill();
      await lasting(6);
      await disk.free();
      await nats.stop();
      await nats.restart();
    },
  };
}
