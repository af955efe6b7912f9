/** The table of couriers. Every claim has the number of its courier. The few rows are read by key or as a whole. */

import { randomUuid } from '../domain/ids.ts';
import { passed } from './claim-fence.ts';
import type { Queryable } from './database.ts';
import { TIMELINE } from './intake-leader.ts';

/** Identifies this process: a restored database may give the number of a living courier to another process. */
export const PROCESS = randomUuid();

export interface CourierHeartbeat {
  readonly number: number;
  readonly beat: string;
  /** Changes when an endpoint is paused or resumed, and when a standby is promoted, which may lack the last changes. */
  readonly pauses: string;
}

/** SQL for each transaction that changes a pause. Locks in key order, so that such transactions do not deadlock. */
export const NOTE_PAUSES = `update couriers set pauses = pauses + 1
  where number = any(array(select number from couriers order by number for update))`;

export async function registerCourier(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ number: number }>(
    'insert into couriers (process) values ($1) returning number',
    [PROCESS],
  );
  return (rows[0] as { number: number }).number;
}

/**
 * Stores the courier's heartbeat and resolves with all couriers. The courier itself is missing if it was declared dead
 * or if another process has its number.
 */
export async function writeHeartbeat(client: Queryable, number: number): Promise<readonly CourierHeartbeat[]> {
  const { rowCount } = await client.query({
    name: 'courier-beat',
    text: 'update couriers set beat = beat + 1 where number = $1 and process = $2',
    values: [number, PROCESS],
  });
  const { rows } = await client.query<CourierHeartbeat>({
    name: 'couriers',
    text: `select number, beat, concat(pauses, '@', ${TIMELINE}) as pauses from couriers`,
  });
  return rowCount === 1 ? rows : rows.filter((courier) => courier.number !== number);
}

/**
 * Declares those `silent` couriers dead whose heartbeat has not changed since it was read. Resolves with their numbers
 * after all claims in progress have ended or expired. No process owns these numbers any more: a dead courier that wakes
 * up cannot claim (delivery-claims.ts) before it has a new number. The rows stay until `removeCouriers`, so that
 * another process finds the claims of the dead couriers if this process ends first. Served by the primary key.
 */
export async function declareDead(
  client: Queryable,
  silent: readonly Pick<CourierHeartbeat, 'number' | 'beat'>[],
): Promise<readonly number[]> {
  const { rows } = await client.query<{ number: number }>(
    `update couriers set process = gen_random_uuid()
     from unnest($1::integer[], $2::bigint[]) as silent(number, beat)
     where couriers.number = silent.number and couriers.beat = silent.beat returning couriers.number`,
    [silent.map(({ number }) => number), silent.map((courier) => courier.beat)],
  );
  await passed(client);
  return rows.map(({ number }) => number);
}

/** Call it only for couriers without claims, because the rows identify the claims of dead couriers. */
export async function removeCouriers(client: Queryable, numbers: readonly number[]): Promise<void> {
  await client.query('delete from couriers where number = any($1::integer[])', [numbers]);
}
