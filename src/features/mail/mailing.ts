/**
 * Sends recorded items to the mail server. It polls for due items every second and serves the clients in turn. For each
 * recipient it claims an e-mail and so counts the attempt, writes and sends the e-mail, and records the outcome.
 * JetStream is not needed: e-mails wait for minutes or days, and an index serves the poll. If a process dies, its
 * attempt counts as aborted when the lease ends. The e-mail may have been sent, and is sent again under the same
 * Message-ID.
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
import { type AfterAttempt, abortedOutcome, afterAttempt } from '../../engine/domain/delivery.ts';
import type { FeatureTask } from '../../feature.ts';
import {
  type AbandonedMail,
  type ClaimedMail,
  claimMail,
  giveBackMail,
  type MailTurn,
  readAbandonedMails,
  readMailTurns,
} from './mail-claims.ts';
import { type LetterDependencies, type Retrying, writeLetter } from './mail-letter.ts';
import { recordMail, type SettledMail } from './mail-outcomes.ts';
import type { MailOutcome, MailSender } from './mail-sender.ts';

export interface MailingDependencies extends LetterDependencies {
  readonly sender: MailSender;
  readonly isConsentRequired?: boolean;
  readonly retryDelayMs: number;
  readonly attemptTimeoutMs: number;
  /** Maximum time for which a stop waits for attempts. A longer attempt counts as aborted when its lease ends. */
  readonly drainTimeoutMs: number;
  /** While closed, no attempt starts. */
  readonly gate: Pick<PauseGate, 'isOpen'>;
  /** The time of a claim, for tests. Default: PostgreSQL's clock, which also decides when items become due. */
  readonly clock?: () => Date;
  /** Monotonic clock in milliseconds. Default: the clock of this process. */
  readonly nowMs?: () => number;
  readonly onMail: (settled: SettledMail, itemCount: number) => void;
  readonly supervisor: Supervisor;
  readonly onTransientError: (what: string, error: Error) => void;
}

/** Maximum number of concurrent attempts, all at one mail server. */
const SLOTS = 8;
const CHECK_EVERY_MS = 1_000;
const TURNS_MAX = 256;
const ABANDONED_MAX = 100;
/** A claim lasts this much longer than an attempt, to write the e-mail and to record the outcome. */
const LEASE_MARGIN_MS = 15_000;
const CLAIM_USED_WITHIN_MS = LEASE_MARGIN_MS / 2;
/** Pause of a recipient's e-mails after a bug. */
const BROKEN_REST_MS = 60_000;

export function startMailing(dependencies: MailingDependencies): Required<FeatureTask> {
  const { database, gate, supervisor, onTransientError } = dependencies;
  const draining = new AbortController();
  const watch = supervisor.watch('mail');
  const budget = retryUntilAborted(draining.signal);
  const retrying: Retrying = (work) => retryUntilDone(work, watch, budget);
  const report = (error: Error) => void (error instanceof RetryAbandonedError || onTransientError('mail', error));
  const attempts = new InFlight();
  /** No e-mail to the recipient begins before this time: infinite during an attempt, a minute later after a bug. */
  const blockedUntil = new Map<string, number>();

  /** Resolves with true if any e-mail was started, and the stage was neither paused nor stopped meanwhile. */
  async function startDue(): Promise<boolean> {
    for (const abandoned of await readAbandonedMails(database, ABANDONED_MAX)) {
      await settleAbandoned(abandoned, dependencies);
    }
    for (const [key, untilMs] of blockedUntil) if (untilMs < performance.now()) blockedUntil.delete(key);
    let hasStarted = false;
    for (const turn of await readMailTurns(database, TURNS_MAX, [...blockedUntil.keys()])) {
      while (attempts.count >= SLOTS && !draining.signal.aborted) await attempts.oneEnded(CHECK_EVERY_MS);
      if (draining.signal.aborted || !gate.isOpen) return false;
      if (blockedUntil.has(turn.key)) continue;
      blockedUntil.set(turn.key, Number.POSITIVE_INFINITY);
      attempts.add(serve(turn));
      hasStarted = true;
    }
    return hasStarted;
  }

  async function serve(turn: MailTurn): Promise<void> {
    try {
      await mailOnce(turn, dependencies, retrying);
      blockedUntil.delete(turn.key);
    } catch (error) {
      blockedUntil.set(turn.key, performance.now() + BROKEN_REST_MS);
      report(error as Error);
    }
  }

  /** After a start, polls again as soon as one e-mail has ended or a second has passed: others may take minutes. */
  async function poll(): Promise<number | void> {
    const hasStarted = gate.isOpen && (await retrying(startDue).catch(report)) === true;
    if (!hasStarted) return;
    await attempts.oneEnded(CHECK_EVERY_MS);
    return 0;
  }

  const task = startTask({ what: 'mail', everyMs: CHECK_EVERY_MS, isDueAtOnce: true, work: poll, onTransientError });
  return {
    get inFlight() {
      return attempts.count;
    },
    async drain() {
      draining.abort();
      await task.stop();
      await endsWithin(attempts.ended(), dependencies.drainTimeoutMs);
      watch.recovered();
    },
  };
}

