/**
 * Creates the base map's outlines from GeoJSON files of the departments (`code`). Lines that two departments share are
 * written once, corners are rounded to a hundred metres, and islets too small to see are left out. Adds the
 * neighbouring countries, and France from the same source to close the gap along their borders (Natural Earth, public
 * domain). Outlines drawn by hand replace some of this source. Arguments: the files of metropolitan and overseas France
 * (IGN Admin Express via france-geojson, Licence Ouverte). The result is written next to this file.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { feature } from 'topojson-client';
import { topology } from 'topojson-server';
import type { GeometryCollection, Topology } from 'topojson-specification';

/** Steps over the whole extent, including overseas departments. A step is about a hundred metres. */
const STEPS = 100_000;
/** Square degrees: a tenth of a square kilometre. */
const AREA_MIN = 1e-5;
/** Square degrees: about ten square kilometres. */
const NEIGHBOUR_AREA_MIN = 1e-3;

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

/** The extents of a map of metropolitan France and of one of Guyane. */
type Window = readonly [west: number, south: number, east: number, north: number];
const WINDOWS: readonly Window[] = [
  [-12, 35, 17, 56],
  [-58, -2, -46, 9],
];
const BY_HAND = new URL('../../engine/reference/outlines/by-hand.geojson', import.meta.url);

/** Clips the ring at each side of the window in turn (Sutherland and Hodgman, 1974). */
function clipped(ring: Ring, [west, south, east, north]: Window): Ring {
  const sides = [
    { axis: 0, limit: west, sign: 1 },
    { axis: 0, limit: east, sign: -1 },
    { axis: 1, limit: south, sign: 1 },
    { axis: 1, limit: north, sign: -1 },
  ];
  let corners = ring.slice(0, -1);
  for (const { axis, limit, sign } of sides) {
    const depth = (corner: GeoJSON.Position): number => ((corner[axis] ?? 0) - limit) * sign;
    corners = corners.flatMap((corner, at) => {
      const before = corners.at(at - 1) ?? corner;
      const [inside, wasInside] = [depth(corner) >= 0, depth(before) >= 0];
      if (inside === wasInside) return inside ? [corner] : [];
      const share = depth(before) / (depth(before) - depth(corner));
      const crossing = before.map((from, which) => from + ((corner[which] ?? from) - from) * share);
      return inside ? [crossing, corner] : [crossing];
    });
  }
  return corners.length < 3 ? [] : [...corners, corners[0] as GeoJSON.Position];
}

/** Degrees. A corner is coarse if its cell of this size, and those around it, have no corner of the other country. */
const NEAR = 0.25;
/** Coarse corners are rounded to half a kilometre, because no search area is drawn abroad. */
const PER_DEGREE = 200;
/** Degrees between coarse corners. */
const CORNERS_APART = 0.08;

/** Returns a function that tests whether a corner is near one of `corners`. */
function nearTo(corners: readonly GeoJSON.Position[]): (corner: GeoJSON.Position) => boolean {
  const cellOf = (degrees = 0): number => Math.floor(degrees / NEAR);
  const around = [-1, 0, 1].flatMap((dx) => [-1, 0, 1].map((dy) => [dx, dy] as const));
  const cells = new Set(corners.flatMap(([x, y]) => around.map(([dx, dy]) => `${cellOf(x) + dx},${cellOf(y) + dy}`)));
  return ([x, y]) => cells.has(`${cellOf(x)},${cellOf(y)}`);
}

function coarse(ring: Ring, isNear: (corner: GeoJSON.Position) => boolean): Ring {
  let [lastX, lastY] = [Infinity, Infinity];
  return ring.flatMap((corner, at) => {
    const isKept = isNear(corner);
    const [x = 0, y = 0] = isKept ? corner : corner.map((degrees) => Math.round(degrees * PER_DEGREE) / PER_DEGREE);
    const isFar = Math.abs(x - lastX) + Math.abs(y - lastY) > CORNERS_APART;
    if (!isKept && !isFar && at < ring.length - 1) return [];
    [lastX, lastY] = [x, y];
    return [[x, y]];
  });
}

function polygonsOf(geometry: GeoJSON.Geometry): Ring[][] {
  if (geometry.type === 'Polygon') return [geometry.coordinates];
  return geometry.type === 'MultiPolygon' ? geometry.coordinates : [];
}

type Countries = Topology<{ countries: GeometryCollection<{ name: string }> }>;

/** `corners` are those of France. */
async function readAbroad(corners: readonly GeoJSON.Position[]): Promise<Record<string, GeoJSON.Geometry>> {
  const path = fileURLToPath(import.meta.resolve('world-atlas/countries-10m.json'));
  const atlas = JSON.parse(await readFile(path, 'utf8')) as Countries;
  const { features: byHand } = JSON.parse(await readFile(BY_HAND, 'utf8')) as GeoJSON.FeatureCollection;
  const ownOf = (name: string) => byHand.filter(({ properties }) => properties?.name === name);
  const countries = feature(atlas, atlas.objects.countries).features.filter(
    ({ properties }) => ownOf(properties.name).length === 0,
  );
  const polygons = (isFrench: boolean): Ring[][] =>
    countries
      .filter(({ properties }) => (properties.name === 'France') === isFrench)
      .flatMap(({ geometry }) => polygonsOf(geometry))
      .flatMap((rings) => WINDOWS.map((window) => rings.map((ring) => clipped(ring, window))))
      .filter(([shore = []]) => shore.length > 0 && areaOf(shore) >= NEIGHBOUR_AREA_MIN);
  const made = (all: readonly Ring[][], isNear: (corner: GeoJSON.Position) => boolean): GeoJSON.Geometry => ({
    type: 'MultiPolygon',
    coordinates: all.map((rings) => rings.filter((ring) => ring.length > 0).map((ring) => coarse(ring, isNear))),
  });
  const neighbours = [...polygons(false), ...ownOf('Monaco').flatMap(({ geometry }) => polygonsOf(geometry))];
  const lakes = ownOf('Lake Geneva').flatMap(({ geometry }) => polygonsOf(geometry));
  return {
    neighbours: made(neighbours, nearTo(corners)),
    // Only those corners of France that are near its neighbours are kept exactly.
    france: made(polygons(true), nearTo(neighbours.flat(2))),
    lakes: { type: 'MultiPolygon', coordinates: lakes },
  };
}

const features: GeoJSON.Feature[] = [];
for (const path of process.argv.slice(2)) {
  const file = JSON.parse(await readFile(path, 'utf8')) as GeoJSON.FeatureCollection;
  for (const { geometry, properties } of file.features) {
    features.push({ type: 'Feature', geometry: withoutIslets(geometry), properties: { code: properties?.code } });
  }
}
const departments: GeoJSON.FeatureCollection = { type: 'FeatureCollection', features };
const corners = features.flatMap(({ geometry }) => polygonsOf(geometry).flat(2));
const made = topology({ departments, ...(await readAbroad(corners)) }, STEPS);
const attribution = 'IGN Admin Express, Licence Ouverte (etalab-2.0); Natural Earth';
await writeFile(new URL('outlines.topojson', import.meta.url), `${JSON.stringify({ attribution, ...made })}\n`);
