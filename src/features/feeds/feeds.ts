/**
 * The role `feeds`: looks at its sources every few seconds, and reads what they give. A file is read when it has stood
 * still for a minute, for it is pushed while we look; an address is asked as often as its source gives something. One
 * source after the other, so that one snapshot at a time is in memory.
 */

import { startTask, type Task } from '../../engine/actor/task.ts';
import type { Broker } from '../../engine/broker/connection.ts';
import type { Database } from '../../engine/store/database.ts';
import { download } from './download.ts';
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
  readonly onTrouble: (what: string, error: Error) => void;
  readonly lookEveryMs?: number;
  /** How long a file has to stand still. */
  readonly settledAfterMs?: number;
}

const LOOK_EVERY_MS = 5_000;
const SETTLED_AFTER_MS = 60_000;

/** Each source is known to operators from the start. */
export async function startFeeds(options: FeedsOptions): Promise<Task> {
  const { database, sources, onTrouble, onRefused, lookEveryMs: everyMs = LOOK_EVERY_MS } = options;
  for (const { name } of sources) await writeReport(database, name, {});
  const isSettled = createSettling(options);
  return startTask({
    ...{ what: 'feeds', everyMs, isDueAtOnce: true, onTrouble },
    async work(stopping) {
      for (const source of sources) {
        if (stopping.aborted) return;
        await lookAt(source, isSettled, stopping, options).catch((error: Error) => {
          if (stopping.aborted || error instanceof SourceBusyError) return;
          if (error instanceof SnapshotRefusedError) onRefused(source.name, error.message);
          else onTrouble(`feed ${source.name}`, error);
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
