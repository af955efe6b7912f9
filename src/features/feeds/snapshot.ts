/**
 * A snapshot of a source becomes messages of the intake contract: new and changed adverts are published, missing ones
 * expire, equal ones are published again once a day. All of it is read before anything is published, so that a bad file
 * changes nothing; publications are stored after their acknowledgement, so a crash causes repetitions, not losses.
 */

import { createHash } from 'node:crypto';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Broker } from '../../engine/broker/connection.ts';
import { type Publication as Message, publishAll } from '../../engine/broker/publish.ts';
import { advertSubject, ensureAdvertsStream } from '../../engine/broker/topology.ts';
import { type Uuid, uuidOf } from '../../engine/domain/ids.ts';
import { ADVERTS } from '../../engine/domain/streams.ts';
import type { Database } from '../../engine/store/database.ts';
import {
  type AdvertRow,
  type FeedContent,
  type FeedRow,
  linesOf,
  SnapshotRefusedError,
  withinBounds,
} from './feed-row.ts';
import {
  announcePublications,
  markSnapshot,
  type Publication,
  readPublications,
  readSource,
  recordPublications,
  removePublications,
} from './publications.ts';

export interface SnapshotOptions {
  readonly database: Database;
  /** Null: a dry run, which publishes nothing and writes nothing down. */
  readonly broker: Broker | null;
  readonly source: string;
  /** Publishes equal adverts, too. */
  readonly isAll: boolean;
  /** Accepts a snapshot that would be refused. */
  readonly isForced: boolean;
  readonly clock: () => Date;
  readonly stopping: AbortSignal;
  readonly onProgress?: (doing: string, count: number) => void;
  /** Called for each advert that is new or changed. */
  readonly onDifference?: (reference: string, content: FeedContent, isNew: boolean) => void;
}

/** The input of a snapshot. */
export interface SnapshotInput {
  readonly rows: () => AsyncIterable<FeedRow>;
  /** Hash of all bytes, once the rows have been read. */
  readonly hash: () => string;
}

const COUNTS = { adverts: 0, new: 0, changed: 0, republished: 0, unchanged: 0, gone: 0, notUnderstood: 0 };
export type SnapshotCounts = { readonly [count in keyof typeof COUNTS]: number };

export interface SnapshotOutcome {
  readonly counts: SnapshotCounts;
  /** The first rows with errors, a sentence each. */
  readonly complaints: readonly string[];
  /** The first values that were dropped, each kind of them once. */
  readonly notices: readonly string[];
  /** The first of those that expire. */
  readonly gone: readonly string[];
}

/** Nearly a day: the clock of the file's writer may differ from ours. */
export const REPUBLISHED_AFTER_MS = 20 * 3_600_000;
const ADVERTS_MAX = 300_000;
const CONTENT_LENGTH_MAX = 256 * 1_024;
const TOLD_MAX = 50;
const GONE_SHARE_MAX = 0.3;
const GONE_CHECKED_FROM = 20;
const BATCH_MAX = 256;
const BATCH_LENGTH_MAX = 4 * 1_024 * 1_024;
const PROGRESS_EVERY = 100;
/** Replaces the hash of a snapshot. */
const END_DIGEST = 'end';

/** Throws `SnapshotRefusedError`, and errors of PostgreSQL and NATS. `withSource` holds the source. */
export async function takeSnapshot(input: SnapshotInput, options: SnapshotOptions): Promise<SnapshotOutcome> {
  const { database, broker, source, clock } = options;
  const readAt = clock();
  const spool = await createSpool();
  try {
    const plan = await planSnapshot(input, spool, readAt, options);
    if (broker === null) return plan.outcome;
    await ensureAdvertsStream(broker);
    const openHash = input.hash();
    const crawledAt = await crawledAtOf(database, source, openHash, readAt);
    await markSnapshot(database, source, crawledAt, openHash);
    await publishPlanned(spool, crawledAt, { ...options, broker });
    await expirePublished(plan.gone, crawledAt, { ...options, broker });
    await markSnapshot(database, source, crawledAt, null);
    return plan.outcome;
  } finally {
    await spool.close();
  }
}

