/**
 * Filters of clients and operators, as conditions on a delivery `d` and its search `s`. Clients' queries scan only the
 * rows of searches or matches, through an index, or at most `LISTED_MAX` rows of a client.
 */

import type { EventKind } from '../domain/codes.ts';
import type { DeliveryChannel, DeliveryState } from '../domain/delivery.ts';
import { endpointKeyOf } from '../domain/endpoint.ts';
import { createdAtOf, type SearchNumber, type Uuid } from '../domain/ids.ts';
import { isInState } from './cancellations.ts';
import { LISTED_MAX } from './client-listings.ts';
import type { Queryable } from './database.ts';
import { ALL_DELIVERIES } from './delivery-states.ts';

/** Null matches any value. */
export interface DeliveryFilter {
  readonly state: DeliveryState | null;
  readonly kind: EventKind | null;
  readonly channel: DeliveryChannel | null;
  readonly endpointKey: string | null;
}

/** Both ends are inclusive; null means that there is no limit. */
export interface TimeRange {
  readonly from: Date | null;
  readonly to: Date | null;
}

export const ANY_DELIVERY: DeliveryFilter = { state: null, kind: null, channel: null, endpointKey: null };
export const ANY_TIME: TimeRange = { from: null, to: null };

/** The key of a client's `endpoint`, which is a URL or an e-mail address after `mailto:`. */
export async function readEndpointKey(database: Queryable, clientId: Uuid, endpoint: string): Promise<string> {
  const [, address] = /^mailto:(.*)$/is.exec(endpoint) ?? [];
  if (address === undefined) return endpointKeyOf(clientId, endpoint);
  const { rows } = await database.query<{ key: string }>('select mail_key_of($1, $2) as key', [clientId, address]);
  return (rows[0] as { key: string }).key;
}

/** The parameters of the condition begin with `$first`. */
export function filterConditions(
  { state, ...facts }: DeliveryFilter,
  first: number,
): { readonly condition: string; readonly values: readonly unknown[] } {
  const wanted = `$${first}::text`;
  const { condition, values } = factConditions(facts, 'd', first + 1);
  return { condition: `(${wanted} is null or ${isInState(wanted)}) and ${condition}`, values: [state, ...values] };
}

/** Conditions on stored columns, so that PostgreSQL can check them before it looks up the state. */
export function factConditions(
  { kind, channel, endpointKey }: Omit<DeliveryFilter, 'state'>,
  alias: string,
  first: number,
): { readonly condition: string; readonly values: readonly unknown[] } {
  const values = [kind, channel, endpointKey];
  const conditions = ['kind', 'channel', 'endpoint_key'].map((column, at) => {
    return `($${first + at}::text is null or ${alias}.${column} = $${first + at}::text)`;
  });
  return { condition: conditions.join(' and '), values };
}

export function isAnyDelivery(filter: DeliveryFilter): boolean {
  return Object.values(filter).every((wanted) => wanted === null);
}

/** Plain comparisons, so that an index can serve them. The API has milliseconds, but the column has microseconds. */
export function timeCondition(column: string, { from, to }: TimeRange): string {
  const bounds = [
    ...(from === null ? [] : [`${column} >= '${from.toISOString()}'`]),
    ...(to === null ? [] : [`${column} < timestamptz '${to.toISOString()}' + interval '1 millisecond'`]),
  ];
  return bounds.length === 0 ? 'true' : bounds.join(' and ');
}

