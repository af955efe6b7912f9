/**
 * The role `feeds`: checks its sources every few seconds and reads their files. A file is read when it has not changed
 * for a minute, because uploads take time. An address is requested at the source's interval. A request by an operator
 * waits for neither. Up to four sources are read at once, one per host, so that one slow server delays no other. Only
 * one snapshot is in memory at a time.
 */

import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { startTask, type Task } from '../../engine/actor/task.ts';
import { Turns } from '../../engine/actor/waiting.ts';
import type { Broker } from '../../engine/broker/connection.ts';
import type { Database } from '../../engine/store/database.ts';
import { download } from './download.ts';
import { SnapshotRefusedError } from './feed-row.ts';
import { noteReading, readSource, SourceBusyError, type SourceReport, writeReport } from './publications.ts';
import { FORMATS, type FormatName, isSourceName, openFormat, type Reading, readOnce, SOURCE_RULE } from './reading.ts';
import { REPUBLISHED_AFTER_MS } from './snapshot.ts';
import { newestFile } from './snapshot-file.ts';
import type { SnapshotOutcome } from './tally.ts';

export interface FeedsOptions {
  readonly database: Database;
  readonly broker: Broker;
  readonly sources: readonly FeedSource[];
  readonly allowPrivateNetworks: boolean;
  readonly clock: () => Date;
  readonly nowMs: () => number;
  readonly onRead: (source: string, outcome: SnapshotOutcome) => void;
  readonly onRefused: (source: string, reason: string) => void;
  readonly onTransientError: (what: string, error: Error) => void;
  readonly checkEveryMs?: number;
  /** How long a file must be unchanged before it is read. */
  readonly settledAfterMs?: number;
}

const CHECK_EVERY_MS = 5_000;
const SETTLED_AFTER_MS = 60_000;
const TURNS = { allMax: 4, perKeyMax: 1 };

/** State shared by all sources of a process. */
interface Watch extends FeedsOptions {
  readonly isSettled: ReturnType<typeof createSettling>;
  readonly snapshots: Turns;
}

/** Stores a row for each source at the start, so that operators see all of them. */
export async function startFeeds(options: FeedsOptions): Promise<Pick<Task, 'run' | 'stop'>> {
  const { database, sources, onTransientError, onRefused, checkEveryMs: everyMs = CHECK_EVERY_MS } = options;
  for (const { name } of sources) await writeReport(database, name, {});
  const watch = { ...options, isSettled: createSettling(options), snapshots: new Turns({ allMax: 1, perKeyMax: 1 }) };
  const turns = new Turns(TURNS);
  const tasks = sources.map((source) => {
    const { name, url } = source;
    return startTask({
      what: `feed ${name}`,
      everyMs,
      isDueAtOnce: true,
      onTransientError,
      async work(stopping) {
        const host = url === null ? `file ${name}` : new URL(url).hostname;
        try {
          await turns.run(host, () => lookAt(source, stopping, watch));
        } catch (error) {
          if (stopping.aborted || error instanceof SourceBusyError) return;
          if (error instanceof SnapshotRefusedError) onRefused(name, error.message);
          else onTransientError(`feed ${name}`, error as Error);
        }
      },
    });
  });
  return {
    run: async () => void (await Promise.all(tasks.map((task) => task.run()))),
    stop: async () => void (await Promise.all(tasks.map((task) => task.stop()))),
  };
}

/** Uses the clock of this process, because the clock of the machine that wrote the file may differ. */
function createSettling({ nowMs, settledAfterMs = SETTLED_AFTER_MS }: FeedsOptions) {
  const seen = new Map<string, { readonly version: string; readonly sinceMs: number }>();
  return (name: string, version: string): boolean => {
    const before = seen.get(name);
    if (before?.version === version) return nowMs() - before.sinceMs >= settledAfterMs;
    seen.set(name, { version, sinceMs: nowMs() });
    return settledAfterMs === 0;
  };
}

