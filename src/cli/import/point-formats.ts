/** The files that points of interest come in, told apart by their first bytes. */

import type { PointOfInterest } from '../../engine/domain/point-of-interest.ts';
import { csvColumns } from './csv-rows.ts';
import { DIRECTORY_COLUMNS, readEducationDirectory } from './education-directory.ts';
import { readGeoJsonPoints } from './geojson-points.ts';
import { type ImportFile, ImportFileError } from './import-file.ts';
import type { ImportTally } from './import-tally.ts';
import { readOsmPbf } from './osm-pbf.ts';
import { collectOsmPoints } from './osm-points.ts';

export const POINT_FORMATS = ['osm-pbf', 'geojson', 'annuaire-education'] as const;
export type PointFormat = (typeof POINT_FORMATS)[number];

export interface ReadProgress {
  /** A pass over the file has begun. */
  readonly onPass: () => void;
  /** Bytes read from the disk since the last call. */
  readonly onBytes: (count: number) => void;
}

/** Throws `ImportFileError` on a file of another kind. */
export function detectPointFormat(file: ImportFile): PointFormat {
  const { head, path } = file;
  if (head.subarray(4, 64).includes('OSMHeader')) return 'osm-pbf';
  const text = head
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
  if (text.startsWith('{') && /"type"\s*:\s*"FeatureCollection"|"features"\s*:/.test(text)) return 'geojson';
  if (text.startsWith('<') || text.startsWith('{')) {
    throw new ImportFileError(
      `${path} is no GeoJSON FeatureCollection; osmium makes .osm.pbf of OpenStreetMap's XML, osmtogeojson GeoJSON of it and of Overpass's answers`,
    );
  }
  const columns = csvColumns(file);
  if (DIRECTORY_COLUMNS.every((column) => columns.includes(column))) return 'annuaire-education';
  throw new ImportFileError(`${path} is none of ${POINT_FORMATS.join(', ')}`);
}

/** The points of interest of the file, in batches. Throws `ImportFileError` while it reads. */
export function readPointFile(
  file: ImportFile,
  format: PointFormat,
  tally: ImportTally,
  { onPass, onBytes }: ReadProgress,
): AsyncIterable<readonly PointOfInterest[]> {
  switch (format) {
    case 'osm-pbf':
      return collectOsmPoints((visitor) => {
        onPass();
        return readOsmPbf(file, visitor, onBytes);
      }, tally);
    case 'geojson':
      onPass();
      return readGeoJsonPoints(file, tally, onBytes);
    case 'annuaire-education':
      onPass();
      return readEducationDirectory(file, tally, onBytes);
  }
}
