/** Deliveries by e-mail, and notices about endpoints. The engine decides which pairs are notified. */

import { firstUuidAt, type Uuid } from '../../engine/domain/ids.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { horizonsOf } from '../../engine/domain/retention.ts';
import type { Database, Queryable, Statement } from '../../engine/store/database.ts';
import { WAITING } from '../../engine/store/delivery-states.ts';
import { followMedians } from '../../engine/store/market-medians.ts';
import type { Requeued } from '../../engine/store/resends.ts';
import { type Batches, fullBatches, type Removed, ranges } from '../../engine/store/retention.ts';
import { statementShares } from '../../engine/store/statement-share.ts';
import type { Feature } from '../../feature.ts';
import type { Log } from '../../log.ts';
import { keptForScrapes, type Metrics } from '../../metrics.ts';
import { startEndpointNotices } from './endpoint-notices.ts';
import { readOldestDue } from './mail-claims.ts';
import { mailReasonsOf, type NewMailItem, newMailItems } from './mail-items.ts';
import type { SettledMail } from './mail-outcomes.ts';
import { checkMailServer, createMailSender, MAIL_ATTEMPT_TIMEOUT_MS } from './mail-sender.ts';
import { startMailing } from './mailing.ts';
import { morningAfter } from './mornings.ts';
import { cityNamesOf } from './search-words.ts';
import { unsubscribeRoutes } from './unsubscribe.ts';

export const mail: Feature = {
  name: 'mail',
  record({ config, metrics }) {
    if (config.mail === null) return null;
    const { gatherMs } = config.mail;
    return {
      wants: ({ mail }) => mail !== null && (mail.hasConsent || !config.isMailConsentRequired),
      record: (pairs) => insertMailItems(newMailItems(pairs), null, gatherMs),
      onRecorded(pairs) {
        for (const { route, events, hasBegun } of pairs) {
          metrics.mailItems.inc(mailReasonsOf(route, events, hasBegun).length);
        }
      },
    };
  },
  measure: measureMail,
  async *forget(database, { deliveries }) {
    if (deliveries !== null) yield* removeMailItems(database, deliveries);
    yield* removeMailTokens(database);
    yield* removeMailRecipients(database);
    yield* removeMailboxCounts(database);
  },
  routes: unsubscribeRoutes,
  requeue: requeueMailItem,
  async checkServer({ mail }) {
    return mail === null ? null : checkMailServer({ ...mail, timeoutMs: CHECK_TIMEOUT_MS });
  },
  start(parts, gate) {
    const { config, log, metrics, pipelineDatabase, reference, supervisor, onTransientError } = parts;
    if (config.mail === null) return null;
    const { from, publicUrl } = config.mail;
    const language: MailLanguage = config.mailLanguage;
    const sender = createMailSender(config.mail);
    const drainTimeoutMs = config.attemptTimeoutMs;
    const shared = { database: pipelineDatabase, sender, from, language, drainTimeoutMs, gate, onTransientError };
    const medians = followMedians(pipelineDatabase);
    const notices = startEndpointNotices({
      ...shared,
      pauseDays: config.endpointPauseDays,
      onNotice(client, endpointCount, { error, statusCode, reason }) {
        log.info({ client, endpoints: endpointCount, statusCode, error, reason }, 'An endpoint notice was attempted.');
      },
    });
    const mailing = startMailing({
      ...shared,
      publicUrl: publicUrl.replace(/(?<!\/)\/+$/, ''),
      isConsentRequired: config.isMailConsentRequired,
      keptSince: () => horizonsOf(config.retentionDays, new Date()).deliveries,
      resolvePlace: (place) => reference.resolvePlace(place),
      cityNames: cityNamesOf(reference),
      markets: async () => (await medians.renew()).markets,
      retryDelayMs: config.retryDelayMs,
      attemptTimeoutMs: MAIL_ATTEMPT_TIMEOUT_MS,
      onMail: (settled, itemCount) => reportMail(metrics, log, settled, itemCount),
      supervisor,
    });
    return {
      get inFlight() {
        return mailing.inFlight;
      },
      async drain() {
        await Promise.all([mailing.drain(), notices.drain()]);
      },
    };
  },
};

const CHECK_TIMEOUT_MS = 15_000;

/** Every instance reports the same value: take the maximum over instances. */
function measureMail(metrics: Metrics, database: Database): void {
  const read = keptForScrapes(() => readOldestDue(database));
  metrics.gauge('vigie_mail_oldest_due_seconds', 'Waiting time of the most overdue item of an e-mail', async () => {
    const dueMs = (await read())?.getTime() ?? Date.now();
    return Math.max(0, (Date.now() - dueMs) / 1_000);
  });
}

