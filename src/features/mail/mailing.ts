/**
 * From recorded items to the mail server: polls for due items every second, serves the clients in turn, and for each
 * recipient claims an e-mail, which counts the attempt, writes it, sends it and records its outcome. JetStream is not
 * involved: e-mails wait for minutes or days, and an index serves the poll. An attempt whose process died counts as
 * aborted when its lease ends; the e-mail may have been sent, and is sent again under the same Message-ID.
 */

import MailComposer from 'nodemailer/lib/mail-composer';
import { budgetUntil, RetryAbandonedError, retryUntilDone, type Supervisor } from '../../engine/actor/supervisor.ts';
import { startTask } from '../../engine/actor/task.ts';
import { endsWithin, InFlight } from '../../engine/actor/waiting.ts';
import type { PauseGate } from '../../engine/broker/pause-gate.ts';
import type { ResolvePlace } from '../../engine/domain/city.ts';
import { type AfterAttempt, afterAttempt } from '../../engine/domain/delivery.ts';
import { createdAtOf, type Uuid } from '../../engine/domain/ids.ts';
import type { MailLanguage } from '../../engine/domain/mail.ts';
import { isLive } from '../../engine/domain/property.ts';
import { propertyDocument } from '../../engine/domain/property-document.ts';
import type { Database } from '../../engine/store/database.ts';
import { readHeldProperties } from '../../engine/store/properties.ts';
import {
  type AbandonedMail,
  type ClaimedItem,
  type ClaimedMail,
  claimMail,
  type MailTurn,
  readAbandonedMails,
  readMailTurns,
} from './mail-claims.ts';
import { itemsByProperty, mailContents } from './mail-contents.ts';
import { keepMail, readNotifiedPrices, readTitles, recordMail, type SettledMail } from './mail-outcomes.ts';
import type { MailOutcome, MailSender } from './mail-sender.ts';
import { type MailText, mailText } from './mail-text.ts';

export interface MailingDependencies {
  readonly database: Database;
  readonly sender: MailSender;
  readonly from: Mailbox;
  /** The prefix of links, without a slash at its end. */
  readonly publicUrl: string;
  readonly language: MailLanguage;
  readonly resolvePlace: ResolvePlace;
  readonly retryDelayMs: number;
  readonly attemptTimeoutMs: number;
  /** How long a stop waits for attempts; a longer one counts as aborted when its lease ends. */
  readonly drainTimeoutMs: number;
  /** While closed, no attempt starts. */
  readonly gate: Pick<PauseGate, 'isOpen'>;
  readonly clock: () => Date;
  readonly onMail: (settled: SettledMail, itemCount: number) => void;
  readonly supervisor: Supervisor;
  readonly onTransientError: (what: string, error: Error) => void;
}

export interface Mailing {
  /** E-mails claimed and not yet recorded. */
  readonly inFlight: number;
  /** Starts nothing further; resolves when the attempts under way are recorded. */
  drain(): Promise<void>;
}

/** Database work that is retried until it succeeds. */
type Retrying = <T>(work: () => Promise<T>) => Promise<T>;

/** Concurrent attempts: one server takes all e-mails. */
const SLOTS = 8;
const CHECK_EVERY_MS = 1_000;
const TURNS_MAX = 256;
const ABANDONED_MAX = 100;
/** How much longer than an attempt its claim lasts: time to write the e-mail and to record the outcome. */
const LEASE_MARGIN_MS = 15_000;
/** Before a recipient that a bug blocks is retried. */
const BROKEN_REST_MS = 60_000;

