/**
 * The courier: what is due comes into its memory (draw.ts), gets a slot in a fair round (delivery/fair-scheduler.ts), is
 * claimed and posted (send.ts) and recorded (settle.ts). What failed waits for its hour (retries.ts). The row is the
 * queue: whatever is in memory here may be lost at any moment.
 */

import { startGrace } from '../actor/actor.ts';
import type { DueDelivery } from '../domain/delivery.ts';
import type { SettledAttempt } from '../store/attempts.ts';
import { CourierMaintenance } from './courier-maintenance.ts';
import { DueStore } from './draw.ts';
import { FairScheduler } from './fair-scheduler.ts';
import { startRetries } from './retries.ts';
import { Sending } from './send.ts';
import { type CourierDependencies, type Settlement, startSettlement } from './settle.ts';

export interface Courier {
  /** Deliveries in memory: waiting for a slot, being sent, being recorded. */
  readonly inFlight: number;
  /** Claims nothing more; resolves when the attempts under way are recorded. */
  drain(): Promise<void>;
}

const WAITING_MAX = 16_384;
/** No endpoint holds more than this share of the slots. */
const LANE_SHARE = 1 / 8;
/** With an attempt at an endpoint that hangs, less than a process is given to end. */
const RECORD_GRACE_MS = 10_000;

export async function startCourier(dependencies: CourierDependencies): Promise<Courier> {
  const { announcer, onTrouble, broker } = dependencies;
  const round = openRound(dependencies);
  const upkeep = await CourierMaintenance.open(dependencies, round);
  const onAttempt = (settled: SettledAttempt): void => {
    upkeep.noteAlert(settled);
    dependencies.onAttempt(settled);
  };
  const onDue = (due: readonly DueDelivery[]): void => announcer.announce(due);
  const settlement: Settlement = startSettlement({ ...dependencies, onAttempt }, onDue);
  const sending = new Sending(dependencies, {
    round,
    holder: () => upkeep.number,
    due: () => due,
    settlement: () => settlement,
  });
  const due: DueStore = new DueStore(dependencies, round, sending.pump);
  const endListening = announcer.listen({
    admit: (announced) => due.admit(announced),
    get isAlone() {
      return upkeep.isAlone;
    },
  });
  upkeep.start({ due, settlement, pump: sending.pump });
  const retries = startRetries(dependencies, onDue);
  return {
    get inFlight() {
      return round.waiting + round.inFlight + settlement.unrecorded;
    },
    async drain() {
      endListening();
      await Promise.all([retries.stop(), due.stop()]);
      // Another courier need not find them by itself.
      announcer.pass([...round.lanes()].flatMap((lane) => due.empty(lane)));
      await sending.stop();
      await upkeep.stop();
      const grace = startGrace(RECORD_GRACE_MS);
      await settlement.drain(grace);
      grace.end();
      await upkeep.end(round.inFlight + settlement.unrecorded > 0);
      await broker.connection.flush().catch((error: Error) => onTrouble('flush', error));
    },
  };
}

function openRound({ attemptsInFlightMax, attemptTimeoutMs }: CourierDependencies): FairScheduler<DueDelivery> {
  return new FairScheduler({
    slots: attemptsInFlightMax,
    concurrencyMax: Math.max(2, Math.floor(attemptsInFlightMax * LANE_SHARE)),
    tooLongMs: attemptTimeoutMs / 2,
    waitingMax: WAITING_MAX,
  });
}
