/**
 * `vigie import points-of-interest FILE`: makes the places of a file the points of one source, all or nothing. Importing
 * the source again replaces them; other sources stay. A running service takes up the change by itself.
 */

import { basename } from 'node:path';
import type { PointOfInterest } from '../../engine/domain/point-of-interest.ts';
import { ImportFileError, openImportFile } from './import-file.ts';
import { ImportTally, type PointImportSummary } from './import-tally.ts';
import { detectPointFormat, type PointFormat, readPointFile } from './point-formats.ts';

export interface PointImportOptions {
  readonly path: string;
  /** Default: the name of the file without its endings, so that next month's file can be given this month's name. */
  readonly source?: string;
  /** Default: told by the first bytes. */
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

export interface PointImportParts {
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

/** Throws `ImportFileError` when the file is not what it should be, or holds no point; then nothing has changed. */
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

/** A file without a single point is more likely the wrong file than a wish to clear the source. */
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