async function lookAt(source: FeedSource, stopping: AbortSignal, watch: Watch): Promise<void> {
  stopping.throwIfAborted();
  const known = (await readSource(watch.database, source.name))?.report ?? {};
  if (source.path === null) await askAddress(source, known, stopping, watch);
  else await checkFile(source, source.path, known, stopping, watch);
}

async function checkFile(
  source: FeedSource,
  path: string,
  known: SourceReport,
  stopping: AbortSignal,
  watch: Watch,
): Promise<void> {
  const found = await newestFile(path);
  if (found === null) return;
  const isWritten = watch.isSettled(source.name, found.version);
  const isNew = found.version !== known.version;
  const isRequested = Boolean(known.requestedAt);
  if (!isWritten && !isRequested) return;
  // The adverts of an unchanged file are published again until the source counts as silent.
  const isShown = isOlder(known.readAt, REPUBLISHED_AFTER_MS, watch) && !isSilent(known, source, watch);
  if (!isNew && !isRequested && !isShown) return;
  const isCurrent = async () => (await newestFile(path))?.version === found.version;
  await noted(source, watch, (onBytes) =>
    read(source, { ...found, isGiven: isNew, onBytes, isCurrent }, stopping, watch),
  );
}

async function askAddress(source: FeedSource, known: SourceReport, stopping: AbortSignal, watch: Watch) {
  if (!known.requestedAt && !isOlder(known.lookedAt, source.everyMs, watch)) return;
  // The adverts of an unchanged file must be published again, but a conditional request would not return that file.
  const version = isOlder(known.readAt, REPUBLISHED_AFTER_MS, watch) ? null : (known.version ?? null);
  await noted(source, watch, (onBytes) => readAddress(source, version, onBytes, stopping, watch));
}

async function readAddress(
  { url, authorization, ...source }: FeedSource,
  version: string | null,
  onBytes: OnBytes,
  stopping: AbortSignal,
  watch: Watch,
): Promise<void> {
  const { database, allowPrivateNetworks, clock } = watch;
  const from = url as string;
  const looked = (): SourceReport => ({ lookedAt: clock().toISOString(), from, requestedAt: null });
  const options = { allowPrivateNetworks, authorization, stopping, onBytes };
  const given = await download(from, version, options).catch(async (error: Error) => {
    if (error instanceof SnapshotRefusedError)
      await writeReport(database, source.name, { ...looked(), refusal: error.message });
    throw error;
  });
  if (given === null) return writeReport(database, source.name, { ...looked(), gaveAt: clock().toISOString() });
  try {
    await read(source, { ...given, from, isGiven: true }, stopping, watch);
  } finally {
    await given.dispose();
  }
}

type OnBytes = (bytes: number) => void;

/** While `work` runs, operators see when the reading began and how many bytes have been received. */
async function noted(source: FeedSource, watch: Watch, work: (onBytes: OnBytes) => Promise<void>): Promise<void> {
  const { database, onTransientError } = watch;
  const startedAt = performance.now();
  let bytes = 0;
  const noting = startTask({
    what: 'feed progress',
    everyMs: watch.checkEveryMs ?? CHECK_EVERY_MS,
    isDueAtOnce: true,
    onTransientError,
    work: () => noteReading(database, source.name, { forMs: performance.now() - startedAt, bytes }),
  });
  try {
    await work((received) => {
      bytes = received;
    });
  } finally {
    await noting.stop();
    await noteReading(database, source.name, null).catch((error) => onTransientError('feed progress', error));
  }
}

interface ReadFile extends Pick<Reading, 'path' | 'version' | 'from' | 'isGiven' | 'onBytes'> {
  /** False if the file was written again while this reading waited for others: it may be incomplete. */
  readonly isCurrent?: () => Promise<boolean>;
}

async function read(
  { name, format, mapping }: Pick<FeedSource, 'name' | 'format' | 'mapping'>,
  { isCurrent, ...file }: ReadFile,
  stopping: AbortSignal,
  { database, broker, clock, onRead, snapshots }: Watch,
): Promise<void> {
  await snapshots.run('snapshot', async () => {
    stopping.throwIfAborted();
    if ((await isCurrent?.()) === false) return;
    const outcome = await readOnce({
      database,
      broker,
      clock,
      stopping,
      source: name,
      isAll: false,
      isForced: false,
      ...file,
      format: () => openFormat(format, mapping, name),
    });
    onRead(name, outcome);
  });
}

