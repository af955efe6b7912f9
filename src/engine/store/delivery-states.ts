/** SQL for the states of deliveries (domain/delivery.ts) and conditions on them. */

import { type DeliveryState, STEPS } from '../domain/delivery.ts';

/** The values of `lane`, which is the state of an unclaimed row of the queue (QUEUE.md). */
export const LANE = {
  waiting_retry: -1,
  held: 0,
  due: 1,
  due_again: 2,
  due_recovered: 3,
} as const;

/** States that are not final. */
export const OPEN = listOf(STEPS.cancel.from);
/** States in which a delivery waits for its time or for a claim. */
export const WAITING = listOf(['queued', 'retry_wait']);
/** States in which the success of an attempt still counts. */
export const NOT_YET_DELIVERED = listOf(STEPS.deliver.from);

/**
 * True for a row whose delivery `id` never succeeded. A delivery that succeeded stays delivered even if a resend fails.
 * Served by the primary key. `offset 0` prevents a join, which would read all attempts.
 */
export const NEVER_DELIVERED =
  'not exists (select from attempts a where a.delivery_id = id and a.error is null offset 0)';

/** True for every open delivery. The index open_endpoint serves only statements with this condition. */
export function isInAnyLane(row = 'open_deliveries'): string {
  return `(${row}.lane between ${LANE.waiting_retry} and ${LANE.due_recovered}) is true`;
}

/** The indexes open_held and open_retrying serve only statements with this condition. */
export function isInLane(lane: 'held' | 'waiting_retry'): string {
  return `(lane = ${LANE[lane]}) is true`;
}

/**
 * True for an open delivery of the match whose first attempt has not ended. Only statements with this condition can use
 * the index open_undecided, which contains part of the match's id and a hash of the endpoint.
 */
export function isUndecidedOf(row: string, matchId: string): string {
  const partOf = (id: string): string => `substring(uuid_send(${id}) from 3 for 7)`;
  const isOfMatch = `${partOf(`${row}.match_id`)} = ${partOf(matchId)} and ${row}.match_id = ${matchId}`;
  return `${isOfMatch} and (${row}.lane in (${LANE.held}, ${LANE.due})) is true`;
}
export function isAtEndpoint(row: string, key: string): string {
  return `hashtext(${row}.endpoint_key) = hashtext(${key}) and ${row}.endpoint_key = ${key}`;
}

/** Whether an endpoint or its URL is paused. Served by endpoints_paused. `offset 0` prevents a join of whole tables. */
export function isPaused(key: string): string {
  return `exists (select from endpoints p where p.key in (${key}, left(${key}, 16)) and p.paused_at is not null offset 0)`;
}

function listOf(states: readonly DeliveryState[]): string {
  return `(${states.map((state) => `'${state}'`).join(', ')})`;
}

const SHARED = `id, search_number, match_id, kind, endpoint, endpoint_key, state, attempt_count, attempts_spent, replay_count,
  due_at, created_at, finished_at, generation`;

/**
 * Deliveries of all channels as one table. Webhooks and items of e-mails are stored in separate tables; queries by key
 * or search use the indexes of both.
 */
export const ALL_DELIVERIES = `(
  select channel, ${SHARED} from delivery_states
  union all
  select 'email', ${SHARED} from mail_items)`;
