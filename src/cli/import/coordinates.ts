/**
 * `vigie import coordinates FILE`: commune centres from La Poste's or geo.api.gouv.fr's file, all or nothing. They go
 * before those of the reference packages at once, in every daemon that runs.
 */

import { type CoordinateRow, readCoordinateRows } from './coordinate-rows.ts';
import { ImportFileError, openImportFile } from './import-file.ts';

export interface ImportedCentre {
  readonly lat: number;
  readonly lon: number;
}

export interface CoordinateImportParts {
  /** Whether there is such a commune or arrondissement today. */
  readonly isCommune: (insee: string) => boolean;
  /** Stores the centres, and no others, all or nothing (store/commune-coordinates.ts). */
  readonly replaceCoordinates: (coordinates: ReadonlyMap<string, ImportedCentre>) => Promise<void>;
  readonly onProgress?: (progress: CoordinateImportProgress) => void;
}

interface CoordinateImportProgress {
  /** Of the file on disk. */
  readonly bytesRead: number;
  readonly bytesTotal: number;
  readonly read: number;
}

export interface CoordinateImportResult {
  /** Rows or features. */
  readonly read: number;
  /** Communes that have a centre now. */
  readonly imported: number;
  /** Rows left out, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
}

/** Throws `ImportFileError` when the file is not what it should be, or names no commune; then nothing has changed. */
export async function importCoordinates(
  path: string,
  { isCommune, replaceCoordinates, onProgress = () => undefined }: CoordinateImportParts,
): Promise<CoordinateImportResult> {
  const file = await openImportFile(path);
  const centres = new Map<string, CentreSum>();
  const skipped = { 'no commune of today': 0, 'no coordinates': 0 };
  let read = 0;
  let bytesRead = 0;
  const onRow = (row: CoordinateRow) => {
    read++;
    const insee = inseeOf(row.insee);
    if (!isCommune(insee)) skipped['no commune of today']++;
    else if (row.centre === null) skipped['no coordinates']++;
    else addRow(centres, insee, row, row.centre);
  };
  await readCoordinateRows(file, onRow, (count) => {
    bytesRead += count;
    onProgress({ bytesRead, bytesTotal: file.sizeBytes, read });
  });
  if (centres.size === 0) throw new ImportFileError(`${path} holds no coordinates of a commune`);
  await replaceCoordinates(new Map([...centres].map(([insee, sum]) => [insee, meanOf(sum)])));
  return { read, imported: centres.size, skipped };
}

/** Spreadsheets eat the leading zero. */
function inseeOf(code: string): string {
  return code.trim().toUpperCase().padStart(5, '0');
}

/** A commune may have several rows: the mean of those that speak for all of it, else of its parts. */
interface CentreSum {
  readonly isPart: boolean;
  lat: number;
  lon: number;
  rows: number;
}

function addRow(
  centres: Map<string, CentreSum>,
  insee: string,
  { isPart }: CoordinateRow,
  centre: ImportedCentre,
): void {
  const sum = centres.get(insee);
  if (sum === undefined || (sum.isPart && !isPart)) {
    centres.set(insee, { isPart, ...centre, rows: 1 });
  } else if (sum.isPart === isPart) {
    sum.lat += centre.lat;
    sum.lon += centre.lon;
    sum.rows++;
  }
}

function meanOf({ lat, lon, rows }: CentreSum): ImportedCentre {
  return { lat: lat / rows, lon: lon / rows };
}
