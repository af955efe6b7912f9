/** The active couriers, each with a number that its claims carry. A few rows, served by the primary key. */

import { randomUuid } from '../domain/ids.ts';
import { passed } from './claim-fence.ts';
import type { Queryable } from './database.ts';

/** A database that was restored to an older state may give out the number of a living courier again. */
export const PROCESS = randomUuid();

export interface CourierBeat {
  readonly number: number;
  readonly beat: string;
  /** Another number than before: endpoints were paused or resumed. */
  readonly pauses: number;
}

/** As SQL, with each change of a pause, in its transaction. In key order, so that concurrent ones do not deadlock. */
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
 * Stores the courier's heartbeat, and returns all couriers; without its number when it was declared dead, or another
 * process has the number.
 */
export async function beat(client: Queryable, number: number): Promise<readonly CourierBeat[]> {
  const { rowCount } = await client.query({
    name: 'courier-beat',
    text: 'update couriers set beat = beat + 1 where number = $1 and process = $2',
    values: [number, PROCESS],
  });
  const { rows } = await client.query<CourierBeat>({
    name: 'couriers',
    text: 'select number, beat, pauses from couriers',
  });
  return rowCount === 1 ? rows : rows.filter((courier) => courier.number !== number);
}

/**
 * Declares dead those that have not beaten since, and returns their numbers: no process has them any more, so that none
 * of them claims (delivery-claims.ts), should it wake up, before it has a new number. What they had claimed is theirs
 * until `removeCouriers`, and is found again should this process end before; a claim under way has ended when this
 * resolves. Served by the primary key.
 */
export async function declareDead(
  client: Queryable,
  silent: readonly Pick<CourierBeat, 'number' | 'beat'>[],
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

/** Removes only couriers without claims: their rows identify the claims of the dead. */
export async function removeCouriers(client: Queryable, numbers: readonly number[]): Promise<void> {
  await client.query('delete from couriers where number = any($1::integer[])', [numbers]);
}
