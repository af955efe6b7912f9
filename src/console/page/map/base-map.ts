/**
 * The base map in world coordinates, from two files of this server. One has the outlines of the departments (IGN Admin
 * Express, Licence Ouverte) and of the neighbouring countries (Natural Earth), the other the names of the larger
 * communes. The communes of a department are read when they are shown.
 */

import { feature, mesh } from 'topojson-client';
import type { GeometryCollection, MultiPolygon, Topology } from 'topojson-specification';
import { BASE, SETTINGS } from '../session.ts';
import { worldX, worldY } from './projection.ts';

export interface Box {
  readonly minX: number;
  readonly minY: number;
  readonly maxX: number;
  readonly maxY: number;
}

export interface Land {
  /** x and y of each corner. */
  readonly rings: readonly Float64Array[];
  readonly box: Box;
}

export interface Outline extends Land {
  readonly code: string;
  readonly name: string;
}

export interface NamedPlace {
  readonly insee: string;
  readonly name: string;
  readonly x: number;
  readonly y: number;
}

/** The communes of a department; its rings are their common outline. */
export interface CommuneMap extends Land {
  /** Lines between two communes. */
  readonly divisions: readonly Float64Array[];
  /** Lines with other countries. */
  readonly borders: readonly Float64Array[];
  readonly places: readonly NamedPlace[];
  /** Null if the commune has no outline. */
  ringsOf(insee: string): readonly Float64Array[] | null;
}

export interface BaseMap {
  readonly outlines: ReadonlyMap<string, Outline>;
  /** The communes that were read so far, by code of the department. */
  readonly communes: ReadonlyMap<string, CommuneMap>;
  readonly neighbours: readonly Land[];
  /** France from the source of its neighbours, accurate to a kilometre. Fills the gap between them and `outlines`. */
  readonly france: readonly Land[];
  /** Lakes that both sources count as land. */
  readonly lakes: readonly Land[];
  /** Lines between departments. */
  readonly divisions: readonly Float64Array[];
  /** Lines between `france` and its neighbours. */
  readonly borders: readonly Float64Array[];
  /** The largest first. */
  readonly places: readonly NamedPlace[];
  readonly placeByInsee: ReadonlyMap<string, NamedPlace>;
}

export const NO_BASE_MAP: BaseMap = {
  outlines: new Map(),
  communes: new Map(),
  neighbours: [],
  france: [],
  lakes: [],
  divisions: [],
  borders: [],
  places: [],
  placeByInsee: new Map(),
};

export const OUTLINES_ATTRIBUTION = 'IGN Admin Express, Licence Ouverte; Natural Earth';

type OutlinesFile = Topology<
  { departments: GeometryCollection<{ code: string }> } & Record<'neighbours' | 'france' | 'lakes', MultiPolygon>
>;

interface PlacesFile {
  readonly communes: readonly (readonly [insee: string, name: string, lat: number, lon: number])[];
  readonly departments: readonly (readonly [code: string, name: string])[];
}

/** Rejects when the service cannot be reached. */
export async function loadBaseMap(): Promise<BaseMap> {
  const read = async (name: string): Promise<unknown> => (await fetch(new URL(`console/${name}`, BASE))).json();
  const [topology, named] = (await Promise.all([read(SETTINGS.outlines), read(SETTINGS.places)])) as [
    OutlinesFile,
    PlacesFile,
  ];
  const names = new Map(named.departments);
  const outlines = feature(topology, topology.objects.departments).features.map(({ geometry, properties }): Outline => {
    const rings = ringsOf(geometry).map(projected);
    return { code: properties.code, name: names.get(properties.code) ?? properties.code, rings, box: boxOf(rings) };
  });
  const { departments, neighbours, france, lakes } = topology.objects;
  const landsOf = (object: MultiPolygon): Land[] =>
    feature(topology, object).geometry.coordinates.map((corners) => {
      const rings = corners.map(projected);
      return { rings, box: boxOf(rings) };
    });
  const linesIn = (geometries: GeometryCollection['geometries']): Float64Array[] =>
    mesh(topology, { type: 'GeometryCollection', geometries }, (one, other) => one !== other).coordinates.map(
      projected,
    );
  const places = named.communes.map(([insee, name, lat, lon]) => ({ insee, name, x: worldX(lon), y: worldY(lat) }));
  return {
    outlines: new Map(outlines.map((outline) => [outline.code, outline])),
    communes: new Map(),
    neighbours: landsOf(neighbours),
    france: landsOf(france),
    lakes: landsOf(lakes),
    divisions: linesIn(departments.geometries),
    borders: linesIn([neighbours, france]),
    places,
    placeByInsee: new Map(places.map((place) => [place.insee, place])),
  };
}

type Corners = readonly (readonly number[])[];

function ringsOf(geometry: GeoJSON.Geometry): readonly Corners[] {
  if (geometry.type === 'Polygon') return geometry.coordinates;
  return geometry.type === 'MultiPolygon' ? geometry.coordinates.flat() : [];
}

export function projected(corners: Corners): Float64Array {
  return Float64Array.from(corners.flatMap(([lon = 0, lat = 0]) => [worldX(lon), worldY(lat)]));
}

export function boxOf(rings: readonly Float64Array[]): Box {
  let [minX, minY, maxX, maxY] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const ring of rings) {
    for (let at = 0; at < ring.length; at += 2) {
      const [x, y] = [ring[at] as number, ring[at + 1] as number];
      minX = Math.min(minX, x);
      maxX = Math.max(maxX, x);
      minY = Math.min(minY, y);
      maxY = Math.max(maxY, y);
    }
  }
  return { minX, minY, maxX, maxY };
}

export function boxesMeet(a: Box, b: Box): boolean {
  return a.minX <= b.maxX && b.minX <= a.maxX && a.minY <= b.maxY && b.minY <= a.maxY;
}
