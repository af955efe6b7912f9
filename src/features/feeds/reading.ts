/** One reading of a source: its file through its format into a snapshot, and what came of it into the source's report. */

import type { FeedFormat } from './feed-row.ts';
import { SnapshotRefusedError } from './feed-row.ts';
import { type SourceReport, withSource, writeReport } from './publications.ts';
import { type SnapshotOptions, type SnapshotOutcome, takeSnapshot } from './snapshot.ts';
import { openSnapshot } from './snapshot-file.ts';

export interface Reading extends Omit<SnapshotOptions, 'onProgress'> {
  /** Throws `SnapshotRefusedError` when it cannot work. */
  readonly format: () => Promise<FeedFormat>;
  /** Of the file. */
  readonly path: string;
  /** Where it came from, for operators; the path unless said. */
  readonly from?: string;
  /** What distinguishes it from the one before; the file's own unless said. */
  readonly version?: string;
  /** False: the source gave it before. */
  readonly isGiven?: boolean;
  /** `share`: of the file, 0 to 1; null while it is published. */
  readonly onProgress?: (doing: string, count: number, share: number | null) => void;
}

/** Throws `SnapshotRefusedError`, `SourceBusyError`, and what the file, PostgreSQL and NATS fail with. */
export function readOnce(reading: Reading): Promise<SnapshotOutcome> {
  const { database, source } = reading;
  return withSource(database, source, async () => {
    try {
      return await readFile(reading);
    } catch (error) {
      const { version } = reading;
      if (error instanceof SnapshotRefusedError) await report(reading, { version, refusal: error.message });
      throw error;
    }
  });
}

async function readFile(reading: Reading): Promise<SnapshotOutcome> {
  const { path, onProgress } = reading;
  const format = await reading.format();
  const file = await openSnapshot(path);
  try {
    const outcome = await takeSnapshot(
      { rows: () => format(file.content()), hash: file.hash },
      {
        ...reading,
        onProgress: (doing, count) => onProgress?.(doing, count, doing.startsWith('reading') ? file.shareRead() : null),
      },
    );
    const { counts, complaints, notices } = outcome;
    const version = reading.version ?? file.version;
    await report(reading, { version, counts, complaints, notices, refusal: null });
    return outcome;
  } finally {
    await file.close();
  }
}

async function report(reading: Reading, rest: SourceReport): Promise<void> {
  const { database, broker, source, path, from = path, isGiven = true, clock } = reading;
  if (broker === null) return;
  const at = clock().toISOString();
  const when = { lookedAt: at, readAt: at, requestedAt: null, ...(isGiven && { gaveAt: at }) };
  await writeReport(database, source, { ...when, from, ...rest });
}