/**
 * The time of the snapshot's reading. An interrupted one that is repeated within the stream's duplicate window keeps
 * its time, and so the ids of its messages. Later than the previous one even if the clock was set back: an older state has no
 * effect.
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
  readonly gone: readonly string[];
}

async function planSnapshot(input: SnapshotInput, spool: Spool, readAt: Date, options: SnapshotOptions): Promise<Plan> {
  const { database, source, isForced, stopping, onProgress } = options;
  const held = await readPublications(database, source);
  const tally = createTally();
  const shown = new Set<string>();
  const compare = createComparison(held, spool, readAt, tally, options);
  let isWhole = true;
  try {
    for await (const row of input.rows()) {
      tally.rows += 1;
      if (tally.rows > ADVERTS_MAX) throw new SnapshotRefusedError(`it has more than ${ADVERTS_MAX} adverts`);
      if (tally.rows % PROGRESS_EVERY === 0) {
        stopping.throwIfAborted();
        onProgress?.(`reading ${source}`, tally.rows);
      }
      await takeRow(row, shown, tally, compare);
    }
  } catch (error) {
    // A forced snapshot that cannot be read to its end says nothing about missing adverts.
    if (!(isForced && error instanceof SnapshotRefusedError && shown.size > 0)) throw error;
    isWhole = false;
    tally.notice(`nothing expires: ${error.message}`, 0);
  }
  const missing = [...held.keys()].filter((reference) => !shown.has(reference));
  if (tally.nameless > 0 && missing.length > 0 && !isForced)
    tally.notice('nothing expires: a row that was not understood does not say whose it is', 0);
  const gone = isWhole && (tally.nameless === 0 || isForced) ? missing : [];
  tally.counts.gone = gone.length;
  if (!isForced) refuseBad(tally, held.size, gone.length);
  return { gone, outcome: { ...tally.outcome(), gone: gone.slice(0, TOLD_MAX) } };
}

function refuseBad({ rows, counts }: ReturnType<typeof createTally>, heldCount: number, goneCount: number): void {
  if (rows === 0) throw new SnapshotRefusedError('it is empty');
  if (counts.adverts === 0) throw new SnapshotRefusedError(`none of its ${rows} rows is understood`);
  if (heldCount >= GONE_CHECKED_FROM && goneCount > heldCount * GONE_SHARE_MAX)
    throw new SnapshotRefusedError(`${goneCount} of ${heldCount} adverts are gone from it: --force takes it`);
}

function createTally() {
  const counts: { -readonly [count in keyof SnapshotCounts]: number } = { ...COUNTS };
  const complaints: string[] = [];
  const notices = new Map<string, string>();
  return {
    counts,
    rows: 0,
    nameless: 0,
    complain(line: number, reference: string | null, reason: string) {
      counts.notUnderstood += 1;
      if (complaints.length < TOLD_MAX)
        complaints.push(`line ${line}${reference === null ? '' : `, ${reference}`}: ${reason}`);
    },
    /** The same notice about another advert is no news. */
    notice(text: string, line: number, reference = '') {
      const kind = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '…');
      if (notices.size >= TOLD_MAX || notices.has(kind)) return;
      notices.set(kind, line === 0 ? text : `line ${line}, ${reference}: ${text}`);
    },
    outcome: () => ({ counts, complaints, notices: [...notices.values()] }),
  };
}

type Tally = ReturnType<typeof createTally>;

async function takeRow(
  row: FeedRow,
  shown: Set<string>,
  tally: Tally,
  compare: (row: AdvertRow, content: FeedContent) => Promise<void>,
): Promise<void> {
  const { line, reference } = row;
  if (row.kind === 'complaint') {
    tally.complain(line, reference, row.reason);
    // Left as it was.
    if (row.reference === null) tally.nameless += 1;
    else shown.add(copyOf(row.reference));
    return;
  }
  if (shown.has(row.reference)) return tally.complain(line, reference, 'its reference is there twice');
  shown.add(copyOf(row.reference));
  for (const notice of row.notices) tally.notice(notice, line, row.reference);
  await compare(
    row,
    withinBounds(row.content, (notice) => tally.notice(notice, line, row.reference)),
  );
}

/** A copy: a part of the row's text would keep the whole of it in memory. */
const copyOf = (text: string): string => Buffer.from(text).toString();

function createComparison(
  held: ReadonlyMap<string, Publication>,
  spool: Spool,
  readAt: Date,
  { counts, complain }: Tally,
  { source, isAll, onDifference }: SnapshotOptions,
) {
  const staleMs = readAt.getTime() - REPUBLISHED_AFTER_MS;
  return async ({ line, reference }: AdvertRow, content: FeedContent): Promise<void> => {
    const json = contentJson(identityOf(source, reference), content);
    if (json.length > CONTENT_LENGTH_MAX)
      return complain(line, reference, `it has more than ${CONTENT_LENGTH_MAX} characters`);
    counts.adverts += 1;
    const hash = hashOf(json);
    const before = held.get(reference);
    const isEqual = before?.hash === hash;
    if (isEqual && !isAll && before.publishedAtMs > staleMs) {
      counts.unchanged += 1;
      return;
    }
    const isNew = before === undefined;
    counts[isEqual ? 'republished' : isNew ? 'new' : 'changed'] += 1;
    if (!isEqual) onDifference?.(reference, content, isNew);
    await spool.add({ reference, hash, isNew, content: json });
  };
}

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
  const news = batch.filter(({ isNew }) => isNew).map(({ reference }) => reference);
  await announcePublications(database, source, news);
  const messages = batch.map(({ reference, hash, content }): Message => {
    const { property, advert } = identityOf(source, reference);
    const bytes = Buffer.from(`{"kind":"upsert","crawledAt":"${at}",${content}`);
    return { subject: advertSubject(property), messageId: `${advert}/${hash}/${at}`, bytes };
  });
  await publishAll(broker, messages);
  await recordPublications(database, source, batch, crawledAt);
}

