/** Every recorded change of an advert; the document shows the newest ones, this table keeps them all. */

import type { AdvertEvent } from '../domain/advert.ts';
import type { Uuid } from '../domain/ids.ts';
import type { Statement } from './database.ts';
import { statementShares } from './statement-share.ts';

export interface PropertyEvent {
  readonly propertyUuid: Uuid;
  readonly event: AdvertEvent;
}

/** Of a written event, about. */
const ROW_LENGTH = 400;

export function insertEvents(events: readonly PropertyEvent[]): readonly Statement[] {
  const rows = events.map(({ propertyUuid, event }) => ({
    property_uuid: propertyUuid,
    advert_uuid: event.advertUuid,
    kind: event.kind,
    field_name: event.field?.fieldName,
    field_old_value: event.field?.fieldOldValue,
    field_new_value: event.field?.fieldNewValue,
    percent_variation: event.field?.percentVariation,
    created_at: event.createdAt,
  }));
  return statementShares(rows, () => ROW_LENGTH).map((share) => ({
    name: 'insert-events',
    text: `
        insert into events (property_uuid, advert_uuid, kind, field_name, field_old_value, field_new_value,
          percent_variation, created_at)
        select * from json_to_recordset($1) as written(property_uuid uuid, advert_uuid uuid, kind text, field_name text,
          field_old_value text, field_new_value text, percent_variation double precision, created_at timestamptz)`,
    values: [JSON.stringify(share)],
  }));
}
