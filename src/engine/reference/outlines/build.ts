/**
 * Creates `communes.bin.br` in this folder from the outlines of the communes of 2018 (IGN Admin Express, from
 * france-geojson, Licence Ouverte). Outlines of communes that were merged later are dissolved. Each outer line is
 * marked as coast or as border with another country (Natural Earth, public domain). Creates `arrondissements.bin.br`
 * from the arrondissements of 2022 (IGN Admin Express, from riatelab/map-templates, Licence Ouverte). No corner is
 * moved. With `--check`, compares the files instead of writing them. Skips a file whose source is missing.
 */

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync } from 'node:zlib';
import Flatbush from 'flatbush';
import { feature, meshArcs } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import { sideOfEdge, WEST_OF_EDGE } from '../../domain/geo.ts';
import { cityIdOf, readCommuneRecords } from '../commune-records.ts';
import { BORDER, COAST, type Outlines, packOutlines } from './packed-outlines.ts';

const SOURCE = new URL('../../../../../shared/data/outlines/communes-2018.topojson.gz', import.meta.url);
const ARRONDISSEMENTS = new URL('../../../../../shared/data/outlines/arrondissements.geojson.gz', import.meta.url);
/** Outlines that are wrong or missing in Natural Earth. */
const BY_HAND = new URL('by-hand.geojson', import.meta.url);
const ATTRIBUTION = 'IGN Admin Express COG 2018, Licence Ouverte (etalab-2.0)';
const ARRONDISSEMENTS_ATTRIBUTION = 'IGN Admin Express COG 2022, Licence Ouverte (etalab-2.0)';
const SIZE_MAX_BYTES = 2_500_000;

type Source = Topology<{ communes: GeometryCollection }>;
type Countries = Topology<{ countries: GeometryCollection<{ name: string }> }>;
type Point = readonly [x: number, y: number];
/** A line of corners, the index of the commune on one side, and the commune or the code of the other side. */
interface Arc {
  readonly points: readonly Point[];
  readonly inside: number;
  readonly beyond: number;
}
type IsForeign = (lon: number, lat: number) => boolean;

/**
 * Another country is searched for at these distances from the middle of an outer edge. Natural Earth is accurate to
 * about a kilometre, and Monaco is narrower than that.
 */
const PROBES_KM = [0.2, 0.4, 0.7, 1.5, 3];
/** A shorter stretch of coast between two borders is an error in Natural Earth. */
const COAST_MIN_KM = 6;
const KM_PER_DEGREE = 111.195;
const NEIGHBOURS: ReadonlySet<string> = new Set([
  'Andorra',
  'Belgium',
  'Brazil',
  'Germany',
  'Italy',
  'Luxembourg',
  'Spain',
  'Suriname',
  'Switzerland',
]);

async function makeOutlines(): Promise<Buffer> {
  const source = JSON.parse(gunzipSync(await readFile(SOURCE)).toString('utf8')) as Source;
  const { communes, mergedInto } = await readCommuneRecords();
  const today = new Set(communes.map(({ insee }) => insee));
  const sides = new Map<number, string[]>();
  for (const geometry of source.objects.communes.geometries) {
    const code = String(geometry.id);
    const insee = today.has(code) ? code : mergedInto.get(code);
    if (insee === undefined || !today.has(insee)) throw new Error(`no present commune has the outline ${code}`);
    for (const arc of arcsOf(geometry)) sides.set(arc, [...(sides.get(arc) ?? []), insee]);
  }
  const isForeign = await readNeighbours();
  const borders = landBordersOf(source, isForeign);
  const insees = [...new Set([...sides.values()].flat())].sort((a, b) => cityIdOf(a) - cityIdOf(b));
  const indexOf = new Map(insees.map((insee, index) => [insee, index]));
  const arcs: Arc[] = [];
  for (const [arc, [left = '', right]] of sides) {
    // An arc that two outlines of the same commune share is inside the commune.
    if (left === right) continue;
    const points = pointsOf(source, arc);
    const inside = indexOf.get(left) as number;
    if (right === undefined) arcs.push(...outerArcs(points, inside, borders.get(arc) ?? []));
    else arcs.push(innerArc(points, inside, indexOf.get(right) as number));
  }
  arcs.sort((a, b) => a.inside - b.inside || a.beyond - b.beyond);
  const { scale, translate } = transformOf(source);
  return packOutlines({ attribution: ATTRIBUTION, scale, translate, insees, ...columnsOf(arcs) });
}

