/**
 * The role `feeds`: checks its sources every few seconds, and reads their files. A file is read when it has been
 * unchanged for a minute, because uploads take time; an address is requested at the source's interval. One source after
 * the other, so that one snapshot at a time is in memory.
 */

import { createWriteStream, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Agent, type Dispatcher, interceptors, request } from 'undici';
import { z } from 'zod';
import { startTask, type Task } from '../../engine/actor/task.ts';
import type { Broker } from '../../engine/broker/connection.ts';
import { type ConnectorOptions, createConnector } from '../../engine/delivery/connector.ts';
import type { Database } from '../../engine/store/database.ts';
import { SnapshotRefusedError } from './feed-row.ts';
import { readSource, SourceBusyError, type SourceReport, writeReport } from './publications.ts';
import { FORMATS, type FormatName, isSourceName, openFormat, readOnce, SOURCE_RULE } from './reading.ts';
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
  /** How long a file must be unchanged. */
  readonly settledAfterMs?: number;
}

const CHECK_EVERY_MS = 5_000;
const SETTLED_AFTER_MS = 60_000;

/** Each source is listed for operators from the start. */
export async function startFeeds(options: FeedsOptions): Promise<Task> {
  const { database, sources, onTransientError, onRefused, checkEveryMs: everyMs = CHECK_EVERY_MS } = options;
  for (const { name } of sources) await writeReport(database, name, {});
  const isSettled = createSettling(options);
  return startTask({
    what: 'feeds',
    everyMs,
    isDueAtOnce: true,
    onTransientError,
    async work(stopping) {
      for (const source of sources) {
        if (stopping.aborted) return;
        await lookAt(source, isSettled, stopping, options).catch((error: Error) => {
          if (stopping.aborted || error instanceof SourceBusyError) return;
          if (error instanceof SnapshotRefusedError) onRefused(source.name, error.message);
          else onTransientError(`feed ${source.name}`, error);
        });
      }
    },
  });
}

/** By this process's clock: the file's timestamp is its writer's. */
function createSettling({ nowMs, settledAfterMs = SETTLED_AFTER_MS }: FeedsOptions) {
  const seen = new Map<string, { readonly version: string; readonly sinceMs: number }>();
  return (name: string, version: string): boolean => {
    const before = seen.get(name);
    if (before?.version === version) return nowMs() - before.sinceMs >= settledAfterMs;
    seen.set(name, { version, sinceMs: nowMs() });
    return settledAfterMs === 0;
  };
}

type IsSettled = ReturnType<typeof createSettling>;

async function lookAt(source: FeedSource, isSettled: IsSettled, stopping: AbortSignal, options: FeedsOptions) {
  const known = (await readSource(options.database, source.name))?.report ?? {};
  if (source.path === null) await askAddress(source, known, stopping, options);
  else await checkFile(source, source.path, known, isSettled, stopping, options);
}

async function checkFile(
  source: FeedSource,
  path: string,
  known: SourceReport,
  isSettled: IsSettled,
  stopping: AbortSignal,
  options: FeedsOptions,
): Promise<void> {
  const found = await newestFile(path);
  if (found === null) return;
  const isWritten = isSettled(source.name, found.version);
  const isNew = found.version !== known.version;
  const isAsked = Boolean(known.requestedAt);
  if (!isWritten && !isAsked) return;
  // The adverts of an unchanged file are kept alive until the source counts as silent.
  const isShown = isOlder(known.readAt, REPUBLISHED_AFTER_MS, options) && !isSilent(known, source, options);
  if (isNew || isAsked || isShown) await read(source, { ...found, isGiven: isNew }, stopping, options);
}

async function askAddress(source: FeedSource, known: SourceReport, stopping: AbortSignal, options: FeedsOptions) {
  const { database, allowPrivateNetworks, clock } = options;
  if (!known.requestedAt && !isOlder(known.lookedAt, source.everyMs, options)) return;
  const url = source.url as string;
  // An unconditional request returns the file whose adverts are to be published again.
  const version = isOlder(known.readAt, REPUBLISHED_AFTER_MS, options) ? null : (known.version ?? null);
  const looked = (): SourceReport => ({ lookedAt: clock().toISOString(), from: url, requestedAt: null });
  const given = await download(url, version, { allowPrivateNetworks, stopping }).catch(async (error: Error) => {
    if (error instanceof SnapshotRefusedError)
      await writeReport(database, source.name, { ...looked(), refusal: error.message });
    throw error;
  });
  if (given === null) return writeReport(database, source.name, { ...looked(), gaveAt: clock().toISOString() });
  try {
    await read(source, { ...given, from: url, isGiven: true }, stopping, options);
  } finally {
    await given.dispose();
  }
}

async function read(
  source: FeedSource,
  file: { readonly path: string; readonly version: string; readonly from?: string; readonly isGiven: boolean },
  stopping: AbortSignal,
  { database, broker, clock, onRead }: FeedsOptions,
): Promise<void> {
  const { name, format, mapping } = source;
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
}