export function startMailing(dependencies: MailingDependencies): Mailing {
  const { database, gate, supervisor, onTransientError } = dependencies;
  const draining = new AbortController();
  const watch = supervisor.watch('mail');
  const budget = budgetUntil(draining.signal);
  const retrying: Retrying = (work) => retryUntilDone(work, watch, budget);
  const report = (error: Error) => void (error instanceof RetryAbandonedError || onTransientError('mail', error));
  /** Until when recipients that a bug blocks are skipped, so that they take no slot from others. */
  const resting = new Map<string, number>();
  const slots = createSlots((key, error) => {
    report(error);
    resting.set(key, performance.now() + BROKEN_REST_MS);
  });

  /** Whether an e-mail was started. */
  async function startDue(): Promise<boolean> {
    for (const abandoned of await readAbandonedMails(database, ABANDONED_MAX)) {
      await settleAbandoned(abandoned, dependencies);
    }
    for (const [key, untilMs] of resting) if (untilMs < performance.now()) resting.delete(key);
    let hasStarted = false;
    for (const turn of await readMailTurns(database, TURNS_MAX)) {
      await slots.untilFree();
      if (draining.signal.aborted || !gate.isOpen) return false;
      if (resting.has(turn.key)) continue;
      hasStarted = slots.start(turn.key, () => mailOnce(turn, dependencies, retrying)) || hasStarted;
    }
    return hasStarted;
  }

  /** Polls at once when one has ended; before, it would only find the same ones again. */
  async function poll(): Promise<number | void> {
    const hasStarted = gate.isOpen && (await retrying(startDue).catch(report)) === true;
    if (!hasStarted) return;
    await slots.attempts.oneEnded();
    return 0;
  }

  const task = startTask({ what: 'mail', everyMs: CHECK_EVERY_MS, isDueAtOnce: true, work: poll, onTransientError });
  return {
    get inFlight() {
      return slots.attempts.count;
    },
    async drain() {
      draining.abort();
      await task.stop();
      await endsWithin(slots.attempts.ended(), dependencies.drainTimeoutMs);
      watch.recovered();
    },
  };
}

/** E-mails under way: a limited number, and one per key. */
function createSlots(onFailure: (key: string, error: Error) => void) {
  const attempts = new InFlight();
  const busy = new Set<string>();
  return {
    attempts,
    untilFree: async (): Promise<void> => {
      while (attempts.count >= SLOTS) await attempts.oneEnded();
    },
    /** False when the key has one under way. */
    start(key: string, serve: () => Promise<void>): boolean {
      if (busy.has(key)) return false;
      busy.add(key);
      attempts.add(
        serve()
          .catch((error: Error) => onFailure(key, error))
          .finally(() => busy.delete(key)),
      );
      return true;
    },
  };
}

async function mailOnce(turn: MailTurn, dependencies: MailingDependencies, retrying: Retrying): Promise<void> {
  const { database, attemptTimeoutMs, retryDelayMs, clock, onMail } = dependencies;
  const options = { leaseMs: attemptTimeoutMs + LEASE_MARGIN_MS, now: clock() };
  let claimedAt = 0;
  // A claim whose answer was lost is found taken by the next poll: its lease ends.
  const mail = await retrying(() => {
    claimedAt = performance.now();
    return claimMail(database, turn, options);
  });
  if (mail === null) return;
  const isTooOld = () => performance.now() - claimedAt > LEASE_MARGIN_MS / 2;
  const outcome = await attempt(mail, dependencies, retrying, isTooOld);
  if (outcome === null) return;
  const settled = settledOf(mail, outcome, retryDelayMs);
  await retrying(() => recordMail(database, settled));
  onMail(settled, mail.items.length);
}

/**
 * An e-mail that cannot be written counts as a failed attempt: the others continue, and this one is not retried for
 * ever. Null when the claim has become too old: its lease could end during the attempt, and another process send the
 * e-mail as well.
 */
async function attempt(
  mail: ClaimedMail,
  dependencies: MailingDependencies,
  retrying: Retrying,
  isTooOld: () => boolean,
): Promise<MailOutcome | null> {
  const { from, sender, onTransientError } = dependencies;
  let bytes: Buffer;
  try {
    bytes = await write(mail, dependencies, retrying);
  } catch (error) {
    if (error instanceof RetryAbandonedError) throw error;
    onTransientError('write mail', error as Error);
    return {
      startedAt: mail.startedAt,
      ...{ durationMs: 0, statusCode: null, responseHead: null, isFinal: false, isRecipientRefused: false },
      ...{ error: 'protocol', reason: 'the e-mail could not be written' },
    };
  }
  return isTooOld() ? null : sender.send({ from: from.address, to: mail.address, bytes }, mail.startedAt);
}

