/** Writes and reads the events of adverts. Documents show only the newest events; this table has all that are kept. */

import type { AdvertEvent } from '../domain/advert.ts';
import type { Uuid } from '../domain/ids.ts';
import { memberArrays } from './array-literal.ts';
import type { Queryable, Statement } from './database.ts';
import { statementShares } from './statement-share.ts';

export interface PropertyEvent {
  readonly propertyUuid: Uuid;
  readonly event: AdvertEvent;
}

/** Approximate size of a row in bytes. Values are numbers, counts and flags, so none needs quotes. */
const ROW_LENGTH = 400;
const UNCHANGED = { fieldName: null, fieldOldValue: null, fieldNewValue: null };

export function insertEvents(events: readonly PropertyEvent[]): readonly Statement[] {
  return statementShares(events, () => ROW_LENGTH).map((share) => {
    const events = share.map(({ event }) => event);
    const fields = events.map(({ field }) => field ?? UNCHANGED);
    return {
      name: 'insert-events',
      text: `
        insert into events (property_uuid, advert_uuid, kind, created_at, field_name, field_old_value, field_new_value)
        select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[])`,
      values: [
        ...memberArrays(share, 'propertyUuid'),
        ...memberArrays(events, 'advertUuid', 'kind', 'createdAt'),
        ...memberArrays(fields, 'fieldName', 'fieldOldValue', 'fieldNewValue'),
      ],
    };
  });
}

/** The time of the first recorded event that is still stored; null if there is none. Served by the primary key. */
export async function readFirstEventAt(database: Queryable): Promise<Date | null> {
  const { rows } = await database.query<{ at: Date }>('select created_at as at from events order by id limit 1');
  return rows[0]?.at ?? null;
}
