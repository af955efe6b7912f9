/**
 * Turns a snapshot of a source into messages of the intake contract. New and changed adverts are published, missing
 * ones expire, and unchanged ones are published again once a day. The whole snapshot is read before anything is
 * published, so that a bad file changes nothing. Publications are stored after their acknowledgement, so a crash causes
 * repetitions, not losses.
 */

import type { Broker } from '../../engine/broker/connection.ts';
import { type Publication as Message, publishAll } from '../../engine/broker/publish.ts';
import { advertSubject, ensureAdvertsStream } from '../../engine/broker/topology.ts';
import { ADVERTS } from '../../engine/domain/streams.ts';
import type { Database } from '../../engine/store/database.ts';
import { type AdvertRow, type FeedReading, type FeedRow, SnapshotRefusedError, withinBounds } from './feed-row.ts';
import { asPublished, contentJson, hashOf, identityOf } from './identity.ts';
import type { DecimalHabits } from './numbers.ts';
import {
  announcePublications,
  type Carried,
  carryPublications,
  firstReference,
  markSnapshot,
  type Publication,
  readPublications,
  readSource,
  recordPublications,
  removePublications,
  writeReport,
} from './publications.ts';
import { agencyOf, carriedOver, createStrangers, type Renumbering, type Strangers } from './renumbering.ts';
import { createSpool, type Planned, type Spool } from './spool.ts';
import { createTally, type SnapshotOutcome, type Tally, TOLD_MAX } from './tally.ts';

export interface SnapshotOptions {
  readonly database: Database;
  /** Null for a dry run, which neither publishes nor stores anything. */
  readonly broker: Broker | null;
  readonly source: string;
  /** True to publish unchanged adverts, too. */
  readonly isAll: boolean;
  /** True to accept a snapshot that the checks would refuse. */
  readonly isForced: boolean;
  readonly clock: () => Date;
  readonly stopping: AbortSignal;
  readonly onProgress?: (doing: string, count: number) => void;
  /** Called for each new or changed advert, once the snapshot has been read. */
  readonly onDifference?: (difference: Planned) => void;
}

export interface SnapshotInput {
  /** `habits`: decimal signs learned from the source. Called again if the rows change them, or renumber an agency. */
  readonly rows: (habits: DecimalHabits) => FeedReading;
  /** Hash of all bytes; available once the rows have been read. */
  readonly hash: () => string;
}

/** Less than a day, because a daily file does not arrive at the same time every day. */
export const REPUBLISHED_AFTER_MS = 20 * 3_600_000;
const ADVERTS_MAX = 300_000;
const CONTENT_LENGTH_MAX = 256 * 1_024;
const GONE_SHARE_MAX = 0.3;
const GONE_CHECKED_FROM = 20;
const BATCH_MAX = 256;
const BATCH_LENGTH_MAX = 4 * 1_024 * 1_024;
const PROGRESS_EVERY = 100;
const FORCE = 'To accept this, run "vigie feed" with --force.';
/** Stored in place of a snapshot's hash when a source ends. */
const END_DIGEST = 'end';

/** Throws `SnapshotRefusedError` and errors of PostgreSQL and NATS. The caller locks the source (`withSource`). */
export async function publishSnapshot(input: SnapshotInput, options: SnapshotOptions): Promise<SnapshotOutcome> {
  const { database, broker, source, clock, onDifference } = options;
  const readAt = clock();
  const plan = await planSnapshot(input, readAt, options);
  const { spool, outcome } = plan;
  try {
    if (onDifference !== undefined)
      for await (const planned of spool.read()) if (planned.change !== 'none') onDifference(planned);
    if (broker === null) return outcome;
    await ensureAdvertsStream(broker);
    const openHash = input.hash();
    const crawledAt = await crawledAtOf(database, source, openHash, readAt);
    await markSnapshot(database, source, crawledAt, openHash);
    await writeReport(database, source, { decimals: plan.habits });
    await carryPublications(database, source, plan.carried);
    await publishPlanned(spool, crawledAt, { ...options, broker });
    await expirePublished(plan.gone, crawledAt, { ...options, broker });
    await markSnapshot(database, source, crawledAt, null);
    return outcome;
  } finally {
    await spool.close();
  }
}

