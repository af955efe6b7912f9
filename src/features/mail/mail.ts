/** Deliveries by e-mail: the engine decides which pairs are notified, and this folder does everything else. */

import { readFileSync } from 'node:fs';
import { firstUuidAt, type Uuid } from '../../engine/domain/ids.ts';
import { MAIL_HOUR, type MailLanguage } from '../../engine/domain/mail.ts';
import { horizonsOf } from '../../engine/domain/retention.ts';
import type { Database, Queryable, Statement } from '../../engine/store/database.ts';
import { WAITING } from '../../engine/store/delivery-states.ts';
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
import { checkMailServer, createMailSender, MAIL_ATTEMPT_TIMEOUT_MS, type MailSenderOptions } from './mail-sender.ts';
import { startMailing } from './mailing.ts';
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
  routes(router, dependencies) {
    unsubscribeRoutes(router, dependencies);
  },
  requeue: requeueMailItem,
  async checkServer({ mail }) {
    return mail === null ? null : checkMailServer({ ...serverOf(mail), timeoutMs: CHECK_TIMEOUT_MS });
  },
  start(parts, gate) {
    const { config, log, metrics, pipelineDatabase, reference, supervisor, onTransientError } = parts;
    if (config.mail === null) return null;
    const { from, publicUrl, gatherMs } = config.mail;
    const language: MailLanguage = config.mailLanguage;
    const sender = createMailSender(serverOf(config.mail));
    const drainTimeoutMs = config.attemptTimeoutMs;
    const shared = { database: pipelineDatabase, sender, from, language, drainTimeoutMs, gate, onTransientError };
    const notices = startEndpointNotices({
      ...shared,
      pauseDays: config.endpointPauseDays,
      onNotice(client, endpointCount, { error, statusCode, reason }) {
        log.info({ client, endpoints: endpointCount, statusCode, error, reason }, 'notice of endpoints that fail');
      },
    });
    const mailing = startMailing({
      ...shared,
      publicUrl: publicUrl.replace(/(?<!\/)\/+$/, ''),
      gatherMs,
      isConsentRequired: config.isMailConsentRequired,
      keptSince: () => horizonsOf(config.retentionDays, new Date()).deliveries,
      resolvePlace: (place) => reference.resolvePlace(place),
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

interface ServerSettings {
  readonly url: string;
  readonly authoritiesFile: string | null;
  readonly isTlsInsecure: boolean;
}

/** Throws when the file of the authorities cannot be read. */
function serverOf({ url, authoritiesFile, isTlsInsecure }: ServerSettings): MailSenderOptions {
  return {
    url,
    ...(authoritiesFile === null ? {} : { authorities: readFileSync(authoritiesFile, 'utf8') }),
    isInsecure: isTlsInsecure,
  };
}

/** Every instance reads the same: take the maximum over instances. */
function measureMail(metrics: Metrics, database: Database): void {
  const read = keptForScrapes(() => readOldestDue(database));
  metrics.gauge('vigie_mail_oldest_due_seconds', 'How long the most overdue item of an e-mail has waited', async () => {
    const dueMs = (await read())?.getTime() ?? Date.now();
    return Math.max(0, (Date.now() - dueMs) / 1_000);
  });
}

/** Logs no address and no key of the recipient, and no answer of the mail server. */
function reportMail(metrics: Metrics, log: Log, { id, attempt, outcome, after }: SettledMail, items: number): void {
  const { statusCode, error, reason } = outcome;
  metrics.mailAttempts.inc({ result: error ?? 'delivered' });
  const durationMs = Math.round(outcome.durationMs);
  const line = { mail: id, items, attempt, state: after.state, statusCode, error, reason, durationMs };
  log[error === null ? 'debug' : 'info'](line, 'mail');
}

/** As SQL, the first seven o'clock in Paris after the timestamp `at`: of any day, or of a Monday. */
function nextMorning(unit: 'day' | 'week', at: string): string {
  const hour = `interval '${MAIL_HOUR} hours'`;
  const begun = `date_trunc('${unit}', (${at} at time zone 'Europe/Paris') - ${hour})`;
  return `(${begun} + interval '1 ${unit}' + ${hour}) at time zone 'Europe/Paris'`;
}

/**
 * Recorded at `now`; null: at the present time of PostgreSQL's clock, by which they become due. Instant ones gather for
 * `gatherMs`; the others wait for their morning, when they begin to gather as well.
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
        lateral (select case route ->> 'frequency' when 'daily' then ${nextMorning('day', 'coalesce($3::timestamptz, now())')}
          when 'weekly' then ${nextMorning('week', 'coalesce($3::timestamptz, now())')} end as morning) as due`,
    values: [`[${share.join()}]`, gatherMs, now],
  }));
}

/**
 * An operator's resend: a failed item joins a new e-mail; one that waits to be gathered, or the whole e-mail that waits
 * for a retry, is due now. Null without such an item. Served by the primary key and mail_items_mail.
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
 * Final before `before`, with their attempts, or due before it and still unsent: the mail server is gone, and the news
 * is obsolete. Served by the primary keys.
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
 * Recipients without a link. Those with a choice stay. Reads each recipient and token; items by
 * mail_items_recipient.
 */
export async function* removeMailRecipients(client: Queryable): Batches {
  const { rowCount } = await client.query(
    `delete from mail_recipients
     where greatest(erased_at, lifted_at, unsubscribed_at, resubscribed_at) is null
       and not exists (select from mail_tokens where recipient_key = key)
       and not exists (select from mail_items where endpoint_key = key and state = 'queued')`,
  );
  yield { mail_recipients: rowCount ?? 0 };
}

/** Those of the day before last have ended wherever the clocks stand. Reads each. */
export async function* removeMailboxCounts(client: Queryable): Batches {
  const { rowCount } = await client.query('delete from mail_mailboxes where day < current_date - 1');
  yield { mail_mailboxes: rowCount ?? 0 };
}

/** A link to unsubscribe works for a year. Served by mail_tokens_created. */
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
