/** Deliveries by e-mail as the recorder writes them: the items that e-mails are made of (migration 0014 says why apart). */

import { type MailFrequency, mailEndpointOf, nextMorning } from '../domain/mail.ts';
import type { NewMailItem } from '../domain/mail-item.ts';
import type { Statement } from './database.ts';
import { statementShares } from './statement-share.ts';

/** Of a written item, but for its content. */
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
    kind: item.kind,
    endpoint: mailEndpointOf(address),
    endpoint_key: key,
    content: JSON.stringify(item.content),
    traceparent: item.traceparent,
    morning: morningOf(frequency),
  }));
  return statementShares(rows, ({ content }) => content.length + ROW_LENGTH).map((share) => ({
    name: 'insert-mail-items',
    text: `
      insert into mail_items (id, client_id, search_number, match_id, kind, endpoint, endpoint_key, content, traceparent,
        gathers_from, due_at)
      select id, client_id, search_number, match_id, kind, endpoint, endpoint_key, content, traceparent,
        coalesce(morning, now()), coalesce(morning, now() + $2 * interval '1 millisecond')
      from json_to_recordset($1) as written(id uuid, client_id uuid, search_number integer, match_id uuid, kind text,
        endpoint text, endpoint_key text, content text, traceparent text, morning timestamptz)`,
    values: [JSON.stringify(share), gatherMs],
  }));
}
