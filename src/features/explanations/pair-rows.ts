/** Reads the records of a search, a property and their pair, from which their history is computed. */

import type { EventKind } from '../../engine/domain/codes.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import type { SearchMembers } from '../../engine/domain/search.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { MAIL_COLUMNS } from '../../engine/store/mail-conditions.ts';
import { MARK_COLUMNS, type MarkState, type PropertyMark } from '../../engine/store/search-marks.ts';
import { membersOfStored, type StoredMembers } from '../../engine/store/searches.ts';
import type { CausingEvent, PairMatch, RecordedMessage } from './pair-history.ts';
import type { ScannedProperty } from './property-scans.ts';

export interface RecordedVersion {
  readonly version: number;
  /** Null if its beginning is no longer recorded. */
  readonly from: Date | null;
  /** For a former address, only the fact that there was one is recorded. */
  readonly members: SearchMembers & { readonly hasNotificationRecipient?: boolean };
}

interface SearchHistoryRow {
  readonly id: Uuid;
  readonly version: number;
  readonly members: StoredMembers;
  readonly createdAt: Date;
  readonly deletedAt: Date | null;
  readonly isUnsubscribed: boolean;
  readonly changes: readonly { readonly version: number; readonly at: string; readonly former: object }[];
}

/** Null if there is no such search. Served by the primary key and search_changes_search. */
export async function readSearchHistory(database: Queryable, number: SearchNumber) {
  const { rows } = await database.query<SearchHistoryRow>(
    `select id, version, members, created_at as "createdAt", deleted_at as "deletedAt", ${MAIL_COLUMNS},
       (select coalesce(json_agg(json_build_object('version', c.version, 'at', changed_at, 'former', former)
          order by c.id desc), '[]') from search_changes c where search_number = number) as changes
     from searches where number = $1`,
    [number],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const { id, version, createdAt, deletedAt, isUnsubscribed, changes } = row;
  /** Oldest first; the current version is last. */
  const versions: RecordedVersion[] = [];
  let members: RecordedVersion['members'] = membersOfStored(row.members);
  for (const change of changes) {
    versions.unshift({ version: change.version, from: new Date(change.at), members });
    members = { ...members, ...change.former };
  }
  const isWhole = changes.length === version;
  versions.unshift({ version: version - changes.length, from: isWhole ? createdAt : null, members });
  return { id, versions, deletedAt, isUnsubscribed };
}

/** Maximum number of events read of one property, more than a reader can use. */
const EVENTS_MAX = 2_000;

interface EventRow {
  readonly advert: Uuid;
  readonly kind: EventKind;
  readonly field: string | null;
  readonly was: string | null;
  readonly is: string | null;
  readonly crawledAt: Date;
  readonly at: Date;
}

/**
 * The messages are newest first, as far back as events are kept and read. `readSince`: the time of the newest message
 * that was left out because the limit was reached; null if none was. Served by events_property and the primary key of
 * properties.
 */
export async function readPropertyHistory(database: Queryable, uuid: Uuid) {
  const stored = await database.query<{ at: Date }>('select created_at as at from properties where uuid = $1', [uuid]);
  const { rows } = await database.query<EventRow>(
    `select advert_uuid as advert, kind, field_name as field, field_old_value as was, field_new_value as is,
       created_at as "crawledAt", recorded_at as at
     from events where property_uuid = $1 order by id desc limit ${EVENTS_MAX}`,
    [uuid],
  );
  const messages: (RecordedMessage & { readonly events: CausingEvent[] })[] = [];
  let last: EventRow | null = null;
  for (const row of rows) {
    const isSame =
      last?.advert === row.advert && +last.crawledAt === +row.crawledAt && last.at.getTime() === row.at.getTime();
    if (!isSame) messages.push({ at: row.at, events: [] });
    const { kind, advert, field, was, is } = row;
    messages.at(-1)?.events.unshift(field === null ? { kind, advert } : { kind, advert, field, was, is });
    last = row;
  }
  // Some events of the oldest message may be missing, so that message is left out.
  const readSince = rows.length === EVENTS_MAX ? (messages.pop()?.at ?? null) : null;
  return { heldSince: stored.rows[0]?.at ?? new Date(0), messages, readSince };
}

export interface PairRow extends PairMatch {
  readonly matchId: Uuid;
  readonly updatedAt: Date;
}

/** Null if the pair was never notified. Served by the unique index of matches. */
export async function readPair(
  database: Queryable,
  searchNumber: SearchNumber,
  propertyUuid: Uuid,
): Promise<PairRow | null> {
  const { rows } = await database.query<PairRow>(
    `select id as "matchId", created_at as "createdAt", has_begun as "hasBegun", updated_at as "updatedAt", cause,
       channel, search_version as "searchVersion", ended_at as "endedAt", ended_by as "endedBy",
       resumed_at as "resumedAt"
     from matches left join match_notices on match_id = id where property_uuid = $1 and search_number = $2`,
    [propertyUuid, searchNumber],
  );
  return rows[0] ?? null;
}

export interface FoundPair {
  /** Null if the pair was never notified. */
  readonly matchId: Uuid | null;
  readonly matchedAt: Date | null;
  readonly mark: PropertyMark | null;
}

interface FoundPairRow extends Omit<FoundPair, 'mark'>, PropertyMark {
  readonly uuid: Uuid;
}

/** Matches and marks of properties in a search. Served by the unique index of matches and the primary key of marks. */
export async function readFoundPairs(
  database: Queryable,
  searchNumber: SearchNumber,
  propertyUuids: readonly Uuid[],
): Promise<ReadonlyMap<Uuid, FoundPair>> {
  const { rows } = await database.query<FoundPairRow>(
    `select uuid, id as "matchId", created_at as "matchedAt", ${MARK_COLUMNS}
     from unnest($1::uuid[]) as found(uuid)
     left join matches m on m.property_uuid = uuid and m.search_number = $2
     left join search_marks k on k.property_uuid = uuid and k.search_number = $2`,
    [propertyUuids, searchNumber],
  );
  return new Map(
    rows.map(({ uuid, matchId, matchedAt, ...mark }) => {
      return [uuid, { matchId, matchedAt, mark: mark.markedAt === null ? null : mark }];
    }),
  );
}

/** Live and expired properties with the mark `state` in the search. Served by the primary keys. */
export async function readMarked(
  database: Queryable,
  searchNumber: SearchNumber,
  state: MarkState,
): Promise<readonly ScannedProperty[]> {
  const { rows } = await database.query<ScannedProperty>(
    `select property_uuid as uuid, facts from search_marks join property_summaries using (property_uuid)
     where search_number = $1 and state = $2`,
    [searchNumber, state],
  );
  return rows;
}
