/** Stores the content of an e-mail, and the outcome of each attempt for its items, which share attempts and outcome. */

import type { AfterAttempt, AttemptOutcome } from '../../engine/domain/delivery.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { NOT_YET_DELIVERED } from '../../engine/store/delivery-states.ts';
import type { Notified } from './mail-contents.ts';

export interface SettledMail {
  readonly id: Uuid;
  /** Identifies the recipient. */
  readonly key: string;
  /** From 1, within the current series of attempts. */
  readonly attempt: number;
  readonly outcome: AttemptOutcome;
  readonly after: AfterAttempt;
  /** From the moment of recording, by PostgreSQL's clock. Used only if `after` is a retry. */
  readonly retryInMs: number;
  /** True if the recipient's server permanently refuses the address. */
  readonly isRecipientRefused: boolean;
}

/**
 * Follows the rules for webhooks (attempts.ts). An item that was cancelled during the attempt stays cancelled, and its
 * attempt is logged. A success replaces an earlier abort. Locks are taken in key order. One statement. Served by
 * mail_items_mail, searches_mail and the primary keys.
 */
export async function recordMail(client: Queryable, settled: SettledMail): Promise<void> {
  const { id, key, attempt, outcome, after, retryInMs, isRecipientRefused } = settled;
  await client.query({
    name: 'record-mail',
    text: RECORD,
    values: [
      ...[id, attempt, outcome.startedAt, Math.round(outcome.durationMs), outcome.statusCode, outcome.error],
      ...[outcome.reason, outcome.responseHead, after.state, Math.max(0, Math.ceil(retryInMs))],
      ...[isRecipientRefused ? key : null],
    ],
  });
}

const RECORD = `
  with locked as materialized (
    select id, search_number, state as held_state, attempts_spent + $2::smallint as number, attempt_count from mail_items
    where mail_id = $1 and attempt_count >= attempts_spent + $2 order by id for update
  ), logged as (
    insert into attempts (delivery_id, number, started_at, duration_ms, status_code, error, reason, response_head)
    select id, number, $3::timestamptz, $4::integer, $5::smallint, $6, $7, $8 from locked
    on conflict (delivery_id, number) do update
    set duration_ms = excluded.duration_ms, status_code = excluded.status_code, error = excluded.error,
      reason = excluded.reason, response_head = excluded.response_head
    where attempts.error = 'aborted'
  ), notified as materialized (
    select number from searches
    where number = any(array(select search_number from locked where $9 = 'delivered'))
    order by number for no key update
  ), noted as (
    update searches set last_alert_at = greatest(last_alert_at, $3::timestamptz + $4 * interval '1 millisecond')
    where number = any(array(select number from notified))
  ), refusing as materialized (
    select number from searches where mail_key = $11 order by number for no key update
  ), refused as (
    update searches set mail_refused_at = coalesce(mail_refused_at, clock_timestamp())
    where number = any(array(select number from refusing))
  )
  update mail_items
  set state = $9, letter = case when $9 = 'retry_wait' then letter end,
    due_at = case when $9 = 'retry_wait' then clock_timestamp() + $10 * interval '1 millisecond' else due_at end,
    finished_at = case when $9 <> 'retry_wait' then clock_timestamp() end
  from locked
  where mail_items.id = locked.id
    and (held_state = 'sending' and locked.attempt_count = number
      or $9 = 'delivered' and held_state in ${NOT_YET_DELIVERED})`;

/**
 * The adverts that the last other e-mail with each property showed the recipient. E-mails that are being sent or wait
 * for a retry count too, because they are sent unchanged. Served by mail_items_notified.
 */
export async function readNotified(
  client: Queryable,
  { id, key }: { readonly id: Uuid; readonly key: string },
  propertyUuids: readonly Uuid[],
): Promise<ReadonlyMap<Uuid, Notified>> {
  const { rows } = await client.query<{ uuid: Uuid; notified: Notified }>({
    name: 'read-notified',
    text: `
      select distinct on (property_uuid) property_uuid as uuid, notified from mail_items
      where endpoint_key = $1 and property_uuid = any($2::uuid[]) and notified is not null and mail_id <> $3
        and state in ('delivered', 'retry_wait', 'sending')
      order by property_uuid, attempt_started_at desc`,
    values: [key, propertyUuids, id],
  });
  return new Map(rows.map(({ uuid, notified }) => [uuid, notified]));
}

/**
 * Why an item is removed from its e-mail. `obsolete`: it contains no news for the recipient. `settled`: its match ended
 * and returned, which is not mentioned; the item counts as delivered.
 */
export type Leaves = 'obsolete' | 'settled';

export interface WrittenMail {
  readonly mailId: Uuid;
  /** Null when there is nothing to send. */
  readonly bytes: Buffer | null;
  /** The items in the e-mail, the oldest first. The oldest one stores the bytes and the number of items. */
  readonly items: readonly Uuid[];
  /** Searches that found a property whose contact the e-mail shows. */
  readonly contactSearches: readonly SearchNumber[];
  /** Keyed by the last item of each property that the e-mail shows. */
  readonly notified: ReadonlyMap<Uuid, Notified>;
  readonly leaving: ReadonlyMap<Uuid, Leaves>;
}

/**
 * Stores the bytes of the first attempt before they are sent, for later attempts. Items that are not in the e-mail are
 * removed from it, and their attempt does not count. False if no item is being sent: for example if the call is
 * repeated because PostgreSQL's answer was lost. Served by mail_items_mail.
 */
export async function keepMail(client: Queryable, written: WrittenMail): Promise<boolean> {
  const { mailId, bytes, items, contactSearches, notified, leaving } = written;
  const { rowCount } = await client.query({
    name: 'keep-mail',
    text: `
      with open as materialized (
        select id from mail_items where mail_id = $1 and state = 'sending' order by id for update
      ), kept as (
        select id, leaves from open, lateral (select $6::jsonb ->> id::text as leaves) as decided
      )
      update mail_items set
        letter = case when mail_items.id = $2 then $3::bytea end,
        letter_items = case when mail_items.id = $2 then $4::integer end,
        letter_contacts = case when mail_items.id = $2 then $7::integer[] end,
        notified = $5::jsonb -> mail_items.id::text,
        state = case leaves when 'obsolete' then 'cancelled' when 'settled' then 'delivered' else state end,
        mail_id = case when leaves is null then mail_id end,
        attempt_count = attempt_count - (leaves is not null)::integer,
        attempts_spent = case when leaves is null then attempts_spent else attempt_count - 1 end,
        finished_at = case when leaves is not null then clock_timestamp() end
      from kept where mail_items.id = any(array(select id from open)) and mail_items.id = kept.id`,
    values: [
      ...[mailId, items[0] ?? null, bytes, items.length],
      ...[JSON.stringify(Object.fromEntries(notified)), JSON.stringify(Object.fromEntries(leaving))],
      contactSearches,
    ],
  });
  return rowCount !== 0;
}
