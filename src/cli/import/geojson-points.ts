/**
 * Points of interest from a GeoJSON FeatureCollection (RFC 7946). The properties are OpenStreetMap tags, flat or under
 * `tags` (as overpass-turbo and osmtogeojson write them), or this project's own words: `facility` (or `type`), `name`,
 * `schoolType`, `operatorType`. Any geometry but a point becomes the centre of its bounding box.
 */

import type { PointOfInterest } from '../../engine/domain/point-of-interest.ts';
import { describeTags, facilityOf, type ImportTally, NOT_A_FACILITY, type Tags } from './facility-tags.ts';
import { type ImportFile, readJsonValues } from './import-file.ts';
import { boxCentre, type OsmPlace } from './osm-points.ts';

export async function* readGeoJsonPoints(
  file: ImportFile,
  tally: ImportTally,
  onBytes: (count: number) => void,
): AsyncGenerator<readonly PointOfInterest[]> {
  let batch: PointOfInterest[] = [];
  const take = (feature: unknown) => {
    tally.read++;
    const point = pointOf(feature, tally);
    if (point === null) return;
    tally.keep(point.facility);
    batch.push(point);
  };
  for await (const _ of readJsonValues(file, '$.features.*', take, onBytes)) {
    if (batch.length > 0) yield batch;
    batch = [];
  }
  yield batch;
}

function pointOf(feature: unknown, tally: ImportTally): PointOfInterest | null {
  const { properties, geometry } = record(feature);
  const described = describeTags(tagsOf(properties));
  if (described === null) {
    tally.skip(NOT_A_FACILITY);
    return null;
  }
  const centre = boxCentre(positionsOf(geometry));
  if (centre === null || !(Math.abs(centre.lat) <= 90 && Math.abs(centre.lon) <= 180)) {
    tally.skip(centre === null ? 'no coordinates' : 'coordinates out of range');
    return null;
  }
  return { ...described, ...centre };
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
    // `type` is also OpenStreetMap's term for the kind of a relation.
    const facility = facilityOf(tags.facility) ?? facilityOf(tags.type);
    if (facility !== null) tags.amenity = facility;
  }
  return tags;
}

/** Every position of a geometry, however deep. Longitude comes first. */
export function* positionsOf(geometry: unknown): Generator<OsmPlace> {
  const { coordinates, geometries } = record(geometry);
  if (Array.isArray(geometries)) for (const part of geometries) yield* positionsOf(part);
  else yield* placesIn(coordinates);
}

function* placesIn(coordinates: unknown): Generator<OsmPlace> {
  if (!Array.isArray(coordinates)) return;
  const [lon, lat] = coordinates as readonly unknown[];
  if (typeof lon === 'number' && typeof lat === 'number') yield { lat, lon };
  else for (const part of coordinates) yield* placesIn(part);
}
