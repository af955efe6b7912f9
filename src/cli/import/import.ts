/** `vigie import points-of-interest`: imports a file into the database, shows the progress, and prints a summary. */

import { basename } from 'node:path';
import type { Database } from '../../engine/store/database.ts';
import { isDatabaseOutage } from '../../engine/store/outage.ts';
import { replacePointSource } from '../../engine/store/points-of-interest.ts';
import { startProgress } from '../progress.ts';
import { CommandError, InterruptedError, print } from '../terminal.ts';
import { STANDARD_INPUT } from './import-file.ts';
import { createTally, POINT_FORMATS, type PointFormat, readPoints } from './point-formats.ts';

/**
 * Replaces the points of one source with those of a file. Other sources keep their points, and a running service loads
 * the change. Imports nothing if it throws `ImportFileError`, `CommandError` or, when interrupted, `InterruptedError`.
 */
export async function importPointFile(
  database: Database,
  path: string,
  { source, format }: { readonly source: string; readonly format: string },
  stopping: AbortSignal,
): Promise<void> {
  if (format !== '' && !POINT_FORMATS.includes(format as PointFormat)) {
    throw new CommandError(`Unknown format ${format}. The formats are ${POINT_FORMATS.join(', ')}.`);
  }
  const tally = createTally(format as PointFormat | '');
  const name = source || sourceName(path);
  const doing = `importing ${path}`;
  const progress = startProgress(doing, 'objects');
  // A pipe may be silent for a long time, during which no progress is reported.
  if (path === STANDARD_INPUT) stopping.addEventListener('abort', () => void process.stdin.destroy(), { once: true });
  // Interrupts only at a progress report, so before the transaction has ended.
  const onProgress = (): void => {
    stopping.throwIfAborted();
    progress.update({ doing, count: tally.read, share: tally.share });
  };
  let imported: number;
  try {
    imported = await replacePointSource(database, name, readPoints(path, tally, onProgress));
  } catch (error) {
    if (!stopping.aborted) throw isDatabaseOutage(error) ? tooBusy(path, error as Error) : error;
    throw new InterruptedError(stopping, `${tally.read} objects were read, and nothing was imported.`);
  } finally {
    progress.end();
  }
  print(`source ${name} (${tally.format}): ${imported} points of ${tally.read} objects`);
  for (const [facility, count] of Object.entries(tally.kept)) print(`  ${facility}: ${count}`);
  for (const [reason, count] of Object.entries(tally.skipped)) print(`  left out, ${reason}: ${count}`);
}

/** PostgreSQL was unavailable, refused a connection, or cancelled the transaction. */
function tooBusy(path: string, cause: Error): CommandError {
  const found = `PostgreSQL did not complete the import of ${path} (${cause.message}).`;
  const remedy = 'Nothing was imported, and the former points remain. Repeat the command when PostgreSQL is less busy.';
  return new CommandError(`${found} ${remedy}`);
}

/** The file name without its extensions. */
function sourceName(path: string): string {
  const name = basename(path);
  return name.slice(0, name.search(/(?:\.(?:gz|osm|json|geojson|geojsonseq|csv)){0,3}$/i)) || name;
}