/** Stores each ring as a separate line. Adjacent arrondissements have the same corners, on a grid of a metre. */
async function makeArrondissements(): Promise<Buffer> {
  const { features } = JSON.parse(
    gunzipSync(await readFile(ARRONDISSEMENTS)).toString('utf8'),
  ) as GeoJSON.FeatureCollection;
  const arcs = features.flatMap(({ geometry }, inside) =>
    ringsOf(geometry).map((ring): Arc => {
      const points = ring.map(([lon = 0, lat = 0]): Point => [Math.round(lon * 1e5), Math.round(lat * 1e5)]);
      return { points, inside, beyond: COAST };
    }),
  );
  const insees = features.map(({ properties }) => String(properties?.insee));
  const grid = { scale: [1e-5, 1e-5], translate: [0, 0] };
  return packOutlines({ attribution: ARRONDISSEMENTS_ATTRIBUTION, ...grid, insees, ...columnsOf(arcs) });
}

function ringsOf(geometry: GeoJSON.Geometry): GeoJSON.Position[][] {
  if (geometry.type === 'Polygon') return geometry.coordinates;
  return geometry.type === 'MultiPolygon' ? geometry.coordinates.flat() : [];
}

function columnsOf(arcs: readonly Arc[]): Pick<Outlines, 'inside' | 'beyond' | 'starts' | 'xs' | 'ys'> {
  let end = 0;
  return {
    inside: Int32Array.from(arcs, ({ inside }) => inside),
    beyond: Int32Array.from(arcs, ({ beyond }) => beyond),
    starts: Int32Array.from([0, ...arcs.map(({ points }) => (end += points.length))]),
    xs: Int32Array.from(arcs.flatMap(({ points }) => points.map(([x]) => x))),
    ys: Int32Array.from(arcs.flatMap(({ points }) => points.map(([, y]) => y))),
  };
}

function arcsOf(geometry: GeometryCollection['geometries'][number]): number[] {
  const rings =
    geometry.type === 'Polygon' ? geometry.arcs : geometry.type === 'MultiPolygon' ? geometry.arcs.flat() : [];
  return rings.flat().map((arc) => (arc < 0 ? ~arc : arc));
}

function innerArc(points: readonly Point[], one: number, other: number): Arc {
  return { points, inside: Math.min(one, other), beyond: Math.max(one, other) };
}

/** The pieces of an outer arc, which is split where it changes between coast and border. */
function outerArcs(points: readonly Point[], inside: number, isBorder: readonly boolean[]): Arc[] {
  const pieces: Arc[] = [];
  let from = 0;
  for (let at = 1; at < points.length; at++) {
    const isLast = at === points.length - 1;
    if (!isLast && isBorder[at - 1] === isBorder[at]) continue;
    pieces.push({ points: points.slice(from, at + 1), inside, beyond: isBorder[at - 1] === true ? BORDER : COAST });
    from = at;
  }
  return pieces;
}

/** Absolute positions, in steps of the source's grid. */
function pointsOf(source: Source, arc: number): readonly Point[] {
  let [x, y] = [0, 0];
  return (source.arcs[arc] ?? []).map(([dx = 0, dy = 0]) => {
    x += dx;
    y += dy;
    return [x, y];
  });
}

function transformOf(source: Source): NonNullable<Source['transform']> {
  if (source.transform === undefined) throw new Error('the outlines of the communes have no grid (`transform`)');
  return source.transform;
}

interface Edge {
  readonly arc: number;
  /** The position of the edge in the arc, regardless of the ring's direction. */
  readonly at: number;
  readonly km: number;
  isBorder: boolean;
}

/** For each edge of each outer arc, whether another country is beyond it. */
function landBordersOf(source: Source, isForeign: IsForeign): ReadonlyMap<number, readonly boolean[]> {
  const borders = new Map<number, boolean[]>();
  for (const ring of meshArcs(source, source.objects.communes, (one, other) => one === other).arcs) {
    const edges = ring.flatMap((arc) => edgesOf(source, arc, isForeign));
    bridgeShortCoasts(edges);
    for (const { arc, at, isBorder } of edges) {
      const ofArc = borders.get(arc) ?? [];
      ofArc[at] = isBorder;
      borders.set(arc, ofArc);
    }
  }
  return borders;
}

