/** `vigie import`: reads a file into the database, with progress, and reports a summary. */

import { basename } from 'node:path';
import type { PointOfInterest } from '../../engine/domain/point-of-interest.ts';
import { loadReference } from '../../engine/reference/communes.ts';
import { replaceCommuneCoordinates } from '../../engine/store/commune-coordinates.ts';
import type { Database } from '../../engine/store/database.ts';
import { isDatabaseOutage } from '../../engine/store/outage.ts';
import { replacePointSource } from '../../engine/store/points-of-interest.ts';
import { startProgress } from '../progress.ts';
import { CommandError, InterruptedError, print } from '../terminal.ts';
import { importCoordinates } from './coordinates.ts';
import { ImportTally, type PointImportSummary } from './facility-tags.ts';
import { ImportFileError, openImportFile } from './import-file.ts';
import { detectPointFormat, POINT_FORMATS, type PointFormat, readPointFile } from './point-formats.ts';

/** Empty when absent. */
export interface PointFileOptions {
  readonly source: string;
  readonly format: string;
}

interface FileProgress {
  /** Of several passes over the file, from 1. */
  readonly pass?: number;
  readonly bytesRead: number;
  readonly bytesTotal: number;
  /** Objects. */
  readonly read: number;
}

/** Throws `ImportFileError`, `CommandError` or, when `stopping` is aborted, `InterruptedError`; nothing is imported then. */
export async function importPointFile(
  database: Database,
  path: string,
  { source, format }: PointFileOptions,
  stopping: AbortSignal,
): Promise<void> {
  if (format !== '' && !POINT_FORMATS.includes(format as PointFormat)) {
    throw new CommandError(`no format ${format}; there are ${POINT_FORMATS.join(', ')}`);
  }
  const options = {
    path,
    ...(source === '' ? {} : { source }),
    ...(format === '' ? {} : { format: format as PointFormat }),
  };
  const result = await reading(path, stopping, (onProgress) =>
    importPointsOfInterest(options, {
      replaceSource: (name, batches) => replacePointSource(database, name, batches),
      onProgress,
    }),
  );
  print(`source ${result.source} (${result.format}): ${result.imported} points of ${result.read} objects`);
  for (const [facility, count] of Object.entries(result.kept)) print(`  ${facility}: ${count}`);
  printSkipped(result.skipped);
}

/** `announce`: notifies the daemons, once the centres are stored. Throws like `importPointFile`. */
export async function importCoordinateFile(
  database: Database,
  path: string,
  announce: () => Promise<void>,
  stopping: AbortSignal,
): Promise<void> {
  const reference = await loadReference();
  const result = await reading(path, stopping, (onProgress) =>
    importCoordinates(path, {
      isCommune: (insee) => reference.city(insee)?.insee === insee,
      replaceCoordinates: (coordinates) => replaceCommuneCoordinates(database, coordinates),
      onProgress,
    }),
  );
  await announce();
  print(`${result.imported} communes from ${result.read} rows`);
  printSkipped(result.skipped);
}

/** Shows the progress of `work`, and interrupts it at a progress report: before its transaction has ended. */
async function reading<T>(
  path: string,
  stopping: AbortSignal,
  work: (onProgress: (progress: FileProgress) => void) => Promise<T>,
): Promise<T> {
  const progress = startProgress(`importing ${path}`, 'objects');
  let count = 0;
  try {
    return await work(({ pass = 1, bytesRead, bytesTotal, read }) => {
      stopping.throwIfAborted();
      count = read;
      const doing = pass === 1 ? `importing ${path}` : `importing ${path}, pass ${pass}`;
      progress.tell({ doing, count, share: bytesRead / Math.max(1, bytesTotal) });
    });
  } catch (error) {
    if (!stopping.aborted) throw isDatabaseOutage(error) ? tooBusy(path, error as Error) : error;
    throw new InterruptedError(stopping, `${count} objects were read, nothing is imported`);
  } finally {
    progress.end();
  }
}

/** PostgreSQL was away, refused, or cancelled the transaction. */
function tooBusy(path: string, cause: Error): CommandError {
  const found = `PostgreSQL gave the import of ${path} up (${cause.message}): nothing is imported, and what was there stays`;
  return new CommandError(`${found}. Run the same command again when it is less busy`);
}

function printSkipped(skipped: Readonly<Record<string, number>>): void {
  for (const [reason, count] of Object.entries(skipped)) print(`  left out, ${reason}: ${count}`);
}

interface PointImportOptions {
  readonly path: string;
  /** Default: the name of the file without its extensions, so that next month's file can get this month's name. */
  readonly source?: string;
  /** Default: recognised by the first bytes. */
  readonly format?: PointFormat;
}

export interface PointImportProgress {
  /** OpenStreetMap files are read up to three times. */
  readonly pass: number;
  /** Of the file on disk, in this pass. */
  readonly bytesRead: number;
  readonly bytesTotal: number;
  /** Objects looked at, in all. */
  readonly read: number;
}

interface PointImportParts {
  /** Stores the batches as the points of `source`, all or nothing (store/points-of-interest.ts). */
  readonly replaceSource: (source: string, batches: AsyncIterable<readonly PointOfInterest[]>) => Promise<number>;
  /** Called for every few hundred kilobytes. */
  readonly onProgress?: (progress: PointImportProgress) => void;
}

export interface PointImportResult extends PointImportSummary {
  readonly source: string;
  readonly format: PointFormat;
  /** Points the source has now. */
  readonly imported: number;
}

/**
 * Replaces the points of one source by those of a file; other sources stay, and a running service loads the change by
 * itself. Throws `ImportFileError` when the file has the wrong content, or no point; then nothing has changed.
 */
export async function importPointsOfInterest(
  options: PointImportOptions,
  { replaceSource, onProgress = () => undefined }: PointImportParts,
): Promise<PointImportResult> {
  const file = await openImportFile(options.path);
  const format = options.format ?? detectPointFormat(file);
  const source = options.source ?? sourceName(options.path);
  const tally = new ImportTally();
  let pass = 0;
  let bytesRead = 0;
  const batches = readPointFile(file, format, tally, {
    onPass() {
      pass++;
      bytesRead = 0;
    },
    onBytes(count) {
      bytesRead += count;
      onProgress({ pass, bytesRead, bytesTotal: file.sizeBytes, read: tally.read });
    },
  });
  const imported = await replaceSource(source, refuseNone(batches, options.path));
  return { source, format, imported, ...tally.summary() };
}

/** A file without a single point is more likely the wrong file than the wish to remove all points of the source. */
async function* refuseNone(
  batches: AsyncIterable<readonly PointOfInterest[]>,
  path: string,
): AsyncGenerator<readonly PointOfInterest[]> {
  let count = 0;
  for await (const batch of batches) {
    count += batch.length;
    if (batch.length > 0) yield batch;
  }
  if (count === 0) throw new ImportFileError(`${path} holds no point of interest`);
}

function sourceName(path: string): string {
  const name = basename(path);
  return name.slice(0, name.search(/(?:\.(?:gz|osm|pbf|json|geojson|csv))*$/i)) || name;
}
