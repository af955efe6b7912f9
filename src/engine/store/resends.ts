/**
 * Resends deliveries at their client's request (decisions, section 11): the same row, hence the same id, bytes and
 * sequence, to the present endpoint of its search. A final one begins a new series of attempts; one that is being sent
 * does so when its attempt has ended; one that waits only makes its next attempt now. The log of attempts continues its
 * count.
 */

import {
  type DeliveryState,
  type DueDelivery,
  isFinal,
  type ResendRefusal,
  type WebhookChannel,
} from '../domain/delivery.ts';
import { endpointKeyOf } from '../domain/endpoint.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import { hasContacts } from '../domain/routing.ts';
import { IS_WANTED, STATE } from './cancellations.ts';
import { type Database, type Queryable, transaction } from './database.ts';

/** The state of an item of an e-mail at the request. */
export interface Requeued {
  /** The state before the request. */
  readonly state: DeliveryState;
  readonly isChanged: boolean;
}

export interface ResendCandidate {
  readonly id: Uuid;
  readonly state: DeliveryState;
  readonly channel: WebhookChannel;
  readonly searchNumber: SearchNumber;
  readonly matchId: Uuid;
  readonly attemptCount: number;
  /** The present endpoint of its search; null: none. */
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
  /** For a search that hides contacts; null where they are allowed. */
  readonly document: string | null;
}

/**
 * The client's own ones among `ids`, oldest first, locked in key order until the transaction ends. Served by the
 * primary keys.
 */
export async function lockForResending(
  connection: Queryable,
  clientId: Uuid,
  ids: readonly Uuid[],
): Promise<readonly ResendCandidate[]> {
  const { rows } = await connection.query<CandidateRow>(
    `with locked as materialized (
       select id from deliveries where id = any($2::uuid[]) order by id for update
     )
     select d.id, ${STATE} as state, d.channel, d.search_number as "searchNumber", d.match_id as "matchId",
       d.attempt_count as "attemptCount",
       case d.channel when 'match' then s.endpoint_recipient else s.event_endpoint end as endpoint,
       s.client_id as "clientId",
       ${IS_WANTED} and (d.channel = 'match' or d.kind = any(s.subscribed_events)) as "isWanted",
       case when s.hide_property_contact then (select document from snapshots where id = d.snapshot_id) end as document
     from locked join delivery_states d using (id) join searches s on s.number = d.search_number
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
  return attemptCount >= ATTEMPT_COUNT_MAX ? 'attempts_exhausted' : null;
}

/**
 * Makes the next attempt of each due now, and resolves with the due ones: none that is being sent. They are locked and
 * may be sent; a first attempt that waits for its turn keeps its place. Served by the primary keys.
 */
export async function resend(
  connection: Queryable,
  candidates: readonly ResendCandidate[],
): Promise<readonly DueDelivery[]> {
  const waiting = candidates.filter(({ state }) => state !== 'sending');
  if (waiting.length === 0) return [];
  const { rows } = await connection.query<{ id: Uuid; endpointKey: string }>(
    `with again as materialized (
       select * from unnest($1::uuid[], $2::text[], $3::text[], $4::boolean[], $5::smallint[])
         as row(id, endpoint, key, is_final, attempt_count)
     ), turned as (
       update deliveries d set endpoint = again.endpoint, endpoint_key = again.key,
         attempts_spent = case when again.is_final then again.attempt_count else attempts_spent end,
         replay_count = replay_count + again.is_final::integer
       from again where d.id = again.id returning d.id, search_number, match_id, sequence
     ), forgotten as (
       delete from endings using again where delivery_id = again.id and again.is_final
     ), moved as (
       update open_deliveries o set endpoint_key = again.key, due_at = clock_timestamp(),
         lane = case when o.lane = -1 then 2 else o.lane end
       from again where o.id = again.id and not again.is_final and o.claimed_by is null returning o.id, o.endpoint_key
     ), begun as (
       insert into open_deliveries (id, match_id, search_number, generation, lane, attempt_count, follows, endpoint_key)
       select turned.id, turned.match_id, turned.search_number, searches.generation, 2, again.attempt_count,
         coalesce(turned.sequence > 1, false), again.key
       from turned join again on again.id = turned.id join searches on searches.number = turned.search_number
       where again.is_final on conflict (id) do nothing returning id, endpoint_key
     )
     select id, endpoint_key as "endpointKey" from moved union all select id, endpoint_key from begun order by id`,
    [
      waiting.map(({ id }) => id),
      waiting.map(({ endpoint }) => endpoint),
      waiting.map(({ endpointKey }) => endpointKey),
      waiting.map(({ state }) => isFinal(state)),
      waiting.map(({ attemptCount }) => attemptCount),
    ],
  );
  return rows.map((row) => ({ ...row, lane: 'again' }));
}

export type ResendOutcome =
  | { readonly type: 'sent'; readonly due: readonly DueDelivery[] }
  | { readonly type: 'refused'; readonly refusal: ResendRefusal };

/** Null when there is none, it is another client's, or its search was deleted. Served by the primary keys. */
export async function resendDelivery(database: Database, clientId: Uuid, id: Uuid): Promise<ResendOutcome | null> {
  return transaction(database, async (connection) => {
    for (;;) {
      const [candidate] = await lockForResending(connection, clientId, [id]);
      if (candidate === undefined) {
        return (await isMailItem(connection, clientId, id)) ? { type: 'refused', refusal: 'e-mail' } : null;
      }
      const { refusal, state } = candidate;
      if (refusal !== null) return { type: 'refused', refusal };
      if (state !== 'sending') return { type: 'sent', due: await resend(connection, [candidate]) };
      if (await sendAfterAttempt(connection, candidate)) return { type: 'sent', due: [] };
    }
  });
}

/**
 * The endpoint may already have what is being sent, and request a resend because of that: a new series begins when the
 * present attempt has ended. False when it has ended meanwhile. Served by the primary keys.
 */
async function sendAfterAttempt(
  connection: Queryable,
  { id, endpoint, endpointKey }: ResendCandidate,
): Promise<boolean> {
  const { rowCount } = await connection.query(
    `with resent as (
       update open_deliveries set is_resent = true, endpoint_key = $3
       where id = $1 and claimed_by is not null returning id, attempt_count
     )
     update deliveries d set endpoint = $2, endpoint_key = $3, attempts_spent = resent.attempt_count,
       replay_count = replay_count + 1
     from resent where d.id = resent.id`,
    [id, endpoint, endpointKey],
  );
  return rowCount === 1;
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
