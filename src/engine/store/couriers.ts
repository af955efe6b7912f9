/** The couriers that are at work, each of them a number that its claims carry. A few rows, served by the primary key. */

import type { Queryable } from './database.ts';

export interface CourierBeat {
  readonly number: number;
  readonly beat: string;
}

export async function registerCourier(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ number: number }>('insert into couriers default values returning number');
  return (rows[0] as { number: number }).number;
}

/** Shows that the courier lives, and answers with all of them; without itself when somebody took it for dead. */
export async function beat(client: Queryable, number: number): Promise<readonly CourierBeat[]> {
  await client.query({
    name: 'courier-beat',
    text: 'update couriers set beat = beat + 1 where number = $1',
    values: [number],
  });
  const { rows } = await client.query<CourierBeat>({ name: 'couriers', text: 'select number, beat from couriers' });
  return rows;
}

/** Only those that have no claim any more: by them, claims of the dead are found. */
export async function removeCouriers(client: Queryable, numbers: readonly number[]): Promise<void> {
  await client.query('delete from couriers where number = any($1::integer[])', [numbers]);
}