/**
 * The time when the snapshot was read. If an interrupted snapshot is repeated within the stream's duplicate window, it
 * keeps its time and so its message ids. The time is later than the previous snapshot's even if the clock was set back,
 * because an older state has no effect.
 */
async function crawledAtOf(database: Database, source: string, openHash: string, readAt: Date): Promise<Date> {
  const before = await readSource(database, source);
  if (before === null || before.crawledAt === null) return readAt;
  const sinceMs = readAt.getTime() - before.crawledAt.getTime();
  if (before.openHash === openHash && sinceMs >= 0 && sinceMs < ADVERTS.duplicateWindowMs) return before.crawledAt;
  return sinceMs > 0 ? readAt : new Date(before.crawledAt.getTime() + 1);
}

interface Plan {
  readonly outcome: SnapshotOutcome;
  readonly gone: readonly Carried[];
  readonly spool: Spool;
  readonly habits: DecimalHabits;
  readonly carried: readonly Carried[];
}

/** The assumptions of a reading. The reading may show that others are needed. */
interface Basis extends Renumbering {
  readonly habits: DecimalHabits;
}

/** Reads at most three times: numbers or references found in one reading may change how the file must be read. */
async function planSnapshot(input: SnapshotInput, readAt: Date, options: SnapshotOptions): Promise<Plan> {
  const { database, source } = options;
  const habits = (await readSource(database, source))?.report.decimals ?? {};
  let basis: Basis = { stored: await readPublications(database, source), habits, carried: [], renumbered: [] };
  for (;;) {
    const spool = await createSpool();
    try {
      const planned = await planBy(basis, input, spool, readAt, options);
      if ('outcome' in planned) return planned;
      basis = planned;
    } catch (error) {
      await spool.close();
      throw error;
    }
    await spool.close();
  }
}

async function planBy(
  basis: Basis,
  input: SnapshotInput,
  spool: Spool,
  readAt: Date,
  options: SnapshotOptions,
): Promise<Plan | Basis> {
  const { source, isForced, stopping, onProgress } = options;
  const { stored, carried } = basis;
  const tally = createTally();
  const seen: Seen = { shown: new Set(), strangers: createStrangers(stored) };
  const compare = createComparison(stored, spool, readAt, tally, options);
  const { rows, numbers } = input.rows(basis.habits);
  let isWhole = true;
  try {
    for await (const row of rows) {
      tally.rows += 1;
      if (tally.rows > ADVERTS_MAX)
        throw new SnapshotRefusedError(
          `The file has more than ${ADVERTS_MAX} adverts, the maximum of a source. Divide it among several sources.`,
        );
      if (tally.rows % PROGRESS_EVERY === 0) {
        stopping.throwIfAborted();
        onProgress?.(`reading ${source}`, tally.rows);
      }
      await publishRow(row, seen, tally, compare);
    }
  } catch (error) {
    // If a forced snapshot could not be read to its end, adverts that it lacks may still exist.
    if (!(isForced && error instanceof SnapshotRefusedError && seen.shown.size > 0)) throw error;
    isWhole = false;
    tally.notice(`No advert expires. ${error.message}`);
  }
  const habits = numbers.learned();
  if (numbers.isOutdated()) return { ...basis, habits };
  const missing = [...stored.keys()].filter((reference) => !seen.shown.has(reference));
  const renumbering = carried.length > 0 ? null : carriedOver(stored, seen.shown, seen.strangers);
  if (renumbering !== null) return { ...renumbering, habits: basis.habits };
  for (const sentence of basis.renumbered.slice(0, TOLD_MAX)) tally.notice(sentence);
  if (tally.nameless > 0 && missing.length > 0 && !isForced)
    tally.notice(unexpiredNotice(tally.nameless, missing.length));
  const gone = isWhole && (tally.nameless === 0 || isForced) ? missing : [];
  tally.counts.gone = gone.length;
  if (!isForced) refuseBad(tally, stored.size, gone.length);
  const expiring = gone.map((reference) => ({ reference, first: firstReference(reference, stored) }));
  return { gone: expiring, spool, habits, carried, outcome: { ...tally.outcome(), gone: gone.slice(0, TOLD_MAX) } };
}

