/**
 * How long data is kept; `RetentionDays` has the numbers of days. Data that is still needed never expires: open webhook
 * deliveries with their bodies, and properties with a live advert and their matches. The events that a property's
 * document shows are part of its state.
 *
 * | Grows with | Table | Rows are removed |
 * |---|---|---|
 * | each change | `events` | `events` days after it was recorded |
 * | each change of a search | `search_changes` | like an event, with its search, or after 200 newer changes |
 * | each webhook with an endpoint | `deliveries`, `attempts` | `deliveries` days after it is final, with its attempts |
 * | each item of an e-mail | `mail_items`, `attempts` | likewise; if unsent, `deliveries` days after it was due |
 * | each webhook without an endpoint | `feed_items` | `deliveries` days after it was recorded |
 * | each batch that notified a client | `feed_batches` | `deliveries` days after it was recorded |
 * | each e-mail | `mail_tokens` | a year later; its unsubscribe link works until then |
 * | each recipient of e-mails | `mail_recipients` | with their last link, unless a choice or an unsent item is left |
 * | each mailbox that received an e-mail | `mail_mailboxes` | two days after its last e-mail |
 * | each change that was notified | `snapshots` | with the last delivery or feed item of that change |
 * | each property ever seen | `properties` | `expired` days after its last advert expired |
 * | each (search, property) pair that was notified | `matches` | with its property or search; no pair has two matches |
 * | each such pair, if the search compares notified values or follows matches | `match_notices` | with its match |
 * | each mark of a property | `search_marks` | with its property, when its search is deleted, or when it is empty |
 * | each deleted search | `searches` | `deliveries` days later, if no delivery or e-mail item is left |
 * | each unused, unpaused endpoint | `endpoints` | `deliveries` days later, if no open or failed delivery is left |
 * | each message that is rejected or causes a bug | `dead_letters` | when an operator requeues or purges it |
 * | each recovery | `recoveries` | `deliveries` days after its end |
 * | each request with an `Idempotency-Key` | `idempotency_keys` | a day later |
 * | each professional publisher or agency | `publishers` | 90 days after its last advert |
 * | each secret that signs webhooks | `webhook_secrets` | when it has expired or is deleted, or with its client |
 * | each process | `instances` | when it stops, or an hour after its last heartbeat |
 *
 * `property_summaries` and `final_outcomes` follow their properties and deliveries; `open_deliveries` is the queue.
 * Other tables do not grow with time, or contain data that people entered. Recipients' choices are kept for ever.
 */

export const RETAINED_TABLES = [
  'events',
  'search_changes',
  'deliveries',
  'feed_batches',
  'feed_items',
  'mail_items',
  'mail_tokens',
  'mail_recipients',
  'mail_mailboxes',
  'attempts',
  'snapshots',
  'properties',
  'matches',
  'match_notices',
  'search_marks',
  'searches',
  'endpoints',
  'recoveries',
  'idempotency_keys',
  'publishers',
  'webhook_secrets',
  'instances',
] as const;
export type RetainedTable = (typeof RETAINED_TABLES)[number];

/** In days; 0 keeps data for ever. */
export interface RetentionDays {
  readonly events: number;
  readonly deliveries: number;
  readonly expired: number;
}

/** Data older than its horizon is removed; null keeps all data. */
export type RetentionHorizons = Readonly<Record<keyof RetentionDays, Date | null>>;

const DAY_MS = 86_400_000;

export function horizonsOf(days: RetentionDays, now: Date): RetentionHorizons {
  const horizon = (count: number): Date | null => (count === 0 ? null : new Date(now.getTime() - count * DAY_MS));
  return {
    events: horizon(days.events),
    deliveries: horizon(days.deliveries),
    expired: horizon(days.expired),
  };
}
