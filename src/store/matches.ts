/**
 * (search, property) pairs. They are written only by the transaction that holds the property's row lock, so reading
 * a pair and then writing it cannot race with another writer.
 */

import type { SearchNumber, Uuid } from '../domain/ids.ts';
import { arrayLiteral } from './array-literal.ts';
import type { Queryable, Statement } from './database.ts';

export interface Match {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly propertyUuid: Uuid;
  /** Null while the pair only stands (see the schema). */
  readonly beganAt: Date | null;
  readonly updatedAt: Date;
  /** Of its newest delivery that has one; 0 before the first. */
  readonly lastSequence: number;
  /** Of that delivery: the next one's id is above it. */
  readonly lastDeliveryId: Uuid | null;
}

/** A pair as the table holds it. */
export type KnownMatch = Omit<Match, 'updatedAt'>;

/** All pairs of the properties `uuids`. Served by the unique index. */
export async function readMatches(client: Queryable, uuids: readonly Uuid[]): Promise<readonly KnownMatch[]> {
  if (uuids.length === 0) return [];
  const { rows } = await client.query<KnownMatch>({
    name: 'read-matches',
    text: `
      select id, search_number as "searchNumber", property_uuid as "propertyUuid", began_at as "beganAt",
        coalesce(last_sequence, 0) as "lastSequence", last_delivery_id as "lastDeliveryId"
      from matches where property_uuid = any($1::uuid[])`,
    values: [arrayLiteral(uuids)],
  });
  return rows;
}

/** Written at `at`, the `updatedAt` of them all. */
export function insertMatches(matches: readonly Match[], at: Date): readonly Statement[] {
  if (matches.length === 0) return [];
  return [
    {
      name: 'insert-matches',
      text: `
      insert into matches (id, search_number, property_uuid, began_at, updated_at, last_sequence, last_delivery_id)
      select id, search_number, property_uuid, case when has_begun then $5::timestamptz end, $5, last_sequence,
        last_delivery_id
      from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::boolean[], $6::integer[], $7::uuid[])
        as written(id, search_number, property_uuid, has_begun, last_sequence, last_delivery_id)`,
      values: [
        arrayLiteral(matches.map(({ id }) => id)),
        arrayLiteral(matches.map(({ searchNumber }) => searchNumber)),
        arrayLiteral(matches.map(({ propertyUuid }) => propertyUuid)),
        arrayLiteral(matches.map(({ beganAt }) => beganAt !== null)),
        at,
        ...lastDeliveriesOf(matches),
      ],
    },
  ];
}

/** Known ones that only hear of something at `at`, their `updatedAt`. Served by the primary key. */
export function touchMatches(matches: readonly Match[], at: Date): readonly Statement[] {
  if (matches.length === 0) return [];
  return [
    {
      name: 'touch-matches',
      text: 'update matches set updated_at = $2 where id = any($1::uuid[])',
      values: [arrayLiteral(matches.map(({ id }) => id)), at],
    },
  ];
}

/** Known ones that are told, or of which some begin now: at `at`, the `updatedAt` of them all. Served by the primary key. */
export function updateMatches(matches: readonly Match[], at: Date): readonly Statement[] {
  if (matches.length === 0) return [];
  const begin = matches.filter(({ beganAt }) => beganAt?.getTime() === at.getTime());
  return [
    {
      name: 'update-matches',
      text: `
      update matches
      set updated_at = $3, began_at = case when matches.id = any($2::uuid[]) then $3 else began_at end,
        last_sequence = written.last_sequence, last_delivery_id = written.last_delivery_id
      from unnest($1::uuid[], $4::integer[], $5::uuid[]) as written(id, last_sequence, last_delivery_id)
      where matches.id = written.id`,
      values: [
        arrayLiteral(matches.map(({ id }) => id)),
        arrayLiteral(begin.map(({ id }) => id)),
        at,
        ...lastDeliveriesOf(matches),
      ],
    },
  ];
}

function lastDeliveriesOf(matches: readonly Match[]): readonly [sequences: string, ids: string] {
  return [
    arrayLiteral(matches.map(({ lastSequence }) => lastSequence || null)),
    arrayLiteral(matches.map(({ lastDeliveryId }) => lastDeliveryId)),
  ];
}
