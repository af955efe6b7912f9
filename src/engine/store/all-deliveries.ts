/** Deliveries of every channel as one table, for those who read them: webhooks and items of e-mails lie apart. */

const SHARED = `id, search_number, match_id, kind, endpoint, endpoint_key, state, attempt_count, attempts_spent, replay_count,
  due_at, created_at, finished_at, generation`;

/** What is asked of it by key or search is served by the indexes of both tables. */
export const ALL_DELIVERIES = `(
  select channel, ${SHARED} from delivery_states
  union all
  select 'email', ${SHARED} from mail_items)`;
