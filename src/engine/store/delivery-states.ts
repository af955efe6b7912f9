/** The states that the steps of a delivery start from (domain/delivery.ts), as statements about items of e-mails write them. */

import { type DeliveryState, STEPS } from '../domain/delivery.ts';

/** Not final. */
export const OPEN = listOf(STEPS.cancel.from);
/** Due for an attempt at their time. */
export const WAITING = listOf(['queued', 'retry_wait']);
/** Those that a success which comes late still ends. */
export const NOT_YET_DELIVERED = listOf(STEPS.deliver.from);

/** Of a row with a delivery's `id`: what was delivered stays so when it is sent again in vain. Served by the primary key. */
export const NEVER_DELIVERED = 'not exists (select from attempts a where a.delivery_id = id and a.error is null)';

function listOf(states: readonly DeliveryState[]): string {
  return `(${states.map((state) => `'${state}'`).join(', ')})`;
}