async function mailOnce(turn: MailTurn, dependencies: MailingDependencies, retrying: Retrying): Promise<void> {
  const { database, attemptTimeoutMs, retryDelayMs, clock, from, sender, onMail, onTransientError } = dependencies;
  const { nowMs = () => performance.now(), isConsentRequired = false } = dependencies;
  const options = { leaseMs: attemptTimeoutMs + LEASE_MARGIN_MS, now: clock?.() ?? null, isConsentRequired };
  let claimedAt = 0;
  // If the answer to a claim is lost, the claim lasts until its lease ends.
  const mail = await retrying(() => {
    claimedAt = nowMs();
    return claimMail(database, turn, options);
  });
  if (mail === null) return;
  const letter = await writeLetter(mail, dependencies, retrying).catch((error: Error) => {
    if (error instanceof RetryAbandonedError) throw error;
    onTransientError('write mail', error);
    return 'unwritable' as const;
  });
  if (letter === null) return;
  let outcome: MailOutcome;
  if (letter === 'unwritable') {
    // Counts as a failed attempt, so that other e-mails continue and this one is not retried for ever.
    const reason = 'the e-mail could not be written';
    outcome = { ...abortedOutcome(mail.startedAt, reason), error: 'protocol', ...OF_NO_SERVER };
  } else if (nowMs() - claimedAt > CLAIM_USED_WITHIN_MS) {
    // The lease could end during the attempt, and another process would send the e-mail as well.
    await retrying(() => giveBackMail(database, mail));
    const late = `claiming and writing an e-mail took over ${CLAIM_USED_WITHIN_MS} ms, so it is sent later`;
    return onTransientError('mail', new Error(late));
  } else outcome = await sender.send({ from: from.address, to: mail.address, bytes: letter.bytes }, mail.startedAt);
  const settled = settledOf(mail, outcome, retryDelayMs);
  await retrying(() => recordMail(database, settled));
  onMail(settled, letter === 'unwritable' ? mail.items.length : letter.itemCount);
}

/** For an attempt without an answer of a mail server. */
const OF_NO_SERVER = { isFinal: false, isRecipientRefused: false } as const;

function settledOf(
  { id, key, attempt }: Pick<ClaimedMail, 'id' | 'key' | 'attempt'>,
  outcome: MailOutcome,
  retryDelayMs: number,
): SettledMail {
  const { isFinal, isRecipientRefused, ...logged } = outcome;
  const after: AfterAttempt = isFinal ? { state: 'failed', dueAt: null } : afterAttempt(attempt, outcome, retryDelayMs);
  return { id, key, attempt, outcome: logged, after, retryInMs: retryDelayMs, isRecipientRefused };
}

async function settleAbandoned(
  abandoned: AbandonedMail,
  { database, retryDelayMs, onMail }: MailingDependencies,
): Promise<void> {
  const reason = 'the daemon stopped during the attempt; whether the mail server accepted the e-mail is unknown';
  const outcome = { ...abortedOutcome(abandoned.startedAt, reason), ...OF_NO_SERVER };
  const settled = settledOf(abandoned, outcome, retryDelayMs);
  await recordMail(database, { ...settled, retryInMs: retryDelayMs - abandoned.startedAgoMs });
  onMail(settled, 0);
}
