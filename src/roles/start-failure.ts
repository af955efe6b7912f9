/** Why a start failed, in words for whoever starts the daemon, also where a server went away in the middle of it. */

import { isBrokerOutage } from '../engine/broker/outage.ts';
import { brokerUnreachable } from '../engine/broker/unreachable.ts';
import { isDatabaseOutage } from '../engine/store/outage.ts';
import { databaseUnreachable } from '../engine/store/unreachable.ts';

export interface StartServers {
  readonly databaseUrl: string;
  readonly natsUrl: string;
}

/** Any other failure is answered as it is: a bug, or one that has its words. */
export function startFailure(error: Error, { databaseUrl, natsUrl }: StartServers): Error {
  if (isDatabaseOutage(error)) return databaseUnreachable(databaseUrl, error);
  return isBrokerOutage(error) ? brokerUnreachable(natsUrl, error) : error;
}
