/** The file formats of points of interest, which differ in their first bytes. */

import { FACILITIES, type Facility, type PointOfInterest } from '../../engine/domain/point-of-interest.ts';
import { foldText } from '../../engine/domain/text.ts';
import {
  type CsvRow,
  headerOf,
  type ImportFile,
  ImportFileError,
  JSON_SEQUENCE,
  openImportFile,
  RECORD_SEPARATOR,
  readCsvRows,
  readJsonValues,
} from './import-file.ts';
import { describeTags, facilitiesOf, type Tags } from './osm-tags.ts';

export const POINT_FORMATS = ['geojson', 'geojson-seq', 'annuaire-education'] as const;
export type PointFormat = (typeof POINT_FORMATS)[number];

const BATCH_SIZE = 1_000;

/** The counts of an import so far: rows read, points kept, and rows omitted. */
export interface ImportTally {
  /** If empty, the format is detected from the first bytes. */
  format: PointFormat | '';
  /** The share of the file that has been read; null for standard input. */
  share: number | null;
  /** Number of rows or features. */
  read: number;
  readonly kept: Record<Facility, number>;
  /** The number of rows or features that were omitted, by reason. */
  readonly skipped: Record<string, number>;
}

export function createTally(format: PointFormat | ''): ImportTally {
  const kept = Object.fromEntries(FACILITIES.map((facility) => [facility, 0])) as Record<Facility, number>;
  return { format, share: null, read: 0, kept, skipped: {} };
}

/** `reason` must be one of a few texts, because it is a key of the summary. */
function skip({ skipped }: ImportTally, reason: string): void {
  skipped[reason] = (skipped[reason] ?? 0) + 1;
}

/**
 * Yields the points of interest of the file in batches, and counts them in `tally`. `onProgress` is called for every
 * few hundred kilobytes, and when the last batch is stored, before the transaction ends; it may throw. A file without
 * points causes an `ImportFileError`: it is more likely a wrong file than a request to remove all points.
 */
