/**
 * Makes the base map's outlines from GeoJSON of the departments (`code`): lines that two of them share are written once,
 * corners to a hundred metres, and islets that no screen shows are left out. Arguments: the files, metropolitan and
 * overseas (IGN Admin Express, by way of france-geojson, Licence Ouverte); the result lies beside this file.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { topology } from 'topojson-server';

/** Of the way round the world that the departments span: a hundred metres and more. */
const STEPS = 100_000;
/** Square degrees: a tenth of a square kilometre. */
const AREA_MIN = 1e-5;

type Ring = GeoJSON.Position[];

function areaOf(ring: Ring): number {
  let doubled = 0;
  for (let at = 1; at < ring.length; at++) {
    const [[x = 0, y = 0], [nextX = 0, nextY = 0]] = [ring[at - 1] ?? [], ring[at] ?? []];
    doubled += x * nextY - nextX * y;
  }
  return Math.abs(doubled / 2);
}

function withoutIslets(geometry: GeoJSON.Geometry): GeoJSON.Geometry {
  if (geometry.type !== 'MultiPolygon') return geometry;
  return { ...geometry, coordinates: geometry.coordinates.filter(([shore = []]) => areaOf(shore) >= AREA_MIN) };
}

const features: GeoJSON.Feature[] = [];
for (const path of process.argv.slice(2)) {
  const file = JSON.parse(await readFile(path, 'utf8')) as GeoJSON.FeatureCollection;
  for (const { geometry, properties } of file.features) {
    features.push({ type: 'Feature', geometry: withoutIslets(geometry), properties: { code: properties?.code } });
  }
}
const departments: GeoJSON.FeatureCollection = { type: 'FeatureCollection', features };
const made = topology({ departments }, STEPS);
const attribution = 'IGN Admin Express, Licence Ouverte (etalab-2.0)';
await writeFile(new URL('outlines.topojson', import.meta.url), `${JSON.stringify({ attribution, ...made })}\n`);
