/** The active couriers, each with a number that its claims carry. A few rows, served by the primary key. */

import type { Queryable } from './database.ts';

export interface CourierBeat {
  readonly number: number;
  readonly beat: string;
}

export async function registerCourier(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ number: number }>('insert into couriers default values returning number');
  return (rows[0] as { number: number }).number;
}

/** Stores the courier's heartbeat, and returns all couriers; without itself when it was declared dead. */
export async function beat(client: Queryable, number: number): Promise<readonly CourierBeat[]> {
  await client.query({
    name: 'courier-beat',
    text: 'update couriers set beat = beat + 1 where number = $1',
    values: [number],
  });
  const { rows } = await client.query<CourierBeat>({ name: 'couriers', text: 'select number, beat from couriers' });
  return rows;
}

/** Removes only couriers without claims: their rows identify the claims of the dead. */
export async function removeCouriers(client: Queryable, numbers: readonly number[]): Promise<void> {
  await client.query('delete from couriers where number = any($1::integer[])', [numbers]);
}
