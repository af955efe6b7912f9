/** Deliveries of every channel as one table, for those who read them: webhooks and e-mails lie apart (migration 0014). */

const SHARED = `id, search_number, match_id, kind, endpoint, endpoint_key, state, attempt_count, attempts_spent, replay_count,
  due_at, created_at, finished_at`;

/** What is asked of it by key, search or state is served by the indexes of both tables. */
export const ALL_DELIVERIES = `(
  select channel, ${SHARED} from deliveries
  union all
  select 'email', ${SHARED} from mail_items)`;