function unexpiredNotice(namelessCount: number, missingCount: number): string {
  return (
    `No advert expires: unreadable rows without a reference (${namelessCount}) may belong to missing adverts ` +
    `(${missingCount}). Correct these rows, or run "vigie feed" with --force to expire the missing adverts.`
  );
}

function refuseBad({ rows, counts, firstComplaint, priceJumps }: Tally, storedCount: number, goneCount: number): void {
  if (rows === 0)
    throw new SnapshotRefusedError('The file is empty or in another format. Check the file and its format.');
  if (counts.adverts === 0)
    throw new SnapshotRefusedError(`None of the ${rows} rows is valid. ${firstComplaint() ?? 'All are left out.'}`);
  if (storedCount >= GONE_CHECKED_FROM && goneCount > storedCount * GONE_SHARE_MAX)
    throw new SnapshotRefusedError(`${goneCount} of ${storedCount} adverts are missing. ${FORCE}`);
  const jumps = priceJumps();
  if (jumps !== null) throw new SnapshotRefusedError(`${jumps} ${FORCE}`);
}

interface Seen {
  readonly shown: Set<string>;
  readonly strangers: Strangers;
}

async function publishRow(
  row: FeedRow,
  { shown, strangers }: Seen,
  tally: Tally,
  compare: (row: AdvertRow) => Promise<void>,
): Promise<void> {
  const { line } = row;
  if (row.kind === 'left out') return tally.leaveOut(line, row.reason);
  const { reference } = row;
  for (const loss of row.losses ?? []) tally.lose(loss, line);
  if (row.kind === 'complaint') {
    tally.complain(line, reference, row.reason);
    // The advert is left unchanged.
    if (row.reference === null) tally.nameless += 1;
    else shown.add(copyOf(row.reference));
    return;
  }
  if (shown.has(row.reference)) return tally.complain(line, reference, 'the reference occurs twice');
  shown.add(copyOf(row.reference));
  const fault = strangers.meet(copyOf(row.reference), row.keys);
  if (fault !== null) return tally.complain(line, reference, fault);
  await compare(row);
}

/** Copies the text: a substring would keep the whole row in memory. */
const copyOf = (text: string): string => Buffer.from(text).toString();

function createComparison(
  stored: ReadonlyMap<string, Publication>,
  spool: Spool,
  readAt: Date,
  tally: Tally,
  { source, isAll }: SnapshotOptions,
) {
  const { counts } = tally;
  const staleMs = readAt.getTime() - REPUBLISHED_AFTER_MS;
  return async (row: AdvertRow): Promise<void> => {
    const { line, reference, keys = NO_KEYS } = row;
    const first = firstReference(reference, stored);
    const identity = identityOf(source, first);
    const whole = withinBounds(row.content, (loss) => tally.lose(loss, line));
    const content = asPublished(whole, row.laterFeatures, identity, stored.get(reference)?.hash);
    const json = contentJson(identity, content);
    if (json.length > CONTENT_LENGTH_MAX)
      return tally.complain(line, reference, `the advert has more than ${CONTENT_LENGTH_MAX} characters`);
    counts.adverts += 1;
    const members = tally.state(content);
    const hash = hashOf(json);
    const before = stored.get(reference);
    const price = typeof content.advert.price === 'number' ? content.advert.price : null;
    if (before !== undefined) tally.compare(before, { members, price }, agencyOf(reference, keys));
    const isEqual = before?.hash === hash;
    if (isEqual && !isAll && before.publishedAtMs > staleMs) {
      counts.unchanged += 1;
      return;
    }
    const change = before === undefined ? 'new' : isEqual ? 'none' : 'changed';
    counts[change === 'none' ? 'republished' : change] += 1;
    await spool.add({ reference, first, keys, members, price, hash, change, content: json });
  };
}

