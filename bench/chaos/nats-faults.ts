/** Faults of NATS itself; the faults of its connections are in faults.ts. */

import type { ClusterNode } from '../../test/support/nats-cluster.ts';
import type { TestServer } from '../../test/support/servers.ts';
import type { TurnedClock } from '../../test/support/turned-clock.ts';
import type { Random } from '../adverts/seeded-random.ts';
import type { SmallDisk } from './disk.ts';
import { type Durations, type Fault, freezing, type Lasting, serverFaults } from './fault.ts';
import type { NatsCluster, SingleNats } from './nats.ts';
import { storeFault } from './nats-store.ts';

const CUT_OFF = 'the NATS server of the leader is cut off from its peers';
export const LONG_CUT_OFF = `${CUT_OFF} for 75 s`;
/** Only one of the three servers fails at a time, because NATS stores nothing without a majority. */
const ONE_OF_CLUSTER = ['a NATS server'];

export function singleNatsFaults({ server, disk, clock }: SingleNats, durations: Durations): readonly Fault[] {
  const { lasting } = durations;
  return [
    ...serverFaults('nats-server', server, durations),
    ...(disk === null ? [] : [diskFault(disk, server, lasting)]),
    storeFault(server, lasting),
    slowClock(clock, lasting),
  ];
}

/** `ofLeader`: index of the server that the leader's daemon is connected to. */
export function clusterFaults(
  { nodes }: NatsCluster,
  ofLeader: () => number,
  random: Random,
  { lasting, exactly }: Durations,
): readonly Fault[] {
  const cutOff = async (over: Promise<void>): Promise<void> => {
    const node = nodes[ofLeader()] as ClusterNode;
    node.separate();
    await over;
    node.rejoin();
  };
  return [
    { name: CUT_OFF, weight: 4, victims: ONE_OF_CLUSTER, strike: () => cutOff(lasting(75)) },
    { name: LONG_CUT_OFF, weight: 1, victims: ONE_OF_CLUSTER, strike: () => cutOff(exactly(75)) },
    {
      name: 'kill -9 of a NATS server',
      weight: 3,
      victims: ONE_OF_CLUSTER,
      async strike() {
        const node = random.pick(nodes);
        await node.kill();
        await lasting(15);
        await node.restart();
      },
    },
    {
      name: 'a NATS server freezes for eight seconds',
      weight: 3,
      victims: ONE_OF_CLUSTER,
      strike: () => freezing(random.pick(nodes), exactly(8)),
    },
  ];
}

/** The messages that the crawler publishes during this fault must not be rejected. */
function slowClock(clock: TurnedClock, lasting: Lasting): Fault {
  return {
    name: 'NATS’s clock is 2 hours behind',
    weight: 3,
    victims: ['clock'],
    async strike() {
      clock.turnBack(2 * 3_600_000);
      await lasting(60);
      clock.putRight();
    },
  };
}

/** nats-server disables JetStream when its disk is full. Operators free space and start it again. */
function diskFault(disk: SmallDisk, nats: TestServer, lasting: Lasting): Fault {
  return {
    name: 'the disk of nats-server is full',
    weight: 3,
    victims: ['nats-server'],
    async strike() {
      await disk.fill();
      await lasting(6);
      await disk.free();
      await nats.stop();
      await nats.restart();
    },
  };
}
