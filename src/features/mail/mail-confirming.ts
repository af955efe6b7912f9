/** Asks a recipient once whether an unsubscription still holds: an e-mail of its own, tried and retried like the others. */

import { unsubscribePath } from '../../engine/domain/cell.ts';
import { afterAttempt } from '../../engine/domain/delivery.ts';
import {
  type ClaimedConfirmation,
  keepConfirmation,
  noteLink,
  recordConfirmation,
} from '../../engine/store/mail-confirmations.ts';
import { messageBytes } from './mail-message.ts';
import { confirmationText } from './mail-text.ts';
import type { MailingDependencies } from './mailing.ts';

/** Work on the database that is repeated until it succeeds. */
export type Patiently = <T>(work: () => Promise<T>) => Promise<T>;

export async function confirmOnce(
  asked: ClaimedConfirmation,
  dependencies: MailingDependencies,
  patiently: Patiently,
): Promise<void> {
  const { database, from, sender, retryDelayMs: retryInMs, onMail } = dependencies;
  const { id, key, attempt, address, startedAt } = asked;
  const bytes = asked.letter ?? (await write(asked, dependencies, patiently));
  const { isFinal, isRecipientRefused, ...outcome } = await sender.send(
    { from: from.address, to: address, bytes },
    startedAt,
  );
  const after = isFinal ? { state: 'failed' as const, dueAt: null } : afterAttempt(attempt, outcome, retryInMs);
  await patiently(() => recordConfirmation(database, asked, after.state === 'retry_wait' ? retryInMs : null));
  onMail({ id, key, attempt, outcome, after, retryInMs, isRecipientRefused }, 0);
}

async function write(
  { id, key, clientId, address, members }: ClaimedConfirmation,
  { database, from, publicUrl, language }: MailingDependencies,
  patiently: Patiently,
): Promise<Buffer> {
  const token = await patiently(() => noteLink(database, key));
  const unsubscribeUrl = `${publicUrl}${unsubscribePath(clientId, token)}`;
  const text = confirmationText(members.title, { unsubscribeUrl, sender: from.name || from.address }, language);
  const bytes = await messageBytes({ id, from, to: address, text, unsubscribeUrl });
  await patiently(() => keepConfirmation(database, key, bytes));
  return bytes;
}