/** Ends a source: expires all its adverts, and removes it. Resolves with their number. */
export async function endSource(options: Omit<Publishing, 'isAll' | 'isForced'>): Promise<number> {
  const { database, source, clock } = options;
  const held = [...(await readPublications(database, source)).keys()];
  const crawledAt = await crawledAtOf(database, source, END_DIGEST, clock());
  await markSnapshot(database, source, crawledAt, END_DIGEST);
  await expirePublished(held, crawledAt, options);
  await removePublications(database, source, ['']);
  return held.length;
}

/** Expires adverts, and removes them. */
async function expirePublished(
  references: readonly string[],
  crawledAt: Date,
  { database, broker, source, stopping }: Pick<Publishing, 'database' | 'broker' | 'source' | 'stopping'>,
): Promise<void> {
  const at = crawledAt.toISOString();
  for (let from = 0; from < references.length; from += BATCH_MAX) {
    stopping.throwIfAborted();
    const batch = references.slice(from, from + BATCH_MAX);
    const messages = batch.map((reference): Message => {
      const { property, advert } = identityOf(source, reference);
      const message = { kind: 'expire', crawledAt: at, property: { uuid: property }, advert: { uuid: advert } };
      const bytes = Buffer.from(JSON.stringify(message));
      return { subject: advertSubject(property), messageId: `${advert}/expire/${at}`, bytes };
    });
    await publishAll(broker, messages);
    await removePublications(database, source, batch);
  }
}

interface Planned {
  readonly reference: string;
  readonly hash: string;
  readonly isNew: boolean;
  /** `contentJson` of it. */
  readonly content: string;
}

interface Spool {
  add(planned: Planned): Promise<void>;
  read(): AsyncGenerator<Planned>;
  close(): Promise<void>;
}

const BUFFERED_MAX = 1_024 * 1_024;

/**
 * Keeps the messages of a snapshot on disk until all of it has been read: a bad file publishes nothing. The file has no
 * name, so that it disappears with the process.
 */
async function createSpool(): Promise<Spool> {
  const directory = await mkdtemp(join(tmpdir(), 'vigie-feed-'));
  const file = await open(join(directory, 'spool'), 'wx+', 0o600);
  await rm(directory, { recursive: true });
  let buffered = '';
  const flush = async (): Promise<void> => {
    const text = buffered;
    buffered = '';
    await file.writeFile(text);
  };
  return {
    async add({ reference, hash, isNew, content }) {
      // A reference is one line without tabs, and JSON has no line ends.
      buffered += `${hash}\t${isNew}\t${reference}\t${content}\n`;
      if (buffered.length > BUFFERED_MAX) await flush();
    },
    async *read() {
      await flush();
      for await (const { bytes } of linesOf(file.createReadStream({ start: 0, autoClose: false }))) {
        const [hash = '', isNew, reference = '', ...content] = bytes.toString('utf8').split('\t');
        yield { hash, isNew: isNew === 'true', reference, content: content.join('\t') };
      }
    },
    close: () => file.close(),
  };
}

/** The same file read twice, on any machine, gives the same ids: UUIDs of version 5 (RFC 9562, section 5.5). */
const NAMESPACE = Buffer.from('6f9c1d3e4b0a4d6f9f57c2a8e1b3d504', 'hex');

export interface FeedIdentity {
  readonly property: Uuid;
  readonly advert: Uuid;
}

export function identityOf(source: string, reference: string): FeedIdentity {
  const named = (kind: string): Uuid => nameBasedUuid(`${kind}:${source}:${reference}`);
  return { property: named('property'), advert: named('advert') };
}

function nameBasedUuid(name: string): Uuid {
  const bytes = createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return uuidOf(`${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`);
}

/** 132 bits of a SHA-256. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** The message's members beside kind and time, as JSON: equal for equal adverts. */
export function contentJson({ property, advert }: FeedIdentity, content: FeedContent): string {
  const halves = { property: { uuid: property, ...content.property }, advert: { uuid: advert, ...content.advert } };
  return JSON.stringify(halves).slice(1);
}
