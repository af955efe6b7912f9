/** `vigie import`: reads a file into the database, with progress, and sums up what became of it. */

import { loadReference } from '../reference/communes.ts';
import { replaceCommuneCoordinates } from '../store/commune-coordinates.ts';
import type { Database } from '../store/database.ts';
import { replacePointSource } from '../store/points-of-interest.ts';
import { POINT_FORMATS, type PointFormat } from './import/point-formats.ts';
import { importCoordinates } from './import-coordinates.ts';
import { importPointsOfInterest } from './import-points-of-interest.ts';
import { CommandError, print } from './terminal.ts';

export interface PointFileOptions {
  readonly source: string | undefined;
  readonly format: string | undefined;
}

/** Throws `ImportFileError` or `CommandError`; nothing is imported then. */
export async function importPointFile(database: Database, path: string, options: PointFileOptions): Promise<void> {
  const { source, format } = options;
  if (format !== undefined && !POINT_FORMATS.includes(format as PointFormat)) {
    throw new CommandError(`no format ${format}; there are ${POINT_FORMATS.join(', ')}`);
  }
  const result = await importPointsOfInterest(
    {
      path,
      ...(source === undefined ? {} : { source }),
      ...(format === undefined ? {} : { format: format as PointFormat }),
    },
    {
      replaceSource: (name, batches) => replacePointSource(database, name, batches),
      onProgress: showProgress(),
    },
  );
  print(`source ${result.source} (${result.format}): ${result.imported} points of ${result.read} objects`);
  for (const [facility, count] of Object.entries(result.kept)) print(`  ${facility}: ${count}`);
  for (const [reason, count] of Object.entries(result.skipped)) print(`  left out, ${reason}: ${count}`);
}

/** `announce`: tells the daemons, once the centres are stored. Throws `ImportFileError`; nothing is imported then. */
export async function importCoordinateFile(
  database: Database,
  path: string,
  announce: () => Promise<void>,
): Promise<void> {
  const reference = await loadReference();
  const result = await importCoordinates(path, {
    isCommune: (insee) => reference.city(insee)?.insee === insee,
    replaceCoordinates: (coordinates) => replaceCommuneCoordinates(database, coordinates),
    onProgress: showProgress(),
  });
  await announce();
  print(`${result.imported} communes from ${result.read} rows`);
  for (const [reason, count] of Object.entries(result.skipped)) print(`  left out, ${reason}: ${count}`);
}

/** One line each tenth of the file. */
function showProgress(): (progress: { readonly bytesRead: number; readonly bytesTotal: number; read: number }) => void {
  let shown = 0;
  return ({ bytesRead, bytesTotal, read }) => {
    const tenth = Math.floor((10 * bytesRead) / Math.max(1, bytesTotal));
    if (tenth === shown) return;
    shown = tenth;
    process.stderr.write(`${tenth * 10} % of the file, ${read} objects\n`);
  };
}