/** Logs neither the address or key of the recipient nor the answer of the mail server. */
function reportMail(metrics: Metrics, log: Log, { id, attempt, outcome, after }: SettledMail, items: number): void {
  const { statusCode, error, reason } = outcome;
  metrics.mailAttempts.inc({ result: error ?? 'delivered' });
  const durationMs = Math.round(outcome.durationMs);
  const line = { mail: id, items, attempt, state: after.state, statusCode, error, reason, durationMs };
  log[error === null ? 'debug' : 'info'](line, 'mail');
}

/**
 * `now`: the time of recording; null means PostgreSQL's clock, which also decides when items are due. Instant items are
 * gathered for `gatherMs`; the others wait for their morning, and are gathered from then on.
 */
export function insertMailItems(
  items: readonly NewMailItem[],
  now: Date | null,
  gatherMs: number,
): readonly Statement[] {
  const rows = items.map((item) => JSON.stringify(item));
  return statementShares(rows, ({ length }) => length).map((share) => ({
    name: 'insert-mail-items',
    text: `
      insert into mail_items (id, client_id, search_number, match_id, property_uuid, kind, endpoint, endpoint_key, reason,
        generation, gathers_from, due_at)
      select id, "clientId", "searchNumber", "matchId", "propertyUuid", reason ->> 'kind', 'mailto:' || (route ->> 'address'),
        route ->> 'key', reason::text, generation, coalesce(morning, now()),
        coalesce(morning, now() + $2 * interval '1 millisecond')
      from json_to_recordset($1) as written(id uuid, "clientId" uuid, "searchNumber" integer, "matchId" uuid,
          "propertyUuid" uuid, route json, reason json, generation integer),
        lateral (select ${morningAfter("route ->> 'frequency'", 'coalesce($3::timestamptz, now())')} as morning) as due`,
    values: [`[${share.join()}]`, gatherMs, now],
  }));
}

/**
 * Resends at an operator's request. A failed item joins a new e-mail. An item that waits to be gathered, or a whole
 * e-mail that waits for a retry, is due now. Null for an unknown id. Served by the primary key and mail_items_mail.
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

/**
 * Removes items that became final before `before`, with their attempts. Also removes unsent items that were due before
 * then: the mail server has been unreachable, and their news is obsolete. Served by the primary keys.
 */
export async function* removeMailItems(client: Queryable, before: Date): Batches {
  for await (const { after, last } of ranges(client, 'mail_items', firstUuidAt(new Date(0)), firstUuidAt(before))) {
    const { rows } = await client.query<{ mail_items: number; attempts: number }>(
      `with gone as (
         delete from mail_items
         where id > $1 and id <= $2 and (finished_at < $3 or finished_at is null and due_at < $3) returning id
       ), logged as (
         delete from attempts where delivery_id in (select id from gone) returning 1
       )
       select (select count(*) from gone)::integer as mail_items, (select count(*) from logged)::integer as attempts`,
      [after, last, before],
    );
    yield rows[0] as Removed;
  }
}

/**
 * Removes recipients without a link, except those with a choice or an item that waits to be gathered. Reads each
 * recipient and token; items by mail_items_recipient.
 */
export async function* removeMailRecipients(client: Queryable): Batches {
  const { rowCount } = await client.query(
    `delete from mail_recipients
     where not exists (select from mail_choices where recipient_key = key)
       and not exists (select from mail_tokens where recipient_key = key)
       and not exists (select from mail_items where endpoint_key = key and state = 'queued')`,
  );
  yield { mail_recipients: rowCount ?? 0 };
}

/** Removes the counts of days before yesterday, which have ended in every time zone. Reads each row. */
export async function* removeMailboxCounts(client: Queryable): Batches {
  const { rowCount } = await client.query('delete from mail_mailboxes where day < current_date - 1');
  yield { mail_mailboxes: rowCount ?? 0 };
}

/** Removes expired links: a link to unsubscribe works for a year. Served by mail_tokens_created. */
export function removeMailTokens(client: Queryable): Batches {
  return fullBatches('mail_tokens', async (limit) => {
    const { rowCount } = await client.query(
      `delete from mail_tokens where hash in (
         select hash from mail_tokens where created_at < statement_timestamp() - interval '1 year'
         order by created_at limit $1)`,
      [limit],
    );
    return rowCount ?? 0;
  });
}
