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
import {
  type CsvRow,
  csvColumns,
  type ImportFile,
  ImportFileError,
  openImportFile,
  readCsvRows,
  readJsonValues,
  STANDARD_INPUT,
} from './import-file.ts';
import {
  boxCentre,
  detectPointFormat,
  ImportTally,
  type Place,
  POINT_FORMATS,
  type PointFormat,
  type PointImportSummary,
  positionsOf,
  readPointFile,
} from './point-formats.ts';

export interface ImportProgress {
  /** The share of the file; null of standard input. */
  readonly share: number | null;
  /** Rows or objects read, in all. */
  readonly read: number;
}

type OnProgress = (progress: ImportProgress) => void;

/** Throws `ImportFileError`, `CommandError` or, when `stopping` is aborted, `InterruptedError`; nothing is imported then. */
export async function importPointFile(
  database: Database,
  path: string,
  { source, format }: { readonly source: string; readonly format: string },
  stopping: AbortSignal,
): Promise<void> {
  if (format !== '' && !POINT_FORMATS.includes(format as PointFormat)) {
    throw new CommandError(`no format ${format}; there are ${POINT_FORMATS.join(', ')}`);
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
  work: (onProgress: OnProgress) => Promise<T>,
): Promise<T> {
  const progress = startProgress(`importing ${path}`, 'objects');
  let count = 0;
  // What writes to the pipe may say nothing for a long time.
  if (path === STANDARD_INPUT) stopping.addEventListener('abort', () => void process.stdin.destroy(), { once: true });
  try {
    return await work(({ share, read }) => {
      stopping.throwIfAborted();
      count = read;
      progress.update({ doing: `importing ${path}`, count, share });
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
  /** Default, also when empty: recognised by the first bytes. */
  readonly format?: PointFormat | '';
}

interface PointImportParts {
  /** Stores the batches as the points of `source`, all or nothing (store/points-of-interest.ts). */
  readonly replaceSource: (source: string, batches: AsyncIterable<readonly PointOfInterest[]>) => Promise<number>;
  /** Called for every few hundred kilobytes. */
  readonly onProgress?: OnProgress;
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
 * A file without a single point is more likely the wrong file than the wish to remove all points of the source. `onEnd` may
 * throw: it is called after the last batch was stored, before the transaction ends.
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
  if (count === 0) throw new ImportFileError(`${path} holds no point of interest`);
  onEnd();
}

function sourceName(path: string): string {
  const name = basename(path);
  return name.slice(0, name.search(/(?:\.(?:gz|osm|json|geojson|geojsonseq|csv))*$/i)) || name;
}

export interface ImportedCentre {
  readonly lat: number;
  readonly lon: number;
}

interface CoordinateImportParts {
  /** Whether there is such a commune or arrondissement today. */
  readonly isCommune: (insee: string) => boolean;
  /** Stores the centres, and no others, all or nothing (store/commune-coordinates.ts). */
  readonly replaceCoordinates: (coordinates: ReadonlyMap<string, ImportedCentre>) => Promise<void>;
  readonly onProgress?: OnProgress;
}

interface CoordinateImportResult {
  /** Rows or features. */
  readonly read: number;
  /** Communes that have a centre now. */
  readonly imported: number;
  /** Rows left out, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
}

/**
 * CSV as La Poste's "base officielle des codes postaux" has it (one column "lat,lon", several rows a commune) or with a
 * column each; JSON of geo.api.gouv.fr (`centre`), plain or as GeoJSON. Throws `ImportFileError` when the file is not
 * what it should be, or names no commune; then nothing has changed.
 */
export async function importCoordinates(
  path: string,
  { isCommune, replaceCoordinates, onProgress = () => undefined }: CoordinateImportParts,
): Promise<CoordinateImportResult> {
  const centres = new Map<string, CentreSum>();
  const skipped = { 'no commune of today': 0, 'no coordinates': 0 };
  let read = 0;
  const file = await openImportFile(path, (share) => onProgress({ share, read }));
  const onRow = (row: CoordinateRow) => {
    read++;
    const insee = inseeOf(row.insee);
    if (!isCommune(insee)) skipped['no commune of today']++;
    else if (row.centre === null) skipped['no coordinates']++;
    else addRow(centres, insee, row, row.centre);
  };
  await readCoordinateRows(file, onRow);
  if (centres.size === 0) throw new ImportFileError(`${path} holds no coordinates of a commune`);
  await replaceCoordinates(new Map([...centres].map(([insee, sum]) => [insee, meanOf(sum)])));
  return { read, imported: centres.size, skipped };
}

/** Spreadsheets drop the leading zero. */
function inseeOf(code: string): string {
  return code.trim().toUpperCase().padStart(5, '0');
}

/** A commune may have several rows: the mean of its rows for the whole commune, or else of its parts. */
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

interface CoordinateRow {
  /** As the file has it; empty when it has none. */
  readonly insee: string;
  /** Null when the row has no usable coordinates. */
  readonly centre: Place | null;
  /** The row describes a part of the commune (La Poste's fifth address line). */
  readonly isPart: boolean;
}

/** Calls `onRow` for every row or feature. Throws `ImportFileError` when the file has another layout or is broken. */
export async function readCoordinateRows(file: ImportFile, onRow: (row: CoordinateRow) => void): Promise<void> {
  const text = file.head
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
  const isJson = text.startsWith('[') || text.startsWith('{');
  if (!isJson) return readCsv(file, onRow);
  const path = text.startsWith('[') ? '$.*' : '$.features.*';
  for await (const _ of readJsonValues(file, path, (value) => onRow(jsonRow(value))));
}

/** Column names in lower case, the best known first. */
const INSEE_COLUMNS = [
  'code_commune_insee',
  '#code_commune_insee',
  'insee_com',
  'code_insee',
  'insee',
  'codgeo',
  'code',
];
const PAIR_COLUMNS = ['coordonnees_gps', 'coordonnees_geographiques', '_geopoint', 'geopoint', 'centre'];
const LAT_COLUMNS = ['lat', 'latitude', 'latitude_centre', 'latitude_mairie'];
const LON_COLUMNS = ['lon', 'lng', 'long', 'longitude', 'longitude_centre', 'longitude_mairie'];

async function readCsv(file: ImportFile, onRow: (row: CoordinateRow) => void): Promise<void> {
  const columns = csvColumns(file);
  const oneOf = (names: readonly string[]) => names.find((name) => columns.includes(name));
  const insee = oneOf(INSEE_COLUMNS);
  const pair = oneOf(PAIR_COLUMNS);
  const lat = oneOf(LAT_COLUMNS);
  const lon = oneOf(LON_COLUMNS);
  if (insee === undefined) throw new ImportFileError(`${file.path}: no column of INSEE codes (such as insee_com)`);
  if (pair === undefined && (lat === undefined || lon === undefined)) {
    throw new ImportFileError(`${file.path}: no columns of coordinates (such as coordonnees_gps, or lat and lon)`);
  }
  const centreOf = (row: CsvRow) => {
    if (pair !== undefined) return parsePair(row[pair] ?? '');
    return parsePair(`${row[lat ?? ''] ?? ''},${row[lon ?? ''] ?? ''}`);
  };
  for await (const row of readCsvRows(file, [insee])) {
    const isPart = (row.ligne_5 ?? '') !== '' || row.commune_type === 'COMD';
    onRow({ insee: row[insee] ?? '', centre: centreOf(row), isPart });
  }
}

function parsePair(text: string): Place | null {
  const match = /^\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*$/.exec(text);
  return match === null ? null : inRange({ lat: Number(match[1]), lon: Number(match[2]) });
}

function inRange(place: Place): Place | null {
  return Math.abs(place.lat) <= 90 && Math.abs(place.lon) <= 180 ? place : null;
}

/** A commune of geo.api.gouv.fr: `{code, centre}`, or a feature whose properties hold the code. */
function jsonRow(value: unknown): CoordinateRow {
  const commune = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const properties = (commune.properties ?? commune) as Readonly<Record<string, unknown>>;
  const insee = properties.code ?? properties.insee ?? '';
  const centre = boxCentre(positionsOf(properties.centre ?? commune.geometry ?? commune.mairie));
  return {
    insee: typeof insee === 'string' ? insee : '',
    centre: centre === null ? null : inRange(centre),
    isPart: false,
  };
}
