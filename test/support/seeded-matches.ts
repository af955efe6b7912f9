/** Inserts properties and matches without a recorder. */

import type { StoredProperty } from '../../src/engine/domain/change.ts';
import { randomUuid } from '../../src/engine/domain/ids.ts';
import { stateText } from '../../src/engine/domain/stored-property.ts';
import type { Queryable } from '../../src/engine/store/database.ts';
import { sampleChange } from '../../src/rest/webhook-tester.ts';

export interface SeededMatch {
  readonly id: string;
  readonly searchNumber: number;
  readonly propertyUuid: string;
  /** Now by default. */
  readonly createdAt?: Date;
  readonly hasBegun?: boolean;
}

/** Stores a property without its summary. */
export async function seedProperty(database: Queryable, { state, crawls }: StoredProperty): Promise<void> {
  await database.query(
    'insert into properties (uuid, state, state_bytes, crawls) values ($1, $2::text, length($2::text), $3)',
    [state.uuid, stateText(state), JSON.stringify(crawls)],
  );
}

/** Stores the property of the webhook tester under a new id. */
export async function seedSampleProperty(database: Queryable): Promise<string> {
  const { stored } = sampleChange('ad.update.price', new Date());
  const uuid = randomUuid();
  await seedProperty(database, { ...stored, state: { ...stored.state, uuid } });
  return uuid;
}

export async function seedMatch(
  database: Queryable,
  { id, searchNumber, propertyUuid, createdAt = new Date(), hasBegun = true }: SeededMatch,
): Promise<void> {
  await database.query(
    `insert into matches (id, search_number, property_uuid, created_at, updated_at, has_begun, channel, search_version,
       last_sequence, last_delivery_id, cause)
     values ($1, $2, $3, $4, $4, $5, case when $5 then 'match' else 'event' end, 0, 1, $1, '[]')`,
    [id, searchNumber, propertyUuid, createdAt, hasBegun],
  );
}

export async function searchNumberOfId(database: Queryable, id: string): Promise<number> {
  const { rows } = await database.query<{ number: number }>('select number from searches where id = $1', [id]);
  return (rows[0] as { number: number }).number;
}
