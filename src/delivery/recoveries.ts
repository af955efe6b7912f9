/**
 * Works at the recoveries that clients have asked for: brings what fits forward, oldest first, and no more at a time than
 * a quarter of the slots, of which every open recovery has an equal share: one whose endpoints hang holds up nobody else.
 * Every delivering process tries, and one at a time has the lock.
 */

import { startTask, type Task } from '../actor/task.ts';
import type { Broker } from '../broker/connection.ts';
import { publicationOf } from '../broker/delivery-messages.ts';
import { publishAll } from '../broker/publish.ts';
import { timeOrderedUuid } from '../domain/ids.ts';
import { type Database, transaction } from '../store/database.ts';
import type { DeliveryAddress } from '../store/deliveries.ts';
import { countPage, lockOpenRecoveries, sendNext, settleItems } from '../store/recovery-steps.ts';

export interface RecoveriesDependencies {
  readonly database: Database;
  readonly broker: Broker;
  /** Slots of one process. */
  readonly attemptsInFlightMax: number;
  /** Paused, nothing is brought forward. */
  readonly isPaused?: () => boolean;
  readonly onTrouble: (what: string, error: Error) => void;
}

const STEP_EVERY_MS = 250;
const SLOTS_SHARE = 1 / 4;

export function startRecoveries(dependencies: RecoveriesDependencies): Task {
  return startTask({
    what: 'recoveries',
    everyMs: STEP_EVERY_MS,
    work: () => (dependencies.isPaused?.() === true ? undefined : step(dependencies)),
    onTrouble: dependencies.onTrouble,
  });
}

/** What is not published, because NATS is away, is due: the sweeper finds it. */
async function step({ database, broker, attemptsInFlightMax }: RecoveriesDependencies): Promise<void> {
  const addresses = await transaction(database, async (connection): Promise<readonly DeliveryAddress[]> => {
    const open = (await lockOpenRecoveries(connection)) ?? [];
    const share = Math.max(1, Math.floor((attemptsInFlightMax * SLOTS_SHARE) / Math.max(1, open.length)));
    const brought: DeliveryAddress[] = [];
    for (const recovery of open) {
      if (recovery.state === 'counting') {
        await countPage(connection, recovery);
        continue;
      }
      const underWay = await settleItems(connection, recovery);
      if (underWay < share) brought.push(...(await sendNext(connection, recovery, share - underWay, underWay)));
    }
    return brought;
  });
  await publishAll(
    broker,
    // Another message id than the first time: the duplicate window would swallow it.
    addresses.map((address) => publicationOf(broker, address, `recovery-${timeOrderedUuid(new Date())}`)),
  );
}
