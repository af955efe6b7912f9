/** Opens what sends e-mails, where there is a mail server. A part of the composition root. */

import type { Valve } from '../broker/valve.ts';
import { type Mailing, startMailing } from '../delivery/mailing.ts';
import { createMailSender } from '../mail/mail-sender.ts';
import { measureMail } from './measures.ts';
import type { Parts } from './parts.ts';

/** Follows the valve of the stage `deliver`. Null without a mail server. */
export function openMailing(parts: Parts, valve: Valve): Mailing | null {
  const { config, metrics, database, pipelineDatabase, observers, draining, supervisor, onTrouble } = parts;
  measureMail(metrics, database);
  const { mail } = config;
  if (mail === null) return null;
  const mailing = startMailing({
    database: pipelineDatabase,
    sender: createMailSender({ url: mail.url, timeoutMs: config.attemptTimeoutMs }),
    from: mail.from,
    publicUrl: mail.publicUrl.replace(/\/+$/, ''),
    language: config.mailLanguage,
    retryDelayMs: config.retryDelayMs,
    attemptTimeoutMs: config.attemptTimeoutMs,
    valve,
    clock: () => new Date(),
    onMail: observers.onMail,
    supervisor,
    onTrouble,
  });
  draining('mail', () => mailing.drain());
  return mailing;
}