function isOlder(at: string | undefined, ageMs: number, { clock }: FeedsOptions): boolean {
  return at === undefined || clock().getTime() - Date.parse(at) >= ageMs;
}

/** It has given no file for twice its interval. */
function isSilent({ gaveAt }: SourceReport, { everyMs }: FeedSource, options: FeedsOptions): boolean {
  return isOlder(gaveAt, 2 * everyMs, options);
}

interface DownloadOptions extends Omit<ConnectorOptions, 'connectTimeoutMs'> {
  readonly stopping: AbortSignal;
  readonly timeoutMs?: number;
  readonly bytesMax?: number;
}

interface Download {
  readonly path: string;
  /** The server's version of the file; sent with the next request. */
  readonly version: string;
  dispose(): Promise<void>;
}

const REDIRECTS_MAX = 5;
const TIMEOUT_MS = 600_000;
const SILENCE_MS = 30_000;
const BYTES_MAX = 1_024 ** 3;

/**
 * Downloads a source's file to disk, bounded in size, time and redirects. Every address, redirects included, must be
 * public: agencies name them, and must not reach the internal network. Null: the file still has `version`. Throws
 * `SnapshotRefusedError` with the reason for a failure.
 */
export async function download(
  url: string,
  version: string | null,
  options: DownloadOptions,
): Promise<Download | null> {
  const { stopping, timeoutMs = TIMEOUT_MS } = options;
  const connect = createConnector({ connectTimeoutMs: SILENCE_MS, ...options });
  const agent = new Agent({ connect, headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS });
  const dispatcher = agent.compose(interceptors.redirect({ maxRedirections: REDIRECTS_MAX }));
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]);
  try {
    const headers = { 'user-agent': 'Vigie', ...conditionsOf(version) };
    const answer = await request(url, { dispatcher, signal, headers });
    const { statusCode } = answer;
    if (statusCode === 200) return await keep(answer, options.bytesMax ?? BYTES_MAX, signal);
    if (statusCode === 304) return null;
    throw new Error(statusCode < 400 ? `it redirects more than ${REDIRECTS_MAX} times` : `it answers ${statusCode}`);
  } catch (cause) {
    stopping.throwIfAborted();
    const reason = signal.aborted ? `it took longer than ${timeoutMs} ms` : (cause as Error).message;
    throw new SnapshotRefusedError(`${url} cannot be fetched: ${reason}`, { cause });
  } finally {
    await agent.destroy();
  }
}

/** `versionOf` creates versions. */
function conditionsOf(version: string | null): Record<string, string> {
  const { etag, modified } = JSON.parse(version ?? '{}') as { etag?: string; modified?: string };
  return { ...(etag && { 'if-none-match': etag }), ...(modified && { 'if-modified-since': modified }) };
}

function versionOf({ headers: { etag, 'last-modified': modified } }: Dispatcher.ResponseData): string {
  return JSON.stringify({ etag, modified });
}

async function keep(answer: Dispatcher.ResponseData, bytesMax: number, signal: AbortSignal): Promise<Download> {
  const directory = await mkdtemp(join(tmpdir(), 'vigie-feed-'));
  const path = join(directory, 'snapshot');
  const dispose = () => rm(directory, { recursive: true, force: true });
  async function* bounded(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
      yield chunk;
    }
  }
  try {
    await pipeline(answer.body, bounded, createWriteStream(path, { mode: 0o600 }), { signal });
    return { path, version: versionOf(answer), dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

export interface FeedSource {
  readonly name: string;
  readonly format: FormatName;
  /** The path of its mapping. */
  readonly mapping: string | null;
  /** A file, or a folder whose newest file counts; null: `url`. */
  readonly path: string | null;
  readonly url: string | null;
  /** The interval of its snapshots; an address is requested as often. */
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
const url = z.url({ protocol: /^https?$/, error: 'must be an address that begins with https://' });
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
    'mapping goes with the format mapping',
  );
const file = z.record(z.string().refine(isSourceName, SOURCE_RULE), source);

/**
 * The file of sources for the role `feeds` (`VIGIE_FEEDS_FILE`). Relative paths are relative to the file. Throws
 * `FeedsFileError` that names every error.
 */
export function readFeedsFile(path: string): readonly FeedSource[] {
  let sent: unknown;
  try {
    sent = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new FeedsFileError(`VIGIE_FEEDS_FILE: ${path}: ${(cause as Error).message}`, { cause });
  }
  const parsed = file.safeParse(sent);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path: at, message }) => `  ${at.join('.')} ${message}`);
    throw new FeedsFileError([`VIGIE_FEEDS_FILE: ${path}:`, ...faults].join('\n'));
  }
  const absolute = (named: string | undefined) => (named === undefined ? null : resolve(dirname(path), named));
  return Object.entries(parsed.data).map(([name, { every: everyMs, format, ...rest }]) => ({
    name,
    everyMs,
    format,
    url: rest.url ?? null,
    mapping: absolute(rest.mapping),
    path: absolute(rest.path),
  }));
}
