/** `vigie import`: reads a file into the database, with progress, and sums up what became of it. */

import { loadReference } from '../../engine/reference/communes.ts';
import { replaceCommuneCoordinates } from '../../engine/store/commune-coordinates.ts';
import type { Database } from '../../engine/store/database.ts';
import { isDatabaseOutage } from '../../engine/store/outage.ts';
import { replacePointSource } from '../../engine/store/points-of-interest.ts';
import { startProgress } from '../progress.ts';
import { InterruptedError } from '../stop-signal.ts';
import { CommandError, print } from '../terminal.ts';
import { importCoordinates } from './coordinates.ts';
import { POINT_FORMATS, type PointFormat } from './point-formats.ts';
import { importPointsOfInterest } from './points-of-interest.ts';

/** Empty where nothing was said. */
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

/** `announce`: tells the daemons, once the centres are stored. Throws as `importPointFile` does. */
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

/** Shows how far `work` is, and breaks it off where it tells so: before its transaction has ended. */
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

/** It was away, refused, or gave the transaction up. */
function tooBusy(path: string, cause: Error): CommandError {
  const found = `PostgreSQL gave the import of ${path} up (${cause.message}): nothing is imported, and what was there stays`;
  return new CommandError(`${found}. Run the same command again when it is less busy`);
}

function printSkipped(skipped: Readonly<Record<string, number>>): void {
  for (const [reason, count] of Object.entries(skipped)) print(`  left out, ${reason}: ${count}`);
}
