/** Deliveries by e-mail: the items that e-mails are made of, as the recorder writes them (migration 0014 says why apart). */

import type { Uuid } from '../../engine/domain/ids.ts';
import { type MailFrequency, mailEndpointOf, nextMorning } from '../../engine/domain/mail.ts';
import type { Queryable, Statement } from '../../engine/store/database.ts';
import { WAITING } from '../../engine/store/delivery-states.ts';
import type { Requeued } from '../../engine/store/resends.ts';
import { statementShares } from '../../engine/store/statement-share.ts';
import type { NewMailItem } from './mail-item.ts';

/** Of a written item, but for its reason. */
const ROW_LENGTH = 768;

/**
 * Recorded at `now`. Instant ones gather for `gatherMs`, on PostgreSQL's clock; the others wait for their morning, when
 * they begin to gather as well.
 */
export function insertMailItems(items: readonly NewMailItem[], now: Date, gatherMs: number): readonly Statement[] {
  const mornings = new Map<MailFrequency, Date>();
  const morningOf = (frequency: MailFrequency): Date | null => {
    if (frequency === 'instant') return null;
    const morning = mornings.get(frequency) ?? nextMorning(frequency, now);
    mornings.set(frequency, morning);
    return morning;
  };
  const rows = items.map(({ route: { address, key, frequency }, ...item }) => ({
    id: item.id,
    client_id: item.clientId,
    search_number: item.searchNumber,
    match_id: item.matchId,
    property_uuid: item.propertyUuid,
    kind: item.reason.kind,
    endpoint: mailEndpointOf(address),
    endpoint_key: key,
    reason: JSON.stringify(item.reason),
    traceparent: item.traceparent,
    generation: item.generation,
    morning: morningOf(frequency),
  }));
  return statementShares(rows, ({ reason }) => reason.length + ROW_LENGTH).map((share) => ({
    name: 'insert-mail-items',
    text: `
      insert into mail_items (id, client_id, search_number, match_id, property_uuid, kind, endpoint, endpoint_key, reason, traceparent,
        generation, gathers_from, due_at)
      select id, client_id, search_number, match_id, property_uuid, kind, endpoint, endpoint_key, reason, traceparent,
        generation, coalesce(morning, now()), coalesce(morning, now() + $2 * interval '1 millisecond')
      from json_to_recordset($1) as written(id uuid, client_id uuid, search_number integer, match_id uuid, property_uuid uuid,
        kind text, endpoint text, endpoint_key text, reason text, traceparent text, generation integer,
        morning timestamptz)`,
    values: [JSON.stringify(share), gatherMs],
  }));
}

/**
 * An operator's retry: a failed item is gathered into a new e-mail; one that waits to be gathered, or the whole e-mail
 * that waits to be tried again, is due now. Null when there is none. Served by the primary key and mail_items_mail.
 */
export async function requeueMailItem(client: Queryable, id: Uuid): Promise<Requeued | null> {
  const { rows } = await client.query<Requeued>(
    `with held as materialized (
       select id, mail_id, state from mail_items where id = $1 for update
     ), restarted as (
       update mail_items set state = 'queued', mail_id = null, attempts_spent = attempt_count,
         replay_count = replay_count + 1, due_at = clock_timestamp(), gathers_from = clock_timestamp(), finished_at = null,
         generation = (select generation from searches where number = search_number)
       from held where mail_items.id = held.id and held.state = 'failed' returning mail_items.id
     ), hastened as (
       update mail_items set due_at = clock_timestamp(), gathers_from = clock_timestamp()
       where state in ${WAITING} and (id = (select id from held where state = 'queued')
         or mail_id = (select mail_id from held where state = 'retry_wait')) returning id
     )
     select state, exists (select from restarted) or exists (select from hastened) as "isChanged" from held`,
    [id],
  );
  return rows[0] ?? null;
}
