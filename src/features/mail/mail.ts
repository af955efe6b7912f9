/** Deliveries by e-mail: the engine says which pairs are notified, and everything else of an e-mail is in this folder. */

import { readFileSync } from 'node:fs';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import type { Feature } from '../../feature.ts';
import { confirmationRoute } from './confirmation-route.ts';
import { countMail, logMail, measureMail } from './mail-figures.ts';
import { mailReasonsOf, newMailItems } from './mail-item.ts';
import { insertMailItems, requeueMailItem } from './mail-items.ts';
import { removeMailItems, removeMailRecipients, removeMailTokens } from './mail-retention.ts';
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
    const { config, log, metrics, database, pipelineDatabase, reference, supervisor, onTrouble } = parts;
    measureMail(metrics, database);
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
      onTrouble,
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
