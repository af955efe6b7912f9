/** Supervision as the daemon has it, without its log. */

import { type ActorFailure, createSupervisor, type Supervisor } from '../../src/actor/supervisor.ts';
import { isBrokerOutage } from '../../src/broker/outage.ts';
import { isDatabaseOutage } from '../../src/store/outage.ts';

export function quietSupervisor(onFailure: (failure: ActorFailure) => void = () => undefined): Supervisor {
  return createSupervisor({
    isOperational: (error) => isDatabaseOutage(error) || isBrokerOutage(error),
    onFailure,
    nowMs: () => performance.now(),
  });
}
