/**
 * The queue of deliveries: the recorder's inserts, and the statements by which couriers find due deliveries.
 * delivery-claims.ts claims rows for attempts, attempts.ts records outcomes, and retries.ts makes retries due.
 */

import type { DueDelivery, Lane, NewDelivery } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';
import { arrayLiteral, joinedJson, jsonTexts, memberArrays } from './array-literal.ts';
import type { Queryable, Statement } from './database.ts';
import { isAtEndpoint, isInAnyLane, isInLane, isPaused, isUndecidedOf, LANE } from './delivery-states.ts';
import { statementShares } from './statement-share.ts';

/** Approximate size of a row in bytes, without its longest members. */
const ROW_LENGTH = 512;

/** The values of `lane` for due rows. */
const LANES = {
  first: LANE.due,
  retry: LANE.due_again,
  recovery: LANE.due_recovered,
} as const satisfies Record<Lane, number>;

export function laneOf(number: number): Lane {
  if (number === LANE.due_recovered) return 'recovery';
  return number === LANE.due_again ? 'retry' : 'first';
}

/** Inserts rows into `deliveries` and `open_deliveries`, with one statement per share (`statementShares`). */
export function insertDeliveries(
  deliveries: readonly (NewDelivery & { readonly endpointKey: string })[],
): readonly Statement[] {
  return statementShares(deliveries, ({ head, endpoint }) => head.length + endpoint.length + ROW_LENGTH).map(
    (share) => ({
      name: 'insert-deliveries',
      text: INSERT,
      values: [
        ...memberArrays(share, 'id', 'searchNumber', 'matchId', 'sequence', 'channel', 'kind', 'endpointKey'),
        ...memberArrays(share, 'snapshotId', 'generation'),
        joinedJson(share.map(({ endpoint }) => endpoint)),
        joinedJson(share.map(({ head }) => head)),
        joinedJson(share.map(({ traceparent }) => traceparent ?? '')),
      ],
    }),
  );
}

const INSERT = `
  with written as materialized (
    select * from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::integer[], $5::text[], $6::text[], $7::text[],
      $8::uuid[], $9::integer[], ${jsonTexts('$10')}, ${jsonTexts('$11')}, ${jsonTexts('$12')})
      as row(id, search_number, match_id, sequence, channel, kind, endpoint_key, snapshot_id, generation, endpoint, head,
        traceparent)
  ), recorded as (
    insert into deliveries (id, search_number, match_id, sequence, channel, kind, endpoint, endpoint_key, head,
      snapshot_id, traceparent)
    select id, search_number, match_id, sequence, channel, kind, endpoint, endpoint_key, head, snapshot_id,
      nullif(traceparent, '')
    from written
  )
  insert into open_deliveries (id, match_id, search_number, generation, follows, endpoint_key)
  select id, match_id, search_number, generation, sequence > 1, endpoint_key from written`;

/** A request for up to `count` due deliveries of an endpoint in a lane, after a position. */
export interface BacklogRange {
  readonly endpointKey: string;
  readonly lane: Lane;
  readonly position: Uuid;
  readonly count: number;
}

/** The expression of open_endpoint. For the plain id, the planner might choose the primary key and read all of it. */
const POSITION = 'uuid_send(id)';

/** The due deliveries of each request, in the order of ids. Served by open_endpoint, with one descent per request. */
export async function readDue(client: Queryable, ranges: readonly BacklogRange[]): Promise<readonly DueDelivery[]> {
  const { rows } = await client.query<{ id: Uuid; endpointKey: string; lane: number }>({
    name: 'read-due',
    text: `
      select due.id, range.key as "endpointKey", range.lane
      from unnest($1::text[], $2::uuid[], $3::integer[], $4::smallint[]) as range(key, position, count, lane),
        lateral (
          select id from open_deliveries
          where endpoint_key = range.key and lane = range.lane and ${POSITION} > uuid_send(range.position)
            and claimed_by is null and ${isInAnyLane()}
          order by ${POSITION} limit range.count
        ) due`,
    values: [
      ...memberArrays(ranges, 'endpointKey', 'position', 'count'),
      arrayLiteral(ranges.map(({ lane }) => LANES[lane])),
    ],
  });
  return rows.map(({ id, endpointKey, lane }) => ({ id, endpointKey, lane: laneOf(lane) }));
}

/**
 * The lanes that have due or claimed deliveries, except those of paused endpoints. Uses a loose scan of open_endpoint,
 * whose cost is proportional to the number of endpoints with open deliveries.
 */
export async function readDueLanes(
  client: Queryable,
): Promise<readonly { readonly endpointKey: string; readonly lane: Lane }[]> {
  const { rows } = await client.query<{ endpointKey: string; lane: number }>({
    name: 'read-due-lanes',
    text: `
      with recursive found as (
        (select endpoint_key as key from open_deliveries where ${isInAnyLane()} order by endpoint_key limit 1)
        union all
        select (select endpoint_key from open_deliveries where endpoint_key > found.key and ${isInAnyLane()}
          order by endpoint_key limit 1)
        from found where found.key is not null
      )
      select key as "endpointKey", lane from found, unnest('{${Object.values(LANES).join()}}'::smallint[]) as lane
      where key is not null
        and not ${isPaused('found.key')}
        and exists (
          select from open_deliveries o
          where o.endpoint_key = key and o.lane = lane.lane and ${isInAnyLane('o')} offset 0)`,
  });
  return rows.map(({ endpointKey, lane }) => ({ endpointKey, lane: laneOf(lane) }));
}

/** The result of one page of `releaseExpiredHolds`. */
export interface ExpiredHolds {
  readonly due: readonly DueDelivery[];
  /** The id at which the page ended; null after the last page. */
  readonly last: Uuid | null;
}

/**
 * Reads the next `limit` held deliveries between two ids, and makes those due that no delivery at their own endpoint
 * holds back. Deliveries of this age no longer wait for other endpoints. Served by open_held and open_undecided.
 */
export async function releaseExpiredHolds(
  client: Queryable,
  after: Uuid,
  before: Uuid,
  limit: number,
): Promise<ExpiredHolds> {
  const { rows } = await client.query<{ last: Uuid | null; count: number; ids: Uuid[]; keys: string[] }>({
    name: 'release-expired-holds',
    text: `
      with page as materialized (
        select id, match_id, endpoint_key, generation from open_deliveries
        where ${isInLane('held')} and id > $1 and id < $2 order by id limit $3
      ), released as (
        update open_deliveries o set lane = ${LANE.due} where o.lane = ${LANE.held} and o.id = any(array(
          select page.id from page where (
            select true from open_deliveries e
            where ${isUndecidedOf('e', 'page.match_id')} and ${isAtEndpoint('e', 'page.endpoint_key')}
              and e.id < page.id and e.generation >= page.generation
            order by e.lane, e.id limit 1) is null))
        returning o.id, o.endpoint_key
      )
      select (select id from page order by id desc limit 1) as last, (select count(*) from page)::integer as count,
        array(select id from released order by id) as ids, array(select endpoint_key from released order by id) as keys`,
    values: [after, before, limit],
  });
  const { last, count, ids, keys } = rows[0] as (typeof rows)[number];
  const due = ids.map((id, i) => ({ id, endpointKey: keys[i] as string, lane: 'first' as const }));
  return { due, last: count < limit ? null : last };
}
