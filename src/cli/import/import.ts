/** `vigie import`: imports a file into the database, shows the progress, and prints a summary. */

import { basename } from 'node:path';
import type { PointOfInterest } from '../../engine/domain/point-of-interest.ts';
import type { Database } from '../../engine/store/database.ts';
import { isDatabaseOutage } from '../../engine/store/outage.ts';
import { replacePointSource } from '../../engine/store/points-of-interest.ts';
import { startProgress } from '../progress.ts';
import { CommandError, InterruptedError, print } from '../terminal.ts';
import { ImportFileError, openImportFile, STANDARD_INPUT } from './import-file.ts';
import {
  detectPointFormat,
  ImportTally,
  POINT_FORMATS,
  type PointFormat,
  type PointImportSummary,
  readPointFile,
} from './point-formats.ts';

export interface ImportProgress {
  /** The share of the file that has been read; null for standard input. */
  readonly share: number | null;
  /** Number of rows or objects read so far. */
  readonly read: number;
}

type OnProgress = (progress: ImportProgress) => void;

/** If it throws `ImportFileError`, `CommandError` or (when interrupted) `InterruptedError`, nothing is imported. */
export async function importPointFile(
  database: Database,
  path: string,
  { source, format }: { readonly source: string; readonly format: string },
  stopping: AbortSignal,
): Promise<void> {
  if (format !== '' && !POINT_FORMATS.includes(format as PointFormat)) {
    throw new CommandError(`Unknown format ${format}. The formats are ${POINT_FORMATS.join(', ')}.`);
  }
  const options = { path, source, format: format as PointFormat | '' };
  const replaceSource: PointImportParts['replaceSource'] = (name, batches) =>
    replacePointSource(database, name, batches);
  const result = await reading(path, stopping, (onProgress) =>
    importPointsOfInterest(options, { replaceSource, onProgress }),
  );
  print(`source ${result.source} (${result.format}): ${result.imported} points of ${result.read} objects`);
  for (const [facility, count] of Object.entries(result.kept)) print(`  ${facility}: ${count}`);
  printSkipped(result.skipped);
}

/** Shows the progress of `work`. Interrupts `work` only at a progress report, so before its transaction has ended. */
async function reading<T>(
  path: string,
  stopping: AbortSignal,
  work: (onProgress: OnProgress) => Promise<T>,
): Promise<T> {
  const progress = startProgress(`importing ${path}`, 'objects');
  let count = 0;
  // A pipe may be silent for a long time, during which no progress is reported.
  if (path === STANDARD_INPUT) stopping.addEventListener('abort', () => void process.stdin.destroy(), { once: true });
  try {
    return await work(({ share, read }) => {
      stopping.throwIfAborted();
      count = read;
      progress.update({ doing: `importing ${path}`, count, share });
    });
  } catch (error) {
    if (!stopping.aborted) throw isDatabaseOutage(error) ? tooBusy(path, error as Error) : error;
    throw new InterruptedError(stopping, `${count} objects were read, and nothing was imported.`);
  } finally {
    progress.end();
  }
}

/** PostgreSQL was unavailable, refused a connection, or cancelled the transaction. */
function tooBusy(path: string, cause: Error): CommandError {
  const found = `PostgreSQL cancelled the import of ${path} (${cause.message}). Nothing was imported, and the former points remain`;
  return new CommandError(`${found}. Repeat the command when PostgreSQL is less busy.`);
}

function printSkipped(skipped: Readonly<Record<string, number>>): void {
  for (const [reason, count] of Object.entries(skipped)) print(`  left out, ${reason}: ${count}`);
}

interface PointImportOptions {
  readonly path: string;
  /** Default: the file name without its extensions. Importing another file with the same source replaces its points. */
  readonly source?: string;
  /** If absent or empty, the format is detected from the first bytes. */
  readonly format?: PointFormat | '';
}

interface PointImportParts {
  /** Stores all batches as the points of `source`, or none (store/points-of-interest.ts). */
  readonly replaceSource: (source: string, batches: AsyncIterable<readonly PointOfInterest[]>) => Promise<number>;
  /** Called for every few hundred kilobytes. */
  readonly onProgress?: OnProgress;
}

export interface PointImportResult extends PointImportSummary {
  readonly source: string;
  readonly format: PointFormat;
  /** The number of points that the source now has. */
  readonly imported: number;
}

/**
 * Replaces the points of one source with those of a file. Other sources keep their points, and a running service loads
 * the change. Throws `ImportFileError`, and changes nothing, if the file has invalid content or no points.
 */
export async function importPointsOfInterest(
  options: PointImportOptions,
  { replaceSource, onProgress = () => undefined }: PointImportParts,
): Promise<PointImportResult> {
  const tally = new ImportTally();
  let share: number | null = null;
  const report = (): void => onProgress({ share, read: tally.read });
  const file = await openImportFile(options.path, (read) => {
    share = read;
    report();
  });
  const format = options.format || detectPointFormat(file);
  const source = options.source || sourceName(options.path);
  const batches = readPointFile(file, format, tally);
  const imported = await replaceSource(source, refuseNone(batches, options.path, report));
  return { source, format, imported, ...tally.summary() };
}

/**
 * Refuses a file without points, because this is more likely a wrong file than a request to remove all points of the
 * source. `onEnd` is called when the last batch is stored, before the transaction ends; it may throw.
 */
async function* refuseNone(
  batches: AsyncIterable<readonly PointOfInterest[]>,
  path: string,
  onEnd: () => void,
): AsyncGenerator<readonly PointOfInterest[]> {
  let count = 0;
  for await (const batch of batches) {
    count += batch.length;
    if (batch.length > 0) yield batch;
  }
  if (count === 0) throw new ImportFileError(`${path} contains no point of interest. The former points remain.`);
  onEnd();
}

function sourceName(path: string): string {
  const name = basename(path);
  return name.slice(0, name.search(/(?:\.(?:gz|osm|json|geojson|geojsonseq|csv)){0,3}$/i)) || name;
}
