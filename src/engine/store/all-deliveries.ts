/** Deliveries of every channel as one table, for readers: webhooks and items of e-mails are stored separately. */

const SHARED = `id, search_number, match_id, kind, endpoint, endpoint_key, state, attempt_count, attempts_spent, replay_count,
  due_at, created_at, finished_at, generation`;

/** Queries by key or search use the indexes of both tables. */
export const ALL_DELIVERIES = `(
  select channel, ${SHARED} from delivery_states
  union all
  select 'email', ${SHARED} from mail_items)`;