function edgesOf(source: Source, signed: number, isForeign: IsForeign): Edge[] {
  const arc = signed < 0 ? ~signed : signed;
  const { scale, translate } = transformOf(source);
  const points = pointsOf(source, arc).map(([x, y]) => [x * scale[0] + translate[0], y * scale[1] + translate[1]]);
  const edges = points.slice(1).map(([lonB = 0, latB = 0], at): Edge => {
    const [lonA = 0, latA = 0] = points[at] as number[];
    const squeezed = Math.cos((latA * Math.PI) / 180);
    const [east, north] = [(lonB - lonA) * squeezed, latB - latA];
    const length = Math.hypot(east, north);
    const [lon, lat] = [(lonA + lonB) / 2, (latA + latB) / 2];
    // Both sides are probed, because France does not count as another country.
    const isBorder = PROBES_KM.flatMap((km) => [km, -km]).some((km) => {
      const degrees = length === 0 ? 0 : km / KM_PER_DEGREE / length;
      return isForeign(lon + (north * degrees) / squeezed, lat - east * degrees);
    });
    return { arc, at, km: length * KM_PER_DEGREE, isBorder };
  });
  return signed < 0 ? edges.reverse() : edges;
}

/** Marks short coasts between borders as border. A coast may span the beginning of the ring. */
function bridgeShortCoasts(edges: readonly Edge[]): void {
  const start = edges.findIndex(({ isBorder }) => isBorder);
  if (start < 0) return;
  let coast: Edge[] = [];
  for (let step = 1; step <= edges.length; step++) {
    const edge = edges[(start + step) % edges.length] as Edge;
    if (!edge.isBorder) {
      coast.push(edge);
      continue;
    }
    if (coast.reduce((sum, { km }) => sum + km, 0) < COAST_MIN_KM) for (const one of coast) one.isBorder = true;
    coast = [];
  }
}

/** Resolves with a function that tells whether a point is in a neighbouring country, by the even-odd rule. */
async function readNeighbours(): Promise<IsForeign> {
  const path = fileURLToPath(import.meta.resolve('world-atlas/countries-10m.json'));
  const atlas = JSON.parse(await readFile(path, 'utf8')) as Countries;
  const abroad = feature(atlas, atlas.objects.countries).features.filter(({ properties }) =>
    NEIGHBOURS.has(properties.name),
  );
  const byHand = JSON.parse(await readFile(BY_HAND, 'utf8')) as GeoJSON.FeatureCollection;
  const monaco = byHand.features.filter(({ properties }) => properties?.name === 'Monaco');
  const rings = [...abroad, ...monaco].flatMap(({ geometry }) => ringsOf(geometry));
  const edges = rings.flatMap((ring) =>
    ring.slice(1).map(([lonB = 0, latB = 0], at): readonly [number, number, number, number] => {
      const [lonA = 0, latA = 0] = ring[at] ?? [];
      return [lonA, latA, lonB, latB];
    }),
  );
  const index = new Flatbush(edges.length);
  for (const [lonA, latA, lonB, latB] of edges) {
    index.add(Math.min(lonA, lonB), Math.min(latA, latB), Math.max(lonA, lonB), Math.max(latA, latB));
  }
  index.finish();
  return (lon, lat) => {
    const beside = index.search(lon, lat, 180, lat).map((edge) => edges[edge] as (typeof edges)[number]);
    return beside.filter((edge) => sideOfEdge(...edge, lat, lon) === WEST_OF_EDGE).length % 2 === 1;
  };
}

async function isMade(result: URL, outlines: Buffer): Promise<boolean> {
  return existsSync(result) && brotliDecompressSync(await readFile(result)).equals(outlines);
}

for (const { name, source, make } of [
  { name: 'communes.bin.br', source: SOURCE, make: makeOutlines },
  { name: 'arrondissements.bin.br', source: ARRONDISSEMENTS, make: makeArrondissements },
]) {
  if (!existsSync(source)) {
    process.stdout.write(`${name}: skipped, ${fileURLToPath(source)} does not exist\n`);
    continue;
  }
  const outlines = await make();
  const result = new URL(name, import.meta.url);
  const isSame = await isMade(result, outlines);
  if (process.argv.includes('--check')) {
    if (!isSame) throw new Error(`${name} is outdated: run npm run generate`);
  } else if (!isSame) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 };
    const made = brotliCompressSync(outlines, { params });
    if (made.length > SIZE_MAX_BYTES) throw new Error(`${name} has ${made.length} bytes, more than ${SIZE_MAX_BYTES}`);
    await writeFile(result, made);
  }
}
