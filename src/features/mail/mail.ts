/** Deliveries by e-mail: the engine decides which pairs are notified, and this folder does everything else. */

import { readFileSync } from 'node:fs';
import type Router from '@koa/router';
import { emailStatusOf, type MailLanguage } from '../../engine/domain/mail.ts';
import type { Database } from '../../engine/store/database.ts';
import type { Feature } from '../../feature.ts';
import type { Log } from '../../log.ts';
import { keptForScrapes, type Metrics } from '../../metrics.ts';
import { acceptable } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { Problem } from '../../rest/problem.ts';
import { answerSearch, ownSearch } from '../../rest/searches.ts';
import { REFUSALS } from '../../rest/sentences.ts';
import { countOpenMailItems } from './mail-claims.ts';
import { mailReasonsOf, newMailItems } from './mail-contents.ts';
import {
  insertMailItems,
  removeMailItems,
  removeMailRecipients,
  removeMailTokens,
  requeueMailItem,
} from './mail-items.ts';
import type { SettledMail } from './mail-outcomes.ts';
import { askConfirmation } from './mail-recipients.ts';
import { checkMailServer, createMailSender, MAIL_ATTEMPT_TIMEOUT_MS, type MailSenderOptions } from './mail-sender.ts';
import { startMailing } from './mailing.ts';
import { unsubscribeRoutes } from './unsubscribe.ts';

export const mail: Feature = {
  name: 'mail',
  record({ config, metrics }) {
    if (config.mail === null) return null;
    const { gatherMs } = config.mail;
    return {
      wants: (route) => route.mail !== null,
      record: (pairs, now) => insertMailItems(newMailItems(pairs), now, gatherMs),
      onRecorded(pairs) {
        for (const { route, change, hasBegun } of pairs) {
          metrics.mailItems.inc(mailReasonsOf(route, change.events, hasBegun).length);
        }
      },
    };
  },
  measure: measureMail,
  async *forget(database, { deliveries }) {
    if (deliveries !== null) yield* removeMailItems(database, deliveries);
    yield* removeMailTokens(database);
    yield* removeMailRecipients(database);
  },
  routes(router, dependencies) {
    confirmationRoute(router, dependencies);
    unsubscribeRoutes(router, dependencies);
  },
  requeue: requeueMailItem,
  async checkServer({ mail }) {
    return mail === null ? null : checkMailServer({ ...serverOf(mail), timeoutMs: CHECK_TIMEOUT_MS });
  },
  start(parts, gate) {
    const { config, log, metrics, pipelineDatabase, reference, supervisor, onTransientError } = parts;
    if (config.mail === null) return null;
    const { from, publicUrl } = config.mail;
    const language: MailLanguage = config.mailLanguage;
    return startMailing({
      database: pipelineDatabase,
      sender: createMailSender(serverOf(config.mail)),
      ...{ from, language, publicUrl: publicUrl.replace(/\/+$/, '') },
      resolvePlace: (place) => reference.resolvePlace(place),
      retryDelayMs: config.retryDelayMs,
      attemptTimeoutMs: MAIL_ATTEMPT_TIMEOUT_MS,
      drainTimeoutMs: config.attemptTimeoutMs,
      gate,
      clock: () => new Date(),
      onMail(settled, itemCount) {
        countMail(metrics, settled);
        logMail(log, settled, itemCount);
      },
      supervisor,
      onTransientError,
    });
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

/** `POST /searches/{id}/email-confirmation`: asks an unsubscribed recipient, once, whether that still applies. */
function confirmationRoute(router: Router, dependencies: ApiDependencies): void {
  const { database, settings, now } = dependencies;
  router.post('/searches/:id/email-confirmation', acceptable, async (ctx) => {
    const search = await ownSearch(ctx, dependencies);
    const { mail, members } = search;
    const status = emailStatusOf(mail, members.notificationEnabled, settings.isMailAvailable);
    if (status !== 'unsubscribed') throw new Problem(409, REFUSALS.notUnsubscribed(status));
    if (!(await askConfirmation(database, search.id, now()))) throw new Problem(409, REFUSALS.askedBefore);
    await answerSearch(ctx, search, dependencies, 202);
  });
}

const MAIL_STATES = ['queued', 'sending', 'retry_wait', 'failed'] as const;

/** Every instance reads the same: take the maximum over instances. */
function measureMail(metrics: Metrics, database: Database): void {
  const read = keptForScrapes(() => countOpenMailItems(database));
  metrics.labelledGauge(
    'vigie_mail_items',
    'Items of e-mails that are not final, and failed ones',
    'state',
    async () => {
      const { counts } = await read();
      return MAIL_STATES.map((state) => [state, counts.get(state) ?? 0] as const);
    },
  );
  metrics.gauge('vigie_mail_oldest_due_seconds', 'How long the most overdue item of an e-mail has waited', async () => {
    const { oldestDueAt } = await read();
    return oldestDueAt === null ? 0 : Math.max(0, (Date.now() - oldestDueAt.getTime()) / 1_000);
  });
}

function countMail(metrics: Metrics, { outcome, after }: SettledMail): void {
  metrics.mailAttempts.inc({ result: outcome.error ?? 'delivered' });
  if (after.state === 'failed') metrics.mailsFailed.inc();
}

/** No address, and no answer of the mail server: it repeats the address. */
function logMail(log: Log, { id, key, attempt, outcome, after }: SettledMail, itemCount: number): void {
  const { statusCode, error, reason } = outcome;
  const durationMs = Math.round(outcome.durationMs);
  const line = { mail: id, recipient: key, items: itemCount, attempt, state: after.state, statusCode, error, reason };
  if (error === null) log.debug({ ...line, durationMs }, 'mail');
  else log.info({ ...line, durationMs }, 'mail');
}
