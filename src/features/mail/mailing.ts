/**
 * From recorded items to the mail server: polls for due items every second, serves the clients in turn, and for each
 * recipient claims an e-mail, which counts the attempt, writes it, sends it and records its outcome. JetStream is not
 * involved: e-mails wait for minutes or days, and an index serves the poll. An attempt whose process died counts as
 * aborted when its lease ends; the e-mail may have been sent, and is sent again under the same Message-ID.
 */

import {
  RetryAbandonedError,
  retryUntilAborted,
  retryUntilDone,
  type Supervisor,
} from '../../engine/actor/supervisor.ts';
import { startTask } from '../../engine/actor/task.ts';
import { endsWithin, InFlight } from '../../engine/actor/waiting.ts';
import type { PauseGate } from '../../engine/broker/pause-gate.ts';
import { type AfterAttempt, afterAttempt } from '../../engine/domain/delivery.ts';
import {
  type AbandonedMail,
  type ClaimedMail,
  claimMail,
  giveBackMail,
  type MailTurn,
  readAbandonedMails,
  readMailTurns,
} from './mail-claims.ts';
import { type LetterDependencies, type Retrying, type WrittenLetter, writeLetter } from './mail-letter.ts';
import { recordMail, type SettledMail } from './mail-outcomes.ts';
import type { MailOutcome, MailSender } from './mail-sender.ts';

export interface MailingDependencies extends LetterDependencies {
  readonly sender: MailSender;
  readonly isConsentRequired?: boolean;
  readonly retryDelayMs: number;
  readonly attemptTimeoutMs: number;
  /** How long a stop waits for attempts; a longer one counts as aborted when its lease ends. */
  readonly drainTimeoutMs: number;
  /** While closed, no attempt starts. */
  readonly gate: Pick<PauseGate, 'isOpen'>;
  readonly clock: () => Date;
  /** Monotonic milliseconds; default: this process's. */
  readonly nowMs?: () => number;
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

/** Concurrent attempts: one server takes all e-mails. */
const SLOTS = 8;
const CHECK_EVERY_MS = 1_000;
const TURNS_MAX = 256;
const ABANDONED_MAX = 100;
/** How much longer than an attempt its claim lasts: time to write the e-mail and to record the outcome. */
const LEASE_MARGIN_MS = 15_000;
const CLAIM_USED_WITHIN_MS = LEASE_MARGIN_MS / 2;
/** Before a recipient that a bug blocks is retried. */
const BROKEN_REST_MS = 60_000;

export function startMailing(dependencies: MailingDependencies): Mailing {
  const { database, gate, supervisor, onTransientError } = dependencies;
  const draining = new AbortController();
  const watch = supervisor.watch('mail');
  const budget = retryUntilAborted(draining.signal);
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
  const { database, attemptTimeoutMs, retryDelayMs, clock, onMail, onTransientError } = dependencies;
  const { nowMs = () => performance.now(), isConsentRequired = false } = dependencies;
  const options = { leaseMs: attemptTimeoutMs + LEASE_MARGIN_MS, now: clock(), isConsentRequired };
  let claimedAt = 0;
  // A claim whose answer was lost lasts until its lease ends.
  const mail = await retrying(() => {
    claimedAt = nowMs();
    return claimMail(database, turn, options);
  });
  if (mail === null) return;
  const isTooOld = () => nowMs() - claimedAt > CLAIM_USED_WITHIN_MS;
  const attempted = await attempt(mail, dependencies, retrying, isTooOld);
  if (attempted === null) {
    await retrying(() => giveBackMail(database, mail));
    const late = `not sent within ${CLAIM_USED_WITHIN_MS} ms of its claim, and given back: this machine is too busy`;
    return onTransientError('mail', new Error(late));
  }
  const { outcome, itemCount } = attempted;
  if (outcome === null) return;
  const settled = settledOf(mail, outcome, retryDelayMs);
  await retrying(() => recordMail(database, settled));
  onMail(settled, itemCount);
}

interface Attempted {
  /** Null when nothing remained to be said. */
  readonly outcome: MailOutcome | null;
  readonly itemCount: number;
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
): Promise<Attempted | null> {
  const { from, sender, onTransientError } = dependencies;
  let letter: WrittenLetter | null;
  try {
    letter = await writeLetter(mail, dependencies, retrying);
  } catch (error) {
    if (error instanceof RetryAbandonedError) throw error;
    onTransientError('write mail', error as Error);
    const outcome: MailOutcome = {
      startedAt: mail.startedAt,
      durationMs: 0,
      statusCode: null,
      error: 'protocol',
      reason: 'the e-mail could not be written',
      responseHead: null,
      isFinal: false,
      isRecipientRefused: false,
    };
    return { outcome, itemCount: mail.items.length };
  }
  if (letter === null) return { outcome: null, itemCount: 0 };
  if (isTooOld()) return null;
  const { bytes, itemCount } = letter;
  return { outcome: await sender.send({ from: from.address, to: mail.address, bytes }, mail.startedAt), itemCount };
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
