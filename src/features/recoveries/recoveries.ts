/**
 * Everything since a moment, sent again: what clients and operators ask for is in the folder's other files, and this one
 * works at the recoveries that clients have asked for: brings what fits forward, oldest first, and no more at a time than
 * a quarter of the slots, of which every open recovery has an equal share: one whose endpoints hang holds up nobody else.
 * Every delivering process tries, and one at a time has the lock.
 */

import { startTask, type Task } from '../../engine/actor/task.ts';
import type { DueAnnouncer } from '../../engine/broker/due-announcements.ts';
import type { DueDelivery } from '../../engine/domain/delivery.ts';
import { type Database, transaction } from '../../engine/store/database.ts';
import type { Feature } from '../../feature.ts';
import { RECOVERY_CONTRACT, recoveryRoutes } from './recovery-routes.ts';
import { removeRecoveries } from './recovery-rows.ts';
import { getRecovery, listRecoveries, startRecovery, stopRecovery } from './recovery-rpcs.ts';
import { countPage, lockOpenRecoveries, sendNext, sendWaiting, settleItems } from './recovery-steps.ts';

const STEP_EVERY_MS = 250;
const SLOTS_SHARE = 1 / 4;

export const recoveries: Feature = {
  name: 'recoveries',
  async *forget(database, { deliveries }) {
    if (deliveries !== null) yield { recoveries: await removeRecoveries(database, deliveries) };
  },
  contract: RECOVERY_CONTRACT,
  routes: recoveryRoutes,
  rpcs: (usual) => ({
    startRecovery: usual(startRecovery),
    getRecovery: usual(({ name }, own) => getRecovery(name, own)),
    listRecoveries: usual(listRecoveries),
    stopRecovery: usual(({ name }, own) => stopRecovery(name, own)),
  }),
  start({ config, database, announcer, onTransientError }, gate) {
    const task = startRecoveries({
      ...{ database, announcer, attemptsInFlightMax: config.attemptsInFlightMax },
      ...{ isPaused: () => !gate.isOpen, onTransientError },
    });
    return { drain: task.stop };
  },
};

export interface RecoveriesDependencies {
  readonly database: Database;
  readonly announcer: Pick<DueAnnouncer, 'announce'>;
  /** Slots of one process. */
  readonly attemptsInFlightMax: number;
  /** Paused, nothing is brought forward. */
  readonly isPaused?: () => boolean;
  readonly onTransientError: (what: string, error: Error) => void;
}

export function startRecoveries(dependencies: RecoveriesDependencies): Task {
  return startTask({
    what: 'recoveries',
    everyMs: STEP_EVERY_MS,
    work: () => (dependencies.isPaused?.() === true ? undefined : step(dependencies)),
    onTransientError: dependencies.onTransientError,
  });
}

async function step({ database, announcer, attemptsInFlightMax }: RecoveriesDependencies): Promise<void> {
  const due = await transaction(database, async (connection): Promise<readonly DueDelivery[]> => {
    const open = (await lockOpenRecoveries(connection)) ?? [];
    const share = Math.max(1, Math.floor((attemptsInFlightMax * SLOTS_SHARE) / Math.max(1, open.length)));
    const brought: DueDelivery[] = [];
    for (const recovery of open) {
      if (recovery.state === 'counting') {
        await countPage(connection, recovery);
        continue;
      }
      const underWay = await settleItems(connection, recovery);
      brought.push(...(await sendWaiting(connection, recovery, underWay.next)));
      if (underWay.count < share) {
        brought.push(...(await sendNext(connection, recovery, share - underWay.count, underWay.count)));
      }
    }
    return brought;
  });
  announcer.announce(due);
}
