/** Deliveries and their attempts as the owner of their search reads them. Read side only. */

import type { DeliveryState } from '../domain/delivery.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import { ALL_DELIVERIES } from './all-deliveries.ts';
import { FINISHED_AT, isInState, STATE } from './cancellations.ts';
import type { Queryable } from './database.ts';

export interface AttemptRead {
  readonly number: number;
  readonly startedAt: Date;
  readonly durationMs: number | null;
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly reason: string | null;
  readonly responseHead: string | null;
}

export interface DeliveryRead {
  readonly id: Uuid;
  readonly searchId: Uuid;
  readonly matchId: Uuid;
  readonly channel: string;
  readonly kind: string;
  readonly endpoint: string;
  readonly endpointKey: string;
  readonly state: DeliveryState;
  readonly attemptCount: number;
  readonly dueAt: Date;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  readonly attempts: readonly AttemptRead[];
}

type DeliveryRow = Omit<DeliveryRead, 'attempts'>;

const COLUMNS = `d.id, s.id as "searchId", d.match_id as "matchId", d.channel, d.kind, d.endpoint,
  d.endpoint_key as "endpointKey", ${STATE} as state,
  d.attempt_count as "attemptCount", d.due_at as "dueAt", d.created_at as "createdAt", ${FINISHED_AT} as "finishedAt"`;

export interface DeliveryListQuery {
  /** Null: any. */
  readonly state: DeliveryState | null;
  readonly offset: number;
  readonly limit: number;
}

/** One page of the deliveries of a search, newest first, and how many there are. Served by deliveries_search and mail_items_search. */
export async function listDeliveries(
  database: Queryable,
  searchNumber: SearchNumber,
  { state, offset, limit }: DeliveryListQuery,
): Promise<{ readonly deliveries: readonly DeliveryRead[]; readonly total: number }> {
  const where = `d.search_number = $1 and ($2::text is null or ${isInState('$2::text')})`;
  const listed = database.query<DeliveryRow>(
    `select ${COLUMNS} from ${ALL_DELIVERIES} d join searches s on s.number = d.search_number
     where ${where} order by d.created_at desc, d.id limit $3 offset $4`,
    [searchNumber, state, limit, offset],
  );
  const counted = database.query<{ total: number }>(
    `select count(*)::integer as total from ${ALL_DELIVERIES} d join searches s on s.number = d.search_number
     where ${where}`,
    [searchNumber, state],
  );
  const [{ rows }, { rows: counts }] = await Promise.all([listed, counted]);
  return { deliveries: await withAttempts(database, rows), total: counts[0]?.total ?? 0 };
}

/** Null when it is another client's or its search was deleted. Served by the primary keys. */
export async function readDelivery(database: Queryable, clientId: Uuid, id: Uuid): Promise<DeliveryRead | null> {
  const { rows } = await database.query<DeliveryRow>(
    `select ${COLUMNS} from ${ALL_DELIVERIES} d join searches s on s.number = d.search_number
     where d.id = $1 and s.client_id = $2 and s.deleted_at is null`,
    [id, clientId],
  );
  const [delivery] = await withAttempts(database, rows);
  return delivery ?? null;
}

/** Oldest attempt first. Served by the primary key. */
async function withAttempts(database: Queryable, deliveries: readonly DeliveryRow[]): Promise<DeliveryRead[]> {
  if (deliveries.length === 0) return [];
  const { rows } = await database.query<AttemptRead & { deliveryId: Uuid }>(
    `select delivery_id as "deliveryId", number, started_at as "startedAt", duration_ms as "durationMs",
       status_code as "statusCode", error, reason, response_head as "responseHead"
     from attempts where delivery_id = any($1::uuid[]) order by delivery_id, number`,
    [deliveries.map(({ id }) => id)],
  );
  const attempts = new Map<Uuid, AttemptRead[]>(deliveries.map(({ id }) => [id, []]));
  for (const { deliveryId, ...attempt } of rows) attempts.get(deliveryId)?.push(attempt);
  return deliveries.map((delivery) => ({ ...delivery, attempts: attempts.get(delivery.id) ?? [] }));
}