function isOlder(at: string | undefined, ageMs: number, { clock }: FeedsOptions): boolean {
  return at === undefined || clock().getTime() - Date.parse(at) >= ageMs;
}

/** True if the source has given no file for twice its interval. */
function isSilent({ gaveAt }: SourceReport, { everyMs }: FeedSource, options: FeedsOptions): boolean {
  return isOlder(gaveAt, 2 * everyMs, options);
}

export interface FeedSource {
  readonly name: string;
  readonly format: FormatName;
  /** Path of its mapping. */
  readonly mapping: string | null;
  /** A file, or a folder of which the newest file is read; null if `url` is set. */
  readonly path: string | null;
  /** Address without user and password. */
  readonly url: string | null;
  /** `Authorization` header with user and password (RFC 7617); null if the address has none. */
  readonly authorization: string | null;
  /** Interval of its snapshots, and of requests to its address. */
  readonly everyMs: number;
}

export class FeedsFileError extends Error {
  readonly code = 'FEEDS_FILE_INVALID';
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

const every = z.string().transform((text, context) => {
  const [, count = '', unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  if (unit === '') context.addIssue('must be minutes, hours or days, such as 30m, 6h or 1d');
  return Number(count) * (UNITS_MS[unit] ?? 0);
});
const url = z
  .url({ protocol: /^https?$/, error: 'must be an address that begins with https://' })
  .refine(isDecodable, 'must have "%" in its user and password written as "%25"');
const source = z
  .strictObject({
    format: z.enum(FORMATS),
    mapping: z.string().optional(),
    path: z.string().optional(),
    url: url.optional(),
    every,
  })
  .refine((each) => (each.path === undefined) !== (each.url === undefined), 'needs either path or url')
  .refine(
    (each) => (each.format === 'mapping') === (each.mapping !== undefined),
    'mapping is required by the format "mapping", and not allowed for others',
  );
const file = z.record(z.string().refine(isSourceName, SOURCE_RULE), source);

/**
 * Reads the file of sources for the role `feeds` (`VIGIE_FEEDS_FILE`). Its relative paths are resolved from its folder.
 * Throws `FeedsFileError`, which names every error.
 */
export function readFeedsFile(path: string): readonly FeedSource[] {
  const sent = readJson(path);
  const parsed = file.safeParse(sent);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path: at, message }) => `  ${at.join('.')} ${message}`);
    throw new FeedsFileError([`VIGIE_FEEDS_FILE: ${path} is invalid. Correct these entries:`, ...faults].join('\n'));
  }
  const absolute = (named: string | undefined) => (named === undefined ? null : resolve(dirname(path), named));
  return Object.entries(parsed.data).map(([name, { every: everyMs, format, ...rest }]) => ({
    name,
    everyMs,
    format,
    ...(rest.url === undefined ? { url: null, authorization: null } : splitAddress(rest.url)),
    mapping: absolute(rest.mapping),
    path: absolute(rest.path),
  }));
}

function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new FeedsFileError(`VIGIE_FEEDS_FILE: Cannot read ${path}: ${(cause as Error).message}`, { cause });
  }
  try {
    return JSON.parse(text);
  } catch {
    // The message of `JSON.parse` quotes the file, which may contain passwords.
    throw new FeedsFileError(`VIGIE_FEEDS_FILE: ${path} is not valid JSON. Check it, e.g. with "jq . ${path}".`);
  }
}

function isDecodable(text: string): boolean {
  if (!URL.canParse(text)) return true;
  const { username, password } = new URL(text);
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

function splitAddress(text: string): Pick<FeedSource, 'url' | 'authorization'> {
  const url = new URL(text);
  if (url.username === '' && url.password === '') return { url: text, authorization: null };
  const pair = [url.username, url.password].map((part) => decodeURIComponent(part)).join(':');
  url.username = '';
  url.password = '';
  return { url: url.href, authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}
