/**
 * Sending deliveries again because their client asks (decisions, section 11): the same row, hence the same id, bytes and
 * sequence, to the present endpoint of its search. A final one begins a new series of attempts, one that waits only makes
 * its next now, and the log of attempts counts on.
 */

import { type DeliveryState, isFinal, type ResendRefusal, type WebhookChannel } from '../domain/delivery.ts';
import { endpointKeyOf } from '../domain/endpoint.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import { hasContacts } from '../domain/withheld-contacts.ts';
import { IS_WANTED, STATE } from './cancellations.ts';
import { type Database, type Queryable, transaction } from './database.ts';
import type { DeliveryAddress } from './deliveries.ts';

export interface ResendCandidate {
  readonly id: Uuid;
  readonly state: DeliveryState;
  readonly channel: WebhookChannel;
  readonly searchNumber: SearchNumber;
  readonly attemptCount: number;
  /** Where its search wants it now; null: nowhere. */
  readonly endpoint: string | null;
  readonly endpointKey: string;
  /** Null when it may be sent. */
  readonly refusal: ResendRefusal | null;
}

/** Attempts are counted in sixteen bits, over all series. */
const ATTEMPT_COUNT_MAX = 30_000;

interface CandidateRow extends Omit<ResendCandidate, 'refusal' | 'endpointKey'> {
  readonly clientId: Uuid;
  readonly isWanted: boolean;
  /** Of a search that hides contacts; null where it may have them. */
  readonly document: string | null;
}

/**
 * The client's own ones among `ids`, oldest first, locked in key order until the transaction ends. Served by the primary
 * keys.
 */
export async function lockForResending(
  connection: Queryable,
  clientId: Uuid,
  ids: readonly Uuid[],
): Promise<readonly ResendCandidate[]> {
  const { rows } = await connection.query<CandidateRow>(
    `with locked as materialized (
       select d.* from deliveries d where d.id = any($2::uuid[]) order by d.id for update
     )
     select d.id, ${STATE} as state, d.channel, d.search_number as "searchNumber", d.attempt_count as "attemptCount",
       case d.channel when 'match' then s.endpoint_recipient else s.event_endpoint end as endpoint,
       s.client_id as "clientId",
       ${IS_WANTED} and (d.channel = 'match' or d.kind = any(s.subscribed_events)) as "isWanted",
       case when s.hide_property_contact then (select document from snapshots where id = d.snapshot_id) end as document
     from locked d join searches s on s.number = d.search_number
     where s.client_id = $1 and s.deleted_at is null order by d.id`,
    [clientId, ids],
  );
  return rows.map(({ isWanted, document, clientId: client, ...row }) => ({
    ...row,
    endpointKey: row.endpoint === null ? '' : endpointKeyOf(client, row.endpoint),
    refusal: refusalOf(row, isWanted, document),
  }));
}

function refusalOf(
  { endpoint, attemptCount }: Pick<CandidateRow, 'endpoint' | 'attemptCount'>,
  isWanted: boolean,
  document: string | null,
): ResendRefusal | null {
  if (!isWanted) return 'unwanted';
  if (endpoint === null) return 'no endpoint';
  if (document !== null && hasContacts(document)) return 'withheld';
  return attemptCount >= ATTEMPT_COUNT_MAX ? 'worn out' : null;
}

/**
 * Makes the next attempt of each due now, and resolves with what to publish: nothing for one that is being sent, or is
 * parked and drawn from the table. They are locked and may be sent. Served by the primary key.
 */
export async function sendAgain(
  connection: Queryable,
  candidates: readonly ResendCandidate[],
): Promise<readonly DeliveryAddress[]> {
  const waiting = candidates.filter(({ state }) => state !== 'sending');
  if (waiting.length === 0) return [];
  await connection.query(
    `update deliveries
     set endpoint = again.endpoint, endpoint_key = again.key, due_at = clock_timestamp(),
       state = case when again.is_final then 'queued' else state end,
       attempts_spent = case when again.is_final then attempt_count else attempts_spent end,
       replay_count = replay_count + again.is_final::integer,
       finished_at = case when again.is_final then null else finished_at end
     from unnest($1::uuid[], $2::text[], $3::text[], $4::boolean[]) as again(id, endpoint, key, is_final)
     where deliveries.id = again.id`,
    [
      waiting.map(({ id }) => id),
      waiting.map(({ endpoint }) => endpoint),
      waiting.map(({ endpointKey }) => endpointKey),
      waiting.map(({ state }) => isFinal(state)),
    ],
  );
  return waiting.flatMap(({ id, endpointKey, state }) => (state === 'parked' ? [] : [{ id, endpointKey }]));
}

export type ResendOutcome =
  | { readonly type: 'sent'; readonly addresses: readonly DeliveryAddress[] }
  | { readonly type: 'refused'; readonly refusal: ResendRefusal };

/** Null when there is none, it is another client's, or its search was deleted. Served by the primary keys. */
export async function resendDelivery(database: Database, clientId: Uuid, id: Uuid): Promise<ResendOutcome | null> {
  return transaction(database, async (connection) => {
    const [candidate] = await lockForResending(connection, clientId, [id]);
    if (candidate === undefined) {
      return (await isMailItem(connection, clientId, id)) ? { type: 'refused', refusal: 'e-mail' } : null;
    }
    const { refusal } = candidate;
    if (refusal !== null) return { type: 'refused', refusal };
    return { type: 'sent', addresses: await sendAgain(connection, [candidate]) };
  });
}

/** Served by the primary keys. */
async function isMailItem(connection: Queryable, clientId: Uuid, id: Uuid): Promise<boolean> {
  const { rowCount } = await connection.query(
    `select from mail_items d join searches s on s.number = d.search_number
     where d.id = $2 and s.client_id = $1 and s.deleted_at is null`,
    [clientId, id],
  );
  return rowCount === 1;
}