/** The range in which a query finds deliveries: a search, or a match and the time in which it was notified. */
export interface DeliveryTarget {
  readonly searchNumber: SearchNumber;
  readonly matchId: Uuid | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

export interface WantedMatches {
  readonly matchId: Uuid | null;
  readonly propertyUuid: Uuid | null;
  readonly searchNumber: SearchNumber | null;
}

/** The clocks of processes and of PostgreSQL are assumed to differ by less than this. */
const CLOCKS_APART_MS = 3_600_000;

export interface SentMatch {
  readonly id: Uuid;
  readonly number: SearchNumber;
  readonly updatedAt: Date;
}

/** The newest requested matches of the client. Served by the primary key or the unique index of matches. */
export async function readTargets(
  database: Queryable,
  clientId: Uuid,
  { matchId, propertyUuid, searchNumber }: WantedMatches,
): Promise<readonly DeliveryTarget[]> {
  const condition = `s.client_id = $1 and s.deleted_at is null and ($2::uuid is null or m.id = $2)
    and ($3::uuid is null or m.property_uuid = $3) and ($4::integer is null or m.search_number = $4)`;
  return readTargetMatches(database, condition, [clientId, matchId, propertyUuid, searchNumber]);
}

/** Served by the indexes that the callers name. */
async function readTargetMatches(
  database: Queryable,
  condition: string,
  values: unknown[],
): Promise<readonly DeliveryTarget[]> {
  const { rows } = await database.query<SentMatch>(
    `select m.id, s.number, m.updated_at as "updatedAt" from matches m join searches s on s.number = m.search_number
     where ${condition} order by m.updated_at desc limit ${LISTED_MAX}`,
    values,
  );
  return rows.map(targetOfMatch);
}

/** The filters of operators. */
export interface WantedSearches {
  readonly clientId: Uuid | null;
  readonly searchId: Uuid | null;
  readonly propertyUuid: Uuid | null;
}

/**
 * For operators: targets of any client, including deleted searches. If a property is given, the targets are its newest
 * matches; otherwise they are whole searches. Null if there is no condition. Served by the unique index of matches, the
 * unique index on the id of searches, searches_client and searches_deleted.
 */
export async function readAnyTargets(
  database: Queryable,
  { clientId, searchId, propertyUuid }: WantedSearches,
): Promise<readonly DeliveryTarget[] | null> {
  if (clientId === null && searchId === null && propertyUuid === null) return null;
  if (propertyUuid !== null) {
    const condition =
      'm.property_uuid = $3 and ($1::uuid is null or s.client_id = $1) and ($2::uuid is null or s.id = $2)';
    return readTargetMatches(database, condition, [clientId, searchId, propertyUuid]);
  }
  const { rows } = await database.query<{ number: SearchNumber }>(
    searchId === null
      ? `select number from searches where client_id = $1 and deleted_at is null
         union all select number from searches where client_id = $1 and deleted_at is not null`
      : 'select number from searches where id = $2 and ($1::uuid is null or client_id = $1)',
    searchId === null ? [clientId] : [clientId, searchId],
  );
  return rows.map(({ number }) => ({ searchNumber: number, matchId: null, from: null, to: null }));
}

/** The deliveries of a match were recorded between its first and its last notification. */
export function targetOfMatch({ id, number, updatedAt }: SentMatch): DeliveryTarget {
  return {
    searchNumber: number,
    matchId: id,
    from: new Date(createdAtOf(id).getTime() - CLOCKS_APART_MS),
    to: new Date(updatedAt.getTime() + CLOCKS_APART_MS),
  };
}

/**
 * SQL for the deliveries `d` of targets with their search `s`. The parameters `$1` to `$4` are `targetColumns`.
 * `condition` applies to `d` and may end with a limit. Served by deliveries_search and mail_items_search for each
 * target.
 */
export function deliveriesOfTargets(condition: string): string {
  return `unnest($1::integer[], $2::uuid[], $3::timestamptz[], $4::timestamptz[]) as target(number, match_id, since, until)
    join searches s on s.number = target.number cross join lateral (
      select d.* from ${ALL_DELIVERIES} d
      where d.search_number = target.number and (target.match_id is null or d.match_id = target.match_id)
        and d.created_at >= coalesce(target.since, '-infinity') and d.created_at <= coalesce(target.until, 'infinity')
        and ${condition}
    ) d`;
}

export function targetColumns(targets: readonly DeliveryTarget[]): unknown[] {
  return [
    targets.map(({ searchNumber }) => searchNumber),
    targets.map(({ matchId }) => matchId),
    targets.map(({ from }) => from),
    targets.map(({ to }) => to),
  ];
}
