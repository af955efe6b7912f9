/** The outcome of an attempt at an e-mail, recorded for each of its items: they share attempts and outcome. */

import type { AfterAttempt, AttemptOutcome } from '../../engine/domain/delivery.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { NOT_YET_DELIVERED } from '../../engine/store/delivery-states.ts';

export interface SettledMail {
  readonly id: Uuid;
  /** Of the recipient. */
  readonly key: string;
  /** Of the present series, from 1. */
  readonly attempt: number;
  readonly outcome: AttemptOutcome;
  readonly after: AfterAttempt;
  /** From the moment of recording, by PostgreSQL's clock: applies when `after` is a retry. */
  readonly retryInMs: number;
  /** The recipient's server permanently refuses the address. */
  readonly isRecipientRefused: boolean;
}

/**
 * Like the outcomes of webhooks (attempts.ts): an item that was cancelled meanwhile stays so and its attempt is logged,
 * a success wins over an earlier abort, and locks are taken in key order. One statement. Served by mail_items_mail,
 * searches_mail and the primary keys.
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

/** The prices that a recipient was last notified of. Served by mail_items_notified. */
export async function readNotifiedPrices(
  client: Queryable,
  key: string,
  propertyUuids: readonly Uuid[],
): Promise<ReadonlyMap<Uuid, number>> {
  const { rows } = await client.query<{ uuid: Uuid; price: number }>({
    name: 'read-notified-prices',
    text: `
      select distinct on (property_uuid) property_uuid as uuid, notified_price as price from mail_items
      where endpoint_key = $1 and property_uuid = any($2::uuid[]) and state = 'delivered' and notified_price is not null
      order by property_uuid, finished_at desc`,
    values: [key, propertyUuids],
  });
  return new Map(rows.map(({ uuid, price }) => [uuid, price]));
}

export interface WrittenMail {
  readonly mailId: Uuid;
  /** Its first item, which stores the e-mail and the number of its items. */
  readonly itemId: Uuid;
  readonly itemCount: number;
  readonly bytes: Buffer;
  /** By property, the price in the e-mail. */
  readonly prices: ReadonlyMap<Uuid, number>;
}

/** Stores the bytes of the first attempt, for later attempts. Served by mail_items_mail. */
export async function keepMail(client: Queryable, written: WrittenMail): Promise<void> {
  const { mailId, itemId, itemCount, bytes, prices } = written;
  await client.query({
    name: 'keep-mail',
    text: `
      with prices as (select * from unnest($5::uuid[], $6::float8[]) as prices(uuid, price))
      update mail_items set letter = case when id = $2 then $3::bytea end,
        letter_items = case when id = $2 then $4::integer end,
        notified_price = (select price from prices where uuid = property_uuid)
      where mail_id = $1 and state = 'sending'`,
    values: [mailId, itemId, bytes, itemCount, [...prices.keys()], [...prices.values()]],
  });
}

/** By number. Served by the primary key. */
export async function readTitles(
  client: Queryable,
  numbers: readonly SearchNumber[],
): Promise<ReadonlyMap<SearchNumber, string>> {
  const { rows } = await client.query<{ number: SearchNumber; title: string }>({
    name: 'read-titles',
    text: 'select number, title from searches where number = any($1::integer[])',
    values: [numbers],
  });
  return new Map(rows.map(({ number, title }) => [number, title]));
}
