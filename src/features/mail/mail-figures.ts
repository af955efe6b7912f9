/** Figures and log lines of e-mails. */

import type { Database } from '../../engine/store/database.ts';
import type { Log } from '../../log.ts';
import { keptFor, type Metrics } from '../../metrics.ts';
import type { SettledMail } from './mail-outcomes.ts';
import { countOpenMailItems } from './mail-turns.ts';

const MAIL_STATES = ['queued', 'sending', 'retry_wait', 'failed'] as const;

/** Every instance reads the same: take the maximum over instances. */
export function measureMail(metrics: Metrics, database: Database): void {
  const read = keptFor(() => countOpenMailItems(database));
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

export function countMail(metrics: Metrics, { outcome, after }: SettledMail): void {
  metrics.mailAttempts.inc({ result: outcome.error ?? 'delivered' });
  if (after.state === 'failed') metrics.mailsFailed.inc();
}

/** No address, and nothing that the mail server says: it repeats whom it speaks of. */
export function logMail(log: Log, { id, key, attempt, outcome, after }: SettledMail, itemCount: number): void {
  const { statusCode, error, reason } = outcome;
  const durationMs = Math.round(outcome.durationMs);
  const line = { mail: id, recipient: key, items: itemCount, attempt, state: after.state, statusCode, error, reason };
  if (error === null) log.debug({ ...line, durationMs }, 'mail');
  else log.info({ ...line, durationMs }, 'mail');
}
