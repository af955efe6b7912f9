/** Supervision as in the daemon, without its log. */

import { type ActorFailure, createSupervisor, type Supervisor } from '../../src/engine/actor/supervisor.ts';
import { isBrokerOutage } from '../../src/engine/broker/outage.ts';
import { isDatabaseOutage } from '../../src/engine/store/outage.ts';

export const RETRY_PAUSES_MS: readonly number[] = [2_000, 8_000, 20_000];

export function quietSupervisor(onFailure: (failure: ActorFailure) => void = () => undefined): Supervisor {
  return createSupervisor({
    isOperational: (error) => isDatabaseOutage(error) || isBrokerOutage(error),
    retryPausesMs: RETRY_PAUSES_MS,
    onFailure,
    nowMs: () => performance.now(),
  });
}
