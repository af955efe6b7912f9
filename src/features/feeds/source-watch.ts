/**
 * The role `feeds`: looks at its sources every few seconds, and reads what they give. A file is read when it has stood
 * still for a minute, for it is pushed while we look; an address is asked as often as its source gives something. One
 * source after the other, so that one snapshot at a time is in memory.
 */

import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Agent, type Dispatcher, interceptors, request } from 'undici';
import { startTask, type Task } from '../../engine/actor/task.ts';
import type { Broker } from '../../engine/broker/connection.ts';
import { type ConnectorOptions, createConnector } from '../../engine/delivery/connector.ts';
import type { Database } from '../../engine/store/database.ts';
import { SnapshotRefusedError } from './feed-row.ts';
import { openFormat } from './formats.ts';
import { readSource, SourceBusyError, type SourceReport, writeReport } from './publications.ts';
import { readOnce } from './reading.ts';
import { REPUBLISHED_AFTER_MS, type SnapshotOutcome } from './snapshot.ts';
import { newestFile } from './snapshot-file.ts';
import type { FeedSource } from './sources.ts';

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
  readonly lookEveryMs?: number;
  /** How long a file has to stand still. */
  readonly settledAfterMs?: number;
}

const LOOK_EVERY_MS = 5_000;
const SETTLED_AFTER_MS = 60_000;

/** Each source is known to operators from the start. */
export async function startFeeds(options: FeedsOptions): Promise<Task> {
  const { database, sources, onTransientError, onRefused, lookEveryMs: everyMs = LOOK_EVERY_MS } = options;
  for (const { name } of sources) await writeReport(database, name, {});
  const isSettled = createSettling(options);
  return startTask({
    ...{ what: 'feeds', everyMs, isDueAtOnce: true, onTransientError },
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

/** By this process's clock: what a file says of its time is its writer's. */
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
  else await lookAtFile(source, source.path, known, isSettled, stopping, options);
}

async function lookAtFile(
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
  // What lies there unchanged is shown for as long as the source is not silent.
  const isShown = isOlder(known.readAt, REPUBLISHED_AFTER_MS, options) && !isSilent(known, source, options);
  if (isNew || isAsked || isShown) await read(source, { ...found, isGiven: isNew }, stopping, options);
}

async function askAddress(source: FeedSource, known: SourceReport, stopping: AbortSignal, options: FeedsOptions) {
  const { database, allowPrivateNetworks, clock } = options;
  if (!known.requestedAt && !isOlder(known.lookedAt, source.everyMs, options)) return;
  const url = source.url as string;
  // Asked without conditions, it gives what is to be shown again.
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
    ...{ database, broker, clock, stopping, source: name, isAll: false, isForced: false },
    ...file,
    format: () => openFormat(format, mapping, name),
  });
  onRead(name, outcome);
}

function isOlder(at: string | undefined, ageMs: number, { clock }: FeedsOptions): boolean {
  return at === undefined || clock().getTime() - Date.parse(at) >= ageMs;
}

/** It has given nothing for twice its interval. */
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
  /** By what the server knows this version of the file; given back when it is asked again. */
  readonly version: string;
  dispose(): Promise<void>;
}

const REDIRECTS_MAX = 5;
const TIMEOUT_MS = 600_000;
const SILENCE_MS = 30_000;
const BYTES_MAX = 1_024 ** 3;

/**
 * Fetches a source's file to disk, bounded in size, time and redirects. Every address, also one that it is redirected
 * to, must be public: an agency names them, and must not reach what lies inside. Null: the file is still the one of
 * `version`. Throws `SnapshotRefusedError` that says why there is none.
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

/** A version is what `versionOf` has made. */
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
