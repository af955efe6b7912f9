/** The last notified values of matches (decisions, section 16). Only the recorder writes them. */

import { THRESHOLD_FIELDS, type ThresholdField } from '../domain/event-thresholds.ts';
import type { Uuid } from '../domain/ids.ts';
import { arrayLiteral, joinedJson, jsonTexts, memberArrays } from './array-literal.ts';
import type { Queryable, Statement } from './database.ts';

/** Price and surface by advert; null if unknown. */
export type NotifiedValues = Readonly<Record<Uuid, readonly [price: number | null, surface: number | null]>>;

export interface MatchNotice {
  readonly matchId: Uuid;
  /** The search's `keptSince` (`RouteThresholds`) when the values were stored. If it has changed, they are void. */
  readonly keptSince: number | null;
  readonly notified: NotifiedValues | null;
  /** True if the end of the match was notified, and since then neither its return nor its start. */
  readonly isEnded: boolean;
  readonly endedAt: Date | null;
  readonly endedBy: string | null;
  readonly resumedAt: Date | null;
}

/** Served by the primary key. */
export async function readNotices(client: Queryable, matchIds: readonly Uuid[]): Promise<readonly MatchNotice[]> {
  if (matchIds.length === 0) return [];
  const { rows } = await client.query<MatchNotice>({
    name: 'read-notices',
    text: `select match_id as "matchId", kept_since::float8 as "keptSince", notified, is_ended as "isEnded",
        ended_at as "endedAt", ended_by as "endedBy", resumed_at as "resumedAt"
      from match_notices where match_id = any($1::uuid[])`,
    values: [arrayLiteral(matchIds)],
  });
  return rows;
}

/** Inserts notices, or replaces those of the same matches. Served by the primary key. */
export function writeNotices(notices: readonly MatchNotice[]): readonly Statement[] {
  if (notices.length === 0) return [];
  return [
    {
      name: 'write-notices',
      text: `
      insert into match_notices (match_id, kept_since, notified, is_ended, ended_at, ended_by, resumed_at)
      select match_id, kept_since, nullif(notified, 'null')::json, is_ended, ended_at, ended_by, resumed_at
      from unnest($1::uuid[], $2::bigint[], $3::boolean[], $4::timestamptz[], $5::text[], $6::timestamptz[],
        ${jsonTexts('$7')}) as written(match_id, kept_since, is_ended, ended_at, ended_by, resumed_at, notified)
      on conflict (match_id) do update set kept_since = excluded.kept_since, notified = excluded.notified,
        is_ended = excluded.is_ended, ended_at = excluded.ended_at, ended_by = excluded.ended_by,
        resumed_at = excluded.resumed_at`,
      values: [
        ...memberArrays(notices, 'matchId', 'keptSince', 'isEnded', 'endedAt', 'endedBy', 'resumedAt'),
        joinedJson(notices.map(({ notified }) => JSON.stringify(notified))),
      ],
    },
  ];
}

/** A price or surface that an advert had before an event changed it. */
export interface FormerValue {
  /** The id of the event. */
  readonly id: number;
  readonly propertyUuid: Uuid;
  readonly advertUuid: Uuid;
  readonly field: ThresholdField;
  readonly value: number;
}

/** Maximum number of events read per property. An advert that changes every minute must not delay other properties. */
const EVENTS_READ_MAX = 10_000;

/** Former values in the events of each property after a given event, ordered by event. Served by events_property. */
export async function readFormerValues(
  client: Queryable,
  afterByProperty: ReadonlyMap<Uuid, number>,
): Promise<readonly FormerValue[]> {
  if (afterByProperty.size === 0) return [];
  const { rows } = await client.query<FormerValue>({
    name: 'read-former-values',
    text: `
      select id::float8, asked.property_uuid as "propertyUuid", advert_uuid as "advertUuid", field_name as field,
        field_old_value::float8 as value
      from unnest($1::uuid[], $2::bigint[]) as asked(property_uuid, after)
      cross join lateral (
        select * from events where events.property_uuid = asked.property_uuid and id > after order by id limit $3
      ) as kept
      where field_name = any($4) and field_old_value is not null
      order by id`,
    values: [
      arrayLiteral([...afterByProperty.keys()]),
      arrayLiteral([...afterByProperty.values()]),
      EVENTS_READ_MAX,
      arrayLiteral(THRESHOLD_FIELDS),
    ],
  });
  return rows;
}

/** Removes notices without a match, and resolves with their number. Reads all notices, by the primary key. */
export async function removeNotices(client: Queryable, limit: number): Promise<number> {
  const { rowCount } = await client.query(
    `delete from match_notices where match_id in (
       select match_id from match_notices n where not exists (select from matches where id = n.match_id) limit $1)`,
    [limit],
  );
  return rowCount ?? 0;
}