const NO_KEYS = { own: '', technical: '' };

type Publishing = SnapshotOptions & { readonly broker: Broker };

async function publishPlanned(spool: Spool, crawledAt: Date, options: Publishing): Promise<void> {
  const { source, onProgress } = options;
  let count = 0;
  for await (const batch of batchesOf(spool.read())) {
    await publishBatch(batch, crawledAt, options);
    count += batch.length;
    onProgress?.(`publishing ${source}`, count);
  }
}

async function* batchesOf(planned: AsyncIterable<Planned>): AsyncGenerator<readonly Planned[]> {
  let batch: Planned[] = [];
  let length = 0;
  for await (const each of planned) {
    batch.push(each);
    length += each.content.length;
    if (batch.length < BATCH_MAX && length < BATCH_LENGTH_MAX) continue;
    yield batch;
    [batch, length] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

async function publishBatch(
  batch: readonly Planned[],
  crawledAt: Date,
  { database, broker, source, stopping }: Publishing,
): Promise<void> {
  stopping.throwIfAborted();
  const at = crawledAt.toISOString();
  const news = batch.filter(({ change }) => change === 'new').map(({ reference }) => reference);
  await announcePublications(database, source, news);
  const messages = batch.map(({ first, hash, content }): Message => {
    const { property, advert } = identityOf(source, first);
    const bytes = Buffer.from(`{"kind":"upsert","crawledAt":"${at}",${content}`);
    return { subject: advertSubject(property), messageId: `${advert}/${hash}/${at}`, bytes };
  });
  await publishAll(broker, messages);
  await recordPublications(database, source, batch, crawledAt);
}

/** Ends a source: expires and removes all its adverts. Resolves with their number. */
export async function endSource(options: Omit<Publishing, 'isAll' | 'isForced'>): Promise<number> {
  const { database, source, clock } = options;
  const publications = await readPublications(database, source);
  const stored = [...publications.keys()].map((reference) => ({
    reference,
    first: firstReference(reference, publications),
  }));
  const crawledAt = await crawledAtOf(database, source, END_DIGEST, clock());
  await markSnapshot(database, source, crawledAt, END_DIGEST);
  await expirePublished(stored, crawledAt, options);
  await removePublications(database, source, ['']);
  return stored.length;
}

/** Publishes the expiry of adverts, then removes their rows. */
async function expirePublished(
  expiring: readonly Carried[],
  crawledAt: Date,
  { database, broker, source, stopping }: Pick<Publishing, 'database' | 'broker' | 'source' | 'stopping'>,
): Promise<void> {
  const at = crawledAt.toISOString();
  for (let from = 0; from < expiring.length; from += BATCH_MAX) {
    stopping.throwIfAborted();
    const batch = expiring.slice(from, from + BATCH_MAX);
    const messages = batch.map(({ first }): Message => {
      const { property, advert } = identityOf(source, first);
      const message = { kind: 'expire', crawledAt: at, property: { uuid: property }, advert: { uuid: advert } };
      const bytes = Buffer.from(JSON.stringify(message));
      return { subject: advertSubject(property), messageId: `${advert}/expire/${at}`, bytes };
    });
    await publishAll(broker, messages);
    await removePublications(
      database,
      source,
      batch.map(({ reference }) => reference),
    );
  }
}
