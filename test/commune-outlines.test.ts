/** Communes by coordinates, checked with the outlines that the project's file is made from, and with Natural Earth. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { feature, meshArcs } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import { createRandom } from '../bench/adverts/seeded-random.ts';
import { isInPolygon, type Polygon, type Position } from '../src/engine/domain/geo.ts';
import { readCommuneOutlines } from '../src/engine/reference/commune-outlines.ts';
import { loadReference, type Reference } from '../src/engine/reference/communes.ts';
import { SHARED_DATA } from './support/checkout.ts';
import { assertNone } from './support/lists.ts';
import { runsOf } from './support/random-runs.ts';

const FILE = new URL('outlines/communes-2018.topojson.gz', SHARED_DATA);
const ARRONDISSEMENTS = new URL('outlines/arrondissements.geojson.gz', SHARED_DATA);
const skip = existsSync(FILE) ? false : 'the outlines of 2018 are not there';
const NEIGHBOURS = new Set(
  'Andorra Belgium Brazil Germany Italy Luxembourg Monaco Spain Suriname Switzerland'.split(' '),
);
/** Natural Earth is accurate to about a kilometre. */
const COARSE_KM = 3;
const KM_PER_DEGREE = 111.195;

interface Area {
  readonly code: string;
  readonly polygons: readonly Polygon[];
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

function areaOf(code: string, geometry: GeoJSON.Geometry): Area {
  assert.ok(geometry.type === 'Polygon' || geometry.type === 'MultiPolygon');
  const polygons = (geometry.type === 'Polygon'
    ? [geometry.coordinates]
    : geometry.coordinates) as unknown as Polygon[];
  const corners = polygons.flat(2);
  const [lons, lats] = [corners.map(([lon]) => lon), corners.map(([, lat]) => lat)];
  const least = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b));
  const most = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b));
  return { code, polygons, west: least(lons), south: least(lats), east: most(lons), north: most(lats) };
}

const isNear = ({ west, south, east, north }: Area, lat: number, lon: number, km: number): boolean => {
  const [inLat, inLon] = [km / KM_PER_DEGREE, km / KM_PER_DEGREE / Math.cos((lat * Math.PI) / 180)];
  return lon >= west - inLon && lon <= east + inLon && lat >= south - inLat && lat <= north + inLat;
};
const isIn = (area: Area, lat: number, lon: number): boolean =>
  isNear(area, lat, lon, 0) && area.polygons.some((polygon) => isInPolygon(polygon, lat, lon));
const distanceKm = (area: Area, lat: number, lon: number): number =>
  isIn(area, lat, lon) ? 0 : Math.min(...area.polygons.map((polygon) => distanceToEdgesKm(polygon, lat, lon)));

/** Measured on the tangent plane at the point, which is accurate to a metre within two kilometres. */
function distanceToEdgesKm(polygon: Polygon, lat: number, lon: number): number {
  const onPlane = ([cornerLon, cornerLat]: Position): Position => [
    (cornerLon - lon) * KM_PER_DEGREE * Math.cos((lat * Math.PI) / 180),
    (cornerLat - lat) * KM_PER_DEGREE,
  ];
  let nearest = Number.POSITIVE_INFINITY;
  for (const ring of polygon) {
    const corners = ring.map(onPlane);
    for (const [at, [x, y]] of corners.entries()) {
      const [fromX, fromY] = corners[Math.max(0, at - 1)] as Position;
      const [alongX, alongY] = [x - fromX, y - fromY];
      const share = -(fromX * alongX + fromY * alongY) / (alongX ** 2 + alongY ** 2 || 1);
      const inside = Math.min(1, Math.max(0, share));
      nearest = Math.min(nearest, Math.hypot(fromX + inside * alongX, fromY + inside * alongY));
    }
  }
  return nearest;
}

const arcOf = (signed: number): number => (signed < 0 ? ~signed : signed);

function arcsOf(geometry: GeometryCollection['geometries'][number] | undefined): number[] {
  assert.ok(geometry?.type === 'Polygon' || geometry?.type === 'MultiPolygon');
  return geometry.arcs.flat(2).map(arcOf);
}

