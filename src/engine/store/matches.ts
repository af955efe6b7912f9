/**
 * Matches: (search, property) pairs with a notification. Only a transaction that has locked the property's row inserts
 * or updates them. So no other writer can change a match between reading and writing it.
 */

import type { AdvertEvent } from '../domain/advert.ts';
import type { WebhookChannel } from '../domain/delivery.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import { arrayLiteral, joinedJson, jsonTexts, memberArrays } from './array-literal.ts';
import type { Queryable, Statement } from './database.ts';

/** The change with which a match began or, if it has not begun, the change in its first notification. */
export interface MatchCause {
  /** The version of the search at the time of the change. */
  readonly searchVersion: number;
  readonly channel: WebhookChannel;
  readonly events: readonly AdvertEvent[];
}

export interface Match {
  readonly id: Uuid;
  readonly searchNumber: SearchNumber;
  readonly propertyUuid: Uuid;
  /** False if the property already satisfied the search when the search was created or began to notify. */
  readonly hasBegun: boolean;
  /** When the match began or, if it has not begun, was first notified. */
  readonly createdAt: Date;
  /** When the match was last notified. */
  readonly updatedAt: Date;
  /** Sequence of the newest delivery. The next delivery has a greater sequence and a greater id. */
  readonly lastSequence: number;
  readonly lastDeliveryId: Uuid;
  /** Null if the stored cause stays unchanged. */
  readonly cause: MatchCause | null;
}

/** The stored members of a match that the recorder reads. */
export type KnownMatch = Omit<Match, 'updatedAt' | 'cause'>;

/** All matches of the properties `uuids`. Served by the unique index. */
export async function readMatches(client: Queryable, uuids: readonly Uuid[]): Promise<readonly KnownMatch[]> {
  if (uuids.length === 0) return [];
  const { rows } = await client.query<KnownMatch>({
    name: 'read-matches',
    text: `
      select id, search_number as "searchNumber", property_uuid as "propertyUuid", has_begun as "hasBegun",
        created_at as "createdAt", last_sequence as "lastSequence", last_delivery_id as "lastDeliveryId"
      from matches where property_uuid = any($1::uuid[])`,
    values: [arrayLiteral(uuids)],
  });
  return rows;
}

export function insertMatches(matches: readonly Match[]): readonly Statement[] {
  if (matches.length === 0) return [];
  return [
    {
      name: 'insert-matches',
      text: `
      insert into matches (id, search_number, property_uuid, has_begun, created_at, updated_at, last_sequence,
        last_delivery_id, channel, search_version, cause)
      select id, search_number, property_uuid, has_begun, created_at, updated_at, last_sequence, last_delivery_id, channel,
        search_version, cause::json
      from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::boolean[], $5::timestamptz[], $6::timestamptz[],
        $7::integer[], $8::uuid[], $9::text[], $10::integer[], ${jsonTexts('$11')})
        as written(id, search_number, property_uuid, has_begun, created_at, updated_at, last_sequence, last_delivery_id,
          channel, search_version, cause)`,
      values: [
        ...memberArrays(matches, 'id', 'searchNumber', 'propertyUuid', 'hasBegun', 'createdAt', 'updatedAt'),
        ...memberArrays(matches, 'lastSequence', 'lastDeliveryId'),
        ...causesOf(matches),
      ],
    },
  ];
}

/** Updates matches that are notified again. Served by the primary key. None of the written columns is in an index. */
export function updateMatches(matches: readonly Match[]): readonly Statement[] {
  if (matches.length === 0) return [];
  return [
    {
      name: 'update-matches',
      text: `
      update matches
      set updated_at = written.updated_at, last_sequence = written.last_sequence,
        last_delivery_id = written.last_delivery_id
      from unnest($1::uuid[], $2::timestamptz[], $3::integer[], $4::uuid[])
        as written(id, updated_at, last_sequence, last_delivery_id)
      where matches.id = any($1::uuid[]) and matches.id = written.id`,
      values: memberArrays(matches, 'id', 'updatedAt', 'lastSequence', 'lastDeliveryId'),
    },
  ];
}

/** Records the start of matches. `updateMatches` updates the other columns. Served by the primary key. */
export function beginMatches(matches: readonly Match[]): readonly Statement[] {
  if (matches.length === 0) return [];
  return [
    {
      name: 'begin-matches',
      text: `
      update matches
      set has_begun = true, created_at = written.created_at, channel = written.channel,
        search_version = written.search_version, cause = written.cause::json
      from unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::integer[], ${jsonTexts('$5')})
        as written(id, created_at, channel, search_version, cause)
      where matches.id = any($1::uuid[]) and matches.id = written.id`,
      values: [...memberArrays(matches, 'id', 'createdAt'), ...causesOf(matches)],
    },
  ];
}

/** Serialises events only once per change, because the matches of a change share its events. */
function causesOf(matches: readonly Match[]): readonly string[] {
  const texts = new Map<readonly AdvertEvent[], string>();
  const textOf = (events: readonly AdvertEvent[]): string => {
    const text = texts.get(events) ?? JSON.stringify(events.map(causeOf));
    texts.set(events, text);
    return text;
  };
  const causes = matches.map(({ cause }) => cause as MatchCause);
  return [...memberArrays(causes, 'channel', 'searchVersion'), joinedJson(causes.map(({ events }) => textOf(events)))];
}

function causeOf({ kind, advertUuid, field }: AdvertEvent): object {
  if (field === null) return { kind, advert: advertUuid };
  const { fieldName, fieldOldValue, fieldNewValue } = field;
  return { kind, advert: advertUuid, field: fieldName, was: fieldOldValue, is: fieldNewValue };
}
