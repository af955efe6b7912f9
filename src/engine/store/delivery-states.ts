/** The states that the steps of a delivery start from (domain/delivery.ts), as statements about items of e-mails write them. */

import { type DeliveryState, STEPS } from '../domain/delivery.ts';

/** Not final. */
export const OPEN = listOf(STEPS.cancel.from);
/** Due for an attempt at their time. */
export const WAITING = listOf(['queued', 'retry_wait']);
/** Those that a success which comes late still ends. */
export const NOT_YET_DELIVERED = listOf(STEPS.deliver.from);

function listOf(states: readonly DeliveryState[]): string {
  return `(${states.map((state) => `'${state}'`).join(', ')})`;
}
