/** Reads deliveries and their attempts for the owner of their search. `readSentContent` also serves operators. */

import type { EventKind } from '../domain/codes.ts';
import type { DeliveryChannel, DeliveryState } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';
import { type AttemptRead, readAttempts } from './attempts.ts';
import { FINISHED_AT, STATE } from './cancellations.ts';
import {
  cutOfListed,
  LISTED_DELIVERIES,
  LISTED_MAX,
  type ListedIds,
  type ListedPage,
  type ListedTable,
  listedOfClient,
  listOfClient,
} from './client-listings.ts';
import type { Queryable } from './database.ts';
import {
  ANY_DELIVERY,
  type DeliveryFilter,
  type DeliveryTarget,
  deliveriesOfTargets,
  factConditions,
  filterConditions,
  isAnyDelivery,
  type TimeRange,
  targetColumns,
  timeCondition,
} from './delivery-filters.ts';
import { ALL_DELIVERIES } from './delivery-states.ts';

export interface DeliveryRead {
  readonly id: Uuid;
  readonly searchId: Uuid;
  readonly matchId: Uuid;
  readonly channel: DeliveryChannel;
  readonly kind: EventKind;
  readonly endpoint: string;
  readonly endpointKey: string;
  readonly state: DeliveryState;
  readonly attemptCount: number;
  readonly dueAt: Date;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  readonly attempts: readonly AttemptRead[];
}

export type DeliveryRow = Omit<DeliveryRead, 'attempts'>;

/** The columns of a `DeliveryRow` without its number of attempts. */
export const DELIVERY_COLUMNS = `d.id, s.id as "searchId", d.match_id as "matchId", d.channel, d.kind, d.endpoint,
  d.endpoint_key as "endpointKey", ${STATE} as state, d.due_at as "dueAt", d.created_at as "createdAt",
  ${FINISHED_AT} as "finishedAt"`;
const COLUMNS = `${DELIVERY_COLUMNS}, d.attempt_count as "attemptCount"`;

export interface DeliveryListQuery extends ListedPage {
  readonly filter: DeliveryFilter;
  readonly range: TimeRange;
}

export interface DeliveryPage {
  readonly deliveries: readonly DeliveryRead[];
  readonly total: number;
  /** True if there may be more deliveries than were read. */
  readonly isCut: boolean;
}

/**
 * One page of the deliveries of some searches or matches, by time, and their total number. For a match, only the time
 * in which it was notified is read. Served by deliveries_search and mail_items_search.
 */
export async function listDeliveries(
  database: Queryable,
  targets: readonly DeliveryTarget[],
  { filter, range, direction, offset, limit }: DeliveryListQuery,
): Promise<DeliveryPage> {
  const { condition, values } = filterConditions(filter, 5);
  const from = `${deliveriesOfTargets(timeCondition('d.created_at', range))} where ${condition}`;
  const wanted = [...targetColumns(targets), ...values];
  const listed = database.query<DeliveryRow>(
    `select ${COLUMNS} from ${from} order by d.created_at ${direction}, d.id ${direction} limit $9 offset $10`,
    [...wanted, limit, offset],
  );
  const counting = database.query<{ total: number }>(`select count(*)::integer as total from ${from}`, wanted);
  const [{ rows }, { rows: counts }] = await Promise.all([listed, counting]);
  return { deliveries: await withAttempts(database, rows), total: counts[0]?.total ?? 0, isCut: false };
}

/**
 * Like `listDeliveries`, for all searches of a client (client-listings.ts). The filter for the state applies only to
 * the first `LISTED_MAX` deliveries of the requested kind, channel and endpoint.
 */
export async function listDeliveriesOfClient(
  database: Queryable,
  clientId: Uuid,
  { filter, range, ...page }: DeliveryListQuery,
): Promise<DeliveryPage> {
  const table = { ...LISTED_DELIVERIES, condition: timeCondition('one.created_at', range) };
  const { ids, total, isCut } = isAnyDelivery(filter)
    ? await listOfClient(database, table, clientId, page)
    : await listFiltered(database, table, clientId, filter, page);
  // Served by the primary keys.
  const { rows } = await database.query<DeliveryRow>(
    `select ${COLUMNS} from unnest($1::uuid[]) with ordinality as wanted (id, position)
     join ${ALL_DELIVERIES} d using (id) join searches s on s.number = d.search_number order by position`,
    [ids],
  );
  return { deliveries: await withAttempts(database, rows), total, isCut };
}

/** Served by the indexes of `listedOfClient` and the primary keys. */
async function listFiltered(
  database: Queryable,
  table: ListedTable,
  clientId: Uuid,
  filter: DeliveryFilter,
  { direction, offset, limit }: ListedPage,
): Promise<ListedIds> {
  const { condition, values } = filterConditions({ ...ANY_DELIVERY, state: filter.state }, 5);
  const facts = factConditions(filter, 'one', 5 + values.length);
  const listed = { ...table, condition: `${table.condition} and ${facts.condition}` };
  const { rows } = await database.query<ListedIds>(
    `${listedOfClient(listed, direction)}, found as materialized (
       select cut.id, cut.at from ${cutOfListed(direction)} cut
       join ${ALL_DELIVERIES} d using (id) join searches s on s.number = d.search_number where ${condition}
     )
     select array(select id from found order by at ${direction}, id ${direction} limit $3 offset $4) as ids,
       (select count(*)::integer from found) as total,
       (select count(*) = $2::bigint from ${cutOfListed(direction)} cut) as "isCut"`,
    [clientId, LISTED_MAX, limit, offset, ...values, ...facts.values],
  );
  return rows[0] as ListedIds;
}

/** Null if the delivery belongs to another client or its search was deleted. Served by the primary keys. */
export async function readDelivery(database: Queryable, clientId: Uuid, id: Uuid): Promise<DeliveryRead | null> {
  const { rows } = await database.query<DeliveryRow>(
    `select ${COLUMNS} from ${ALL_DELIVERIES} d join searches s on s.number = d.search_number
     where d.id = $1 and s.client_id = $2 and s.deleted_at is null`,
    [id, clientId],
  );
  const [delivery] = await withAttempts(database, rows);
  return delivery ?? null;
}

export interface SentContent {
  readonly head: string;
  /** JSON of the snapshot. It has contacts if they were included when the delivery was recorded. */
  readonly document: string;
  readonly sequence: number;
  /** The current context of the search, as JSON; null if there is none. */
  readonly context: string | null;
  readonly hidesContacts: boolean;
}

/** The parts of a webhook's body; null for an e-mail, or if the snapshot is gone. Served by the primary keys. */
export async function readSentContent(database: Queryable, id: Uuid): Promise<SentContent | null> {
  const { rows } = await database.query<SentContent>(
    `select d.head, snapshots.document, d.sequence, s.context, s.hide_property_contact as "hidesContacts"
     from deliveries d join snapshots on snapshots.id = d.snapshot_id join searches s on s.number = d.search_number
     where d.id = $1`,
    [id],
  );
  return rows[0] ?? null;
}

async function withAttempts(database: Queryable, deliveries: readonly DeliveryRow[]): Promise<DeliveryRead[]> {
  const attemptsOf = await readAttempts(
    database,
    deliveries.map(({ id }) => id),
  );
  return deliveries.map((delivery) => ({ ...delivery, attempts: attemptsOf(delivery.id) }));
}