/**
 * From the present documents, unless an earlier attempt sent it already: a recipient must not receive it twice with
 * different content.
 */
async function write(
  mail: ClaimedMail,
  { database, from, publicUrl, language, resolvePlace }: MailingDependencies,
  retrying: Retrying,
): Promise<Buffer> {
  if (mail.letter !== null) return mail.letter;
  const shown = itemsByProperty(mail.items);
  const uuids = [...shown.keys()];
  const numbers = [...new Set(mail.items.map(({ searchNumber }) => searchNumber))];
  const [held, notifiedPrices, titles] = await retrying(() =>
    Promise.all([
      readHeldProperties(database, uuids),
      readNotifiedPrices(database, mail.key, uuids),
      readTitles(database, numbers),
    ]),
  );
  const documents = new Map(
    held.map(({ state, crawls }) => {
      // The link of an expired advert is dead.
      const live = state.adverts.filter(isLive);
      const shown = live.length === 0 ? state : { ...state, adverts: live };
      return [state.uuid, propertyDocument(shown, crawls, resolvePlace, { withContacts: false })];
    }),
  );
  const contents = mailContents(mail.items, { documents, notifiedPrices, titles });
  const unsubscribeUrl = `${publicUrl}/unsubscribe/${mail.token}`;
  const text = mailText(contents, { unsubscribeUrl, sender: from.name || from.address }, language);
  const bytes = await messageBytes({ id: mail.id, from, to: mail.address, text, unsubscribeUrl });
  // Those that it shows: of what has expired it says no price.
  const prices = new Map(
    [...documents].flatMap(([uuid, { price, expired }]) =>
      typeof price === 'number' && expired === false ? [[uuid, price] as const] : [],
    ),
  );
  const [first] = mail.items as readonly [ClaimedItem];
  const written = { mailId: mail.id, itemId: first.id, itemCount: mail.items.length, bytes, prices };
  await retrying(() => keepMail(database, written));
  return bytes;
}

function settledOf({ id, key, attempt }: ClaimedMail, outcome: MailOutcome, retryDelayMs: number): SettledMail {
  const { isFinal, isRecipientRefused, ...logged } = outcome;
  const after: AfterAttempt = isFinal ? { state: 'failed', dueAt: null } : afterAttempt(attempt, outcome, retryDelayMs);
  return { id, key, attempt, outcome: logged, after, retryInMs: retryDelayMs, isRecipientRefused };
}

async function settleAbandoned(
  { mailId, startedAgoMs, ...abandoned }: AbandonedMail,
  { database, retryDelayMs, onMail }: MailingDependencies,
): Promise<void> {
  const outcome = {
    startedAt: abandoned.startedAt,
    durationMs: 0,
    statusCode: null,
    error: 'aborted' as const,
    reason: 'the daemon stopped during the attempt; whether the mail server took it is unknown',
    responseHead: null,
  };
  const after = afterAttempt(abandoned.attempt, outcome, retryDelayMs);
  const retryInMs = retryDelayMs - startedAgoMs;
  const settled = { id: mailId, ...abandoned, outcome, after, retryInMs, isRecipientRefused: false };
  await recordMail(database, settled);
  onMail(settled, 0);
}

interface Mailbox {
  /** Empty when there is none. */
  readonly name: string;
  readonly address: string;
}

export interface MailMessage {
  readonly id: Uuid;
  readonly from: Mailbox;
  /** The recipient's address. */
  readonly to: string;
  readonly text: MailText;
  readonly unsubscribeUrl: string;
}

/**
 * An e-mail as it is sent (RFC 5322): the same Message-ID and date on every attempt, one-click unsubscription (RFC 8058).
 * Resolves with its bytes.
 */
export function messageBytes({ id, from, to, text, unsubscribeUrl }: MailMessage): Promise<Buffer> {
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
  return new MailComposer({
    // The library writes into it.
    from: { ...from },
    to: { name: '', address: to },
    subject: text.subject,
    text: text.text,
    html: text.html,
    messageId: `<${id}@${domain}>`,
    date: createdAtOf(id),
    headers: {
      'List-Unsubscribe': `<${unsubscribeUrl}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Auto-Submitted': 'auto-generated',
    },
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build();
}
