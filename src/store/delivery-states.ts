/** The lists of states that the steps of a delivery start from (domain/delivery.ts), as statements write them. */

import { type DeliveryState, FINAL_STATES, STEPS_FROM } from '../domain/delivery.ts';

/** Not final. */
export const OPEN = listOf(STEPS_FROM.cancel);
/** Due for an attempt at their time. */
export const WAITING = listOf(STEPS_FROM.claim);
/** Those that a success which comes late still ends. */
export const NOT_YET_DELIVERED = listOf(STEPS_FROM.succeed);
export const FINAL = listOf(FINAL_STATES);

function listOf(states: readonly DeliveryState[]): string {
  return `(${states.map((state) => `'${state}'`).join(', ')})`;
}