describe('communes by their outlines', { skip }, () => {
  let reference: Reference;
  let communes: readonly Area[];
  /** Communes on the coast or next to another country. */
  let outermost: readonly Area[];
  let abroad: readonly Area[];
  const random = createRandom(62);
  const between = (low: number, high: number): number => low + random.uniform() * (high - low);

  before(async () => {
    reference = await loadReference();
    const source = JSON.parse(gunzipSync(await readFile(FILE)).toString('utf8')) as Topology<{
      communes: GeometryCollection;
    }>;
    const { features } = feature(source, source.objects.communes);
    communes = features.map(({ id, geometry }) => areaOf(String(id), geometry));
    const outer = new Set(
      meshArcs(source, source.objects.communes, (one, other) => one === other)
        .arcs.flat()
        .map(arcOf),
    );
    outermost = communes.filter((_, at) =>
      arcsOf(source.objects.communes.geometries[at]).some((arc) => outer.has(arc)),
    );
    const atlasPath = fileURLToPath(import.meta.resolve('world-atlas/countries-10m.json'));
    const atlas = JSON.parse(await readFile(atlasPath, 'utf8')) as Topology<{
      countries: GeometryCollection<{ name: string }>;
    }>;
    abroad = feature(atlas, atlas.objects.countries)
      .features.filter(({ properties }) => NEIGHBOURS.has(properties.name))
      .map(({ properties, geometry }) => areaOf(properties.name, geometry));
  });

  const resolve = (lat: number, lon: number) =>
    reference.resolvePlace({ insee: null, zipcode: null, name: null, lat, lon })?.city ?? null;
  /** True if `city` is the current commune with this code, or an arrondissement of it. */
  const isToday = (code: string, city: ReturnType<typeof resolve>): boolean => {
    const today = reference.city(code);
    return city !== null && today !== null && (city.id === today.id || city.cityParentId === today.id);
  };

  /** Random points near outlines but outside all of them, with the outlines within `km`. */
  function pointsOutside(
    km: number,
    count: number,
    fits: (lat: number, lon: number, near: readonly Area[]) => boolean,
  ) {
    const found: { readonly lat: number; readonly lon: number; readonly near: readonly Area[] }[] = [];
    while (found.length < count) {
      const { west, south, east, north } = random.pick(outermost);
      const [inLat, inLon] = [km / KM_PER_DEGREE, km / KM_PER_DEGREE / Math.cos((south * Math.PI) / 180)];
      const [lat, lon] = [between(south - inLat, north + inLat), between(west - inLon, east + inLon)];
      const near = communes.filter((area) => isNear(area, lat, lon, km));
      if (!near.some((area) => isIn(area, lat, lon)) && fits(lat, lon, near)) found.push({ lat, lon, near });
    }
    return found;
  }

  it('contain at least 998 of 1,000 of their points', (t) => {
    let wrong = 0;
    const asked = runsOf(30_000);
    for (let count = 0; count < asked; ) {
      const area = random.pick(communes);
      const [lat, lon] = [between(area.south, area.north), between(area.west, area.east)];
      if (!isIn(area, lat, lon)) continue;
      count++;
      if (!isToday(area.code, resolve(lat, lon))) wrong++;
    }
    t.diagnostic(`${wrong} of ${asked} elsewhere`);
    assert.ok(wrong <= asked * 0.002, String(wrong));
  });

  it('of arrondissements contain at least 98 % of their points, and no other arrondissement contains one of them', async (t) => {
    const source = gunzipSync(await readFile(ARRONDISSEMENTS)).toString('utf8');
    const { features } = JSON.parse(source) as GeoJSON.FeatureCollection;
    const areas = features.map(({ properties, geometry }) => areaOf(String(properties?.insee), geometry));
    let neighbours = 0;
    const asked = runsOf(10_000);
    for (let count = 0; count < asked; ) {
      const area = random.pick(areas);
      const [lat, lon] = [between(area.south, area.north), between(area.west, area.east)];
      if (!isIn(area, lat, lon)) continue;
      count++;
      const city = resolve(lat, lon);
      if (city?.insee === area.code) continue;
      assert.equal(city?.cityParentId ?? null, null, `${lat}, ${lon}: ${city?.name} for ${area.code}`);
      neighbours++;
    }
    t.diagnostic(`${neighbours} of ${asked} in a neighbouring commune`);
    assert.ok(neighbours <= asked * 0.02, String(neighbours));
  });

  it('contain nothing beyond a land border', () => {
    const isAbroad = (lat: number, lon: number) => abroad.some((country) => isIn(country, lat, lon));
    const points = pointsOutside(10, runsOf(500), (lat, lon, near) => near.length > 0 && isAbroad(lat, lon));
    const french = points.filter(({ lat, lon }) => resolve(lat, lon) !== null);
    assertNone(french.map(({ lat, lon }) => [lat, lon, resolve(lat, lon)?.name]));
  });

  it('include the sea up to two kilometres off the coast, the nearest commune first', async () => {
    const outlines = await readCommuneOutlines();
    const isCoast = (lat: number, lon: number, near: readonly Area[]) =>
      near.some((area) => distanceKm(area, lat, lon) <= 1.99) &&
      abroad.every((country) => distanceKm(country, lat, lon) > COARSE_KM);
    for (const { lat, lon, near } of pointsOutside(2, runsOf(500), isCoast)) {
      const insee = outlines.at(lat, lon);
      assert.ok(insee !== null, `${lat}, ${lon}`);
      const nearest = Math.min(...near.map((area) => distanceKm(area, lat, lon)));
      assert.ok((outlines.distanceKm(insee, lat, lon) as number) <= nearest + 0.001, `${lat}, ${lon}`);
    }
  });

  const places: readonly (readonly [place: string, lat: number, lon: number, city: string | null])[] = [
    ['Monaco', 43.7312, 7.4197, null],
    ['the sea off Cap-d’Ail, next to Monaco', 43.7165, 7.395, "Cap-d'Ail"],
    ['Llívia, which France surrounds', 42.464, 1.981, null],
    ['the 12th arrondissement', 48.8405, 2.3876, 'Paris 12e'],
    ['Nouméa, without outline', -22.27, 166.45, 'Nouméa'],
    ['Marigot, without outline', 18.0667, -63.0833, 'Saint-Martin'],
    ['Philipsburg in Sint Maarten', 18.0237, -63.0458, null],
    ['Anguilla', 18.217, -63.057, null],
    ['Newfoundland off Saint-Pierre', 46.9, -55.95, null],
    ['Celles, separated in 2025', 45.118, 2.952, 'Celles'],
  ];
  for (const [place, lat, lon, city] of places) {
    it(`${place} is ${city ?? 'no commune'}`, () => {
      assert.equal(resolve(lat, lon)?.name ?? null, city);
    });
  }

  it('contain the centre of their commune, or are within five kilometres of it', async () => {
    const outlines = await readCommuneOutlines();
    const far = [...reference.cities()].filter(
      ({ insee, location }) => location !== null && (outlines.distanceKm(insee, location.lat, location.lon) ?? 0) > 5,
    );
    assert.deepEqual(far, []);
  });
});
