/**
 * `vigie import coordinates FILE`: commune centres from La Poste's or geo.api.gouv.fr's file, all or nothing. They go
 * before those of the reference packages at once, in every daemon that runs.
 * The files: CSV as La Poste's "base officielle des codes postaux" has it (one column
 * "lat,lon", several rows a commune) or with a column each; JSON of geo.api.gouv.fr (`centre`), plain or as GeoJSON.
 */

import { positionsOf } from './geojson-points.ts';
import {
  type CsvRow,
  csvColumns,
  type ImportFile,
  ImportFileError,
  openImportFile,
  readCsvRows,
  readJsonValues,
} from './import-file.ts';
import { boxCentre, type OsmPlace } from './osm-points.ts';

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
  readonly centre: OsmPlace | null;
  /** The row describes a part of the commune (La Poste's fifth address line). */
  readonly isPart: boolean;
}

/** Calls `onRow` for every row or feature. Throws `ImportFileError` when the file has another layout or is broken. */
export async function readCoordinateRows(
  file: ImportFile,
  onRow: (row: CoordinateRow) => void,
  onBytes: (count: number) => void,
): Promise<void> {
  const text = file.head
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
  const isJson = text.startsWith('[') || text.startsWith('{');
  if (!isJson) return readCsv(file, onRow, onBytes);
  const path = text.startsWith('[') ? '$.*' : '$.features.*';
  for await (const _ of readJsonValues(file, path, (value) => onRow(jsonRow(value)), onBytes));
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

async function readCsv(
  file: ImportFile,
  onRow: (row: CoordinateRow) => void,
  onBytes: (count: number) => void,
): Promise<void> {
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
  for await (const row of readCsvRows(file, [insee], onBytes)) {
    const isPart = (row.ligne_5 ?? '') !== '' || row.commune_type === 'COMD';
    onRow({ insee: row[insee] ?? '', centre: centreOf(row), isPart });
  }
}

function parsePair(text: string): OsmPlace | null {
  const match = /^\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*$/.exec(text);
  return match === null ? null : inRange({ lat: Number(match[1]), lon: Number(match[2]) });
}

function inRange(place: OsmPlace): OsmPlace | null {
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
