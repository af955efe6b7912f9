/** Reads a source once: parses its file into a snapshot, publishes it, and stores the results in its report. */

import { readFile, stat } from 'node:fs/promises';
import { type FeedFormat, SnapshotRefusedError } from './feed-row.ts';
import { readMapped } from './mapped-files.ts';
import { parseMapping } from './mapping.ts';
import { createNumberReader } from './numbers.ts';
import { readPoliris } from './poliris.ts';
import { type SourceReport, withSource, writeReport } from './publications.ts';
import { publishSnapshot, type SnapshotOptions } from './snapshot.ts';
import { openSnapshot } from './snapshot-file.ts';
import type { SnapshotOutcome } from './tally.ts';

export interface Reading extends Omit<SnapshotOptions, 'onProgress'> {
  /** Throws `SnapshotRefusedError` if the format or its mapping is invalid. */
  readonly format: () => Promise<FeedFormat>;
  readonly path: string;
  /** Origin shown to operators; default: the path. */
  readonly from?: string;
  /** Identifies this version of the file; default: derived from the file. */
  readonly version?: string;
  /** False if the source gave the same file before. */
  readonly isGiven?: boolean;
  /** Called with the number of bytes of the file read so far. */
  readonly onBytes?: (bytes: number) => void;
  /** `share`: part of the file that has been read, 0 to 1; null during publication. */
  readonly onProgress?: (doing: string, count: number, share: number | null) => void;
}

/** Throws `SnapshotRefusedError`, `SourceBusyError`, and errors of the file system, PostgreSQL and NATS. */
export function readOnce(reading: Reading): Promise<SnapshotOutcome> {
  const { database, source } = reading;
  return withSource(database, source, reading.stopping, async (stopping) => {
    try {
      return await readSnapshotFile({ ...reading, stopping });
    } catch (error) {
      const { version } = reading;
      if (error instanceof SnapshotRefusedError) await report(reading, { version, refusal: error.message });
      throw error;
    }
  });
}

async function readSnapshotFile(reading: Reading): Promise<SnapshotOutcome> {
  const { path, onProgress } = reading;
  const format = await reading.format();
  const file = await openSnapshot(path);
  try {
    const outcome = await publishSnapshot(
      { rows: (habits) => format(file.content(), habits), hash: file.hash },
      {
        ...reading,
        onProgress(doing, count) {
          reading.onBytes?.(file.bytesRead());
          onProgress?.(doing, count, doing.startsWith('reading') ? file.shareRead() : null);
        },
      },
    );
    const { gone: _, ...brought } = outcome;
    await report(reading, { ...brought, version: reading.version ?? file.version, refusal: null });
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

export const FORMATS = ['poliris', 'mapping'] as const;
export type FormatName = (typeof FORMATS)[number];

const MAPPING_BYTES_MAX = 1_024 * 1_024;

/** `mapping`: path of the mapping file, for the format `mapping`. Throws `SnapshotRefusedError` if it is invalid. */
export async function openFormat(name: FormatName, mapping: string | null, source: string): Promise<FeedFormat> {
  if (name === 'poliris')
    return (bytes, habits) => {
      const numbers = createNumberReader(habits);
      return { rows: readPoliris(bytes, source, numbers), numbers };
    };
  if (mapping === null)
    throw new SnapshotRefusedError('The format "mapping" needs a mapping. Give the path of a mapping file.');
  const { size } = await stat(mapping);
  if (size > MAPPING_BYTES_MAX) throw new SnapshotRefusedError(`${mapping} has more than ${MAPPING_BYTES_MAX} bytes.`);
  const parsed = parseMapping(await readFile(mapping, 'utf8'), mapping);
  return (bytes, habits) => {
    const numbers = createNumberReader(habits, parsed.decimal);
    return { rows: readMapped(bytes, parsed, numbers), numbers };
  };
}

const SOURCE_NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const SOURCE_LENGTH_MAX = 64;
export const SOURCE_RULE = `must have only lower-case letters, digits and inner hyphens, at most ${SOURCE_LENGTH_MAX}`;

export function isSourceName(name: string): boolean {
  return name.length <= SOURCE_LENGTH_MAX && SOURCE_NAME.test(name);
}
