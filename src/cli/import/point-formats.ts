/** The file formats of points of interest, which differ in their first bytes. */

import {
  FACILITIES,
  type Facility,
  type PointAttributes,
  type PointOfInterest,
  type SchoolType,
} from '../../engine/domain/point-of-interest.ts';
import { foldText } from '../../engine/domain/text.ts';
import {
  type CsvRow,
  csvColumns,
  type ImportFile,
  ImportFileError,
  JSON_SEQUENCE,
  RECORD_SEPARATOR,
  readCsvRows,
  readJsonValues,
} from './import-file.ts';
import { describeTags, facilitiesOf, type Tags, tidyName } from './osm-tags.ts';

export const POINT_FORMATS = ['geojson', 'geojson-seq', 'annuaire-education'] as const;
export type PointFormat = (typeof POINT_FORMATS)[number];

/** Throws `ImportFileError` for a file in another format. */
export function detectPointFormat(file: ImportFile): PointFormat {
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
  const columns = csvColumns(file);
  if (DIRECTORY_COLUMNS.every((column) => columns.includes(column))) return 'annuaire-education';
  throw new ImportFileError(`${path} is in none of the formats ${POINT_FORMATS.join(', ')}. Convert it.`);
}

/** Yields the points of interest of the file in batches. Throws `ImportFileError` during the iteration. */
export function readPointFile(
  file: ImportFile,
  format: PointFormat,
  tally: ImportTally,
): AsyncIterable<readonly PointOfInterest[]> {
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

const BATCH_SIZE = 1_000;

/**
 * Reads schools from the "annuaire de l'éducation" of the French ministry (data.education.gouv.fr), as CSV with commas
 * or semicolons. The flags `Ecole_maternelle` and `Ecole_elementaire` determine the type of a primary school. The
 * directory also lists inspectorates, rectorates and guidance centres, which are imported as schools without a type.
 */
async function* readEducationDirectory(
  file: ImportFile,
  tally: ImportTally,
): AsyncGenerator<readonly PointOfInterest[]> {
  let batch: PointOfInterest[] = [];
  for await (const row of readCsvRows(file, DIRECTORY_COLUMNS)) {
    tally.read++;
    const school = schoolOf(row, tally);
    if (school !== null) batch.push(school);
    if (batch.length < BATCH_SIZE) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

function schoolOf(row: CsvRow, tally: ImportTally): PointOfInterest | null {
  const lat = coordinate(row.latitude);
  const lon = coordinate(row.longitude);
  if (lat === null || lon === null || Math.abs(lat) > 90 || Math.abs(lon) > 180) {
    tally.skip(lat === null || lon === null ? 'no coordinates' : 'coordinates out of range');
    return null;
  }
  tally.keep('school');
  return { facility: 'school', lat, lon, name: tidyName(row.nom_etablissement), attributes: attributesOf(row) };
}

function coordinate(text: string | undefined): number | null {
  const number = Number((text ?? '').trim() || Number.NaN);
  return Number.isFinite(number) ? number : null;
}

function attributesOf(row: CsvRow): PointAttributes {
  const schoolType = schoolTypeOf(row);
  const status = foldText(row.statut_public_prive ?? '');
  return {
    ...(schoolType === null ? {} : { schoolType }),
    ...(status === 'public' ? { operatorType: 'public' } : status === 'prive' ? { operatorType: 'private' } : {}),
  };
}

/** An EREA teaches both stages of secondary school. Other kinds of establishment have no type. */
function schoolTypeOf(row: CsvRow): SchoolType | null {
  switch (foldText(row.type_etablissement ?? '')) {
    case 'ecole': {
      const isNursery = row.ecole_maternelle === '1';
      const isElementary = row.ecole_elementaire === '1';
      if (isNursery && isElementary) return 'primaire';
      return isNursery ? 'maternelle' : isElementary ? 'élémentaire' : null;
    }
    case 'college':
      return 'collège';
    case 'lycee':
      return 'lycée';
    case 'erea':
      return 'secondaire';
    default:
      return null;
  }
}

/**
 * Reads GeoJSON (RFC 7946), a collection or a sequence (RFC 8142) of features. The properties are OpenStreetMap tags,
 * flat or under `tags` (as from overpass-turbo and osmtogeojson), or our own names: `facility` (or `type`), `name`,
 * `schoolType`, `operatorType`. A geometry other than a point is replaced by the centre of its bounding box.
 */
async function* readFeatures(
  file: ImportFile,
  path: string,
  tally: ImportTally,
): AsyncGenerator<readonly PointOfInterest[]> {
  let batch: PointOfInterest[] = [];
  const take = (feature: unknown) => {
    tally.read++;
    for (const point of pointsOf(feature, tally)) {
      tally.keep(point.facility);
      batch.push(point);
    }
  };
  for await (const _ of readJsonValues(file, path, take)) {
    if (batch.length > 0) yield batch;
    batch = [];
  }
  yield batch;
}

function pointsOf(feature: unknown, tally: ImportTally): readonly PointOfInterest[] {
  const { properties, geometry } = record(feature);
  const described = describeTags(tagsOf(properties));
  if (described.length === 0) {
    tally.skip('another kind of place');
    return [];
  }
  const centre = boxCentre(positionsOf(geometry));
  if (centre === null || !(Math.abs(centre.lat) <= 90 && Math.abs(centre.lon) <= 180)) {
    tally.skip(centre === null ? 'no coordinates' : 'coordinates out of range');
    return [];
  }
  return described.map((one) => ({ ...one, ...centre }));
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
    // `type` comes last, because OpenStreetMap also uses it for the kind of a relation.
    const [facility] = [...facilitiesOf(tags.facility), ...facilitiesOf(tags.type)];
    if (facility !== undefined) tags.amenity = facility;
  }
  return tags;
}

/** Yields every position of a geometry, at any depth. Longitude comes first. */
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

export interface PointImportSummary {
  /** Number of rows or features. */
  readonly read: number;
  readonly kept: Readonly<Record<Facility, number>>;
  /** The number of rows or features that were omitted, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
}

/** Counts what an import of points reads, keeps and omits. */
export class ImportTally {
  read = 0;
  readonly #kept = Object.fromEntries(FACILITIES.map((facility) => [facility, 0])) as Record<Facility, number>;
  readonly #skipped = new Map<string, number>();

  keep(facility: Facility): void {
    this.#kept[facility]++;
  }

  /** `reason` must be one of a few texts, because it is a key of the summary. */
  skip(reason: string): void {
    this.#skipped.set(reason, (this.#skipped.get(reason) ?? 0) + 1);
  }

  summary(): PointImportSummary {
    return { read: this.read, kept: { ...this.#kept }, skipped: Object.fromEntries(this.#skipped) };
  }
}