export async function* readPoints(
  path: string,
  tally: ImportTally,
  onProgress: () => void,
): AsyncGenerator<readonly PointOfInterest[]> {
  const file = await openImportFile(path, (share) => {
    tally.share = share;
    onProgress();
  });
  tally.format ||= detectPointFormat(file);
  let batch: PointOfInterest[] = [];
  for await (const point of readPointFile(file, tally.format, tally)) {
    tally.kept[point.facility] += 1;
    batch.push(point);
    if (batch.length < BATCH_SIZE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
  if (Object.values(tally.kept).every((count) => count === 0))
    throw new ImportFileError(`${path} contains no point of interest. The former points remain.`);
  onProgress();
}

/** Throws `ImportFileError` for a file in another format. */
function detectPointFormat(file: ImportFile): PointFormat {
  const { head, path } = file;
  const text = head.toString('utf8').replace(/^\uFEFF/, '');
  // oxlint-disable-next-line eslint/no-control-regex -- exactly that one separates records
  const json = text.replace(/^[\s\u001E]+/, '');
  if (json.startsWith('{')) {
    if (text.startsWith(RECORD_SEPARATOR)) return 'geojson-seq';
    if (/"type"\s*:\s*"FeatureCollection"|"features"\s*:/.test(json)) return 'geojson';
    if (/"type"\s*:\s*"Feature"/.test(json)) return 'geojson-seq';
  }
  if (head.subarray(4, 64).includes('OSMHeader') || /^<(\?xml|osm)\b/.test(json)) {
    throw new ImportFileError(
      `${path} is an OpenStreetMap file. Convert it to GeoJSON with osmium-tool: see vigie import points-of-interest --help.`,
    );
  }
  if (json.startsWith('<') || json.startsWith('{')) {
    throw new ImportFileError(`${path} is not GeoJSON. Convert answers of Overpass with osmtogeojson.`);
  }
  const header = headerOf(file).toLowerCase();
  if (DIRECTORY_COLUMNS.every((column) => header.includes(column))) return 'annuaire-education';
  throw new ImportFileError(`${path} is in none of the formats ${POINT_FORMATS.join(', ')}. Convert it.`);
}

/** Throws `ImportFileError` during the iteration. */
export function readPointFile(
  file: ImportFile,
  format: PointFormat,
  tally: ImportTally,
): AsyncIterable<PointOfInterest> {
  switch (format) {
    case 'geojson':
      return readFeatures(file, '$.features.*', tally);
    case 'geojson-seq':
      return readFeatures(file, JSON_SEQUENCE, tally);
    case 'annuaire-education':
      return readEducationDirectory(file, tally);
  }
}

const DIRECTORY_COLUMNS = ['nom_etablissement', 'type_etablissement', 'latitude', 'longitude'] as const;

/**
 * Reads schools from the "annuaire de l'éducation" of the French ministry (data.education.gouv.fr), as CSV with commas
 * or semicolons. The flags `Ecole_maternelle` and `Ecole_elementaire` determine the type of a primary school. The
 * directory also lists inspectorates, rectorates and guidance centres, which are imported as schools without a type.
 */
async function* readEducationDirectory(file: ImportFile, tally: ImportTally): AsyncGenerator<PointOfInterest> {
  for await (const row of readCsvRows(file, DIRECTORY_COLUMNS)) {
    tally.read++;
    const [lat, lon] = [coordinate(row.latitude), coordinate(row.longitude)];
    yield* pointsOf(schoolTags(row), lat === null || lon === null ? null : { lat, lon }, tally);
  }
}

function coordinate(text: string | undefined): number | null {
  const number = Number((text ?? '').trim() || Number.NaN);
  return Number.isFinite(number) ? number : null;
}

/** An EREA teaches both stages of secondary school. */
function schoolTags(row: CsvRow): Tags {
  const kind = foldText(row.type_etablissement ?? '');
  const status = foldText(row.statut_public_prive ?? '');
  const stages = [row.ecole_maternelle === '1' && 'maternelle', row.ecole_elementaire === '1' && 'élémentaire'];
  return {
    amenity: 'school',
    name: row.nom_etablissement ?? '',
    schoolType: kind === 'ecole' ? stages.filter(Boolean).join(' ') : kind === 'erea' ? 'secondaire' : kind,
    operatorType: status === 'prive' ? 'private' : status,
  };
}

/**
 * Reads GeoJSON (RFC 7946), a collection or a sequence (RFC 8142) of features. The properties are OpenStreetMap tags,
 * flat or under `tags` (as from overpass-turbo and osmtogeojson), or our own names: `facility` (or `type`), `name`, and
 * (also under `attributes`) `schoolType`, `operatorType`. The centre of the bounding box replaces any other geometry.
 */
async function* readFeatures(file: ImportFile, path: string, tally: ImportTally): AsyncGenerator<PointOfInterest> {
  for await (const feature of readJsonValues(file, path)) {
    tally.read++;
    const { properties, geometry } = record(feature);
    yield* pointsOf(tagsOf(properties), boxCentre(positionsOf(geometry)), tally);
  }
}

/** A point for each facility of the place. */
function pointsOf(tags: Tags, place: Place | null, tally: ImportTally): readonly PointOfInterest[] {
  const described = describeTags(tags);
  if (described.length === 0) {
    skip(tally, 'another kind of place');
    return [];
  }
  if (place === null || !(Math.abs(place.lat) <= 90 && Math.abs(place.lon) <= 180)) {
    skip(tally, place === null ? 'no coordinates' : 'coordinates out of range');
    return [];
  }
  return described.map((one) => ({ ...one, ...place }));
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function tagsOf(properties: unknown): Tags {
  const flat = record(properties);
  const tags: Record<string, string> = Object.create(null);
  for (const source of [record(flat.attributes), record(flat.tags), flat]) {
    for (const [key, value] of Object.entries(source)) if (typeof value === 'string') tags[key] = value;
  }
  if (tags.amenity === undefined) {
    // `type` is read last, because OpenStreetMap also uses it for the kind of a relation.
    const [facility] = [...facilitiesOf(tags.facility), ...facilitiesOf(tags.type)];
    if (facility !== undefined) tags.amenity = facility;
  }
  return tags;
}

/** Yields every position of a geometry, at any depth. In GeoJSON, a position begins with the longitude. */
function* positionsOf(geometry: unknown): Generator<Place> {
  const { coordinates, geometries } = record(geometry);
  if (Array.isArray(geometries)) for (const part of geometries) yield* positionsOf(part);
  else yield* placesIn(coordinates);
}

function* placesIn(coordinates: unknown): Generator<Place> {
  if (!Array.isArray(coordinates)) return;
  const [lon, lat] = coordinates as readonly unknown[];
  if (typeof lon === 'number' && typeof lat === 'number') yield { lat, lon };
  else for (const part of coordinates) yield* placesIn(part);
}

interface Place {
  /** Degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
}

/** The centre of the bounding box; null if there is no position. */
function boxCentre(places: Iterable<Place>): Place | null {
  let south = Number.POSITIVE_INFINITY;
  let north = Number.NEGATIVE_INFINITY;
  let west = Number.POSITIVE_INFINITY;
  let east = Number.NEGATIVE_INFINITY;
  for (const { lat, lon } of places) {
    south = Math.min(south, lat);
    north = Math.max(north, lat);
    west = Math.min(west, lon);
    east = Math.max(east, lon);
  }
  return south <= north ? { lat: (south + north) / 2, lon: (west + east) / 2 } : null;
}
