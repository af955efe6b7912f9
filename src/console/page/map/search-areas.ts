/** Search areas as shapes: circles, polygons, and the outlines of departments and communes. */

import { FIRST_ARRONDISSEMENTS, type SearchDocument } from '../documents.ts';
import { type BaseMap, type Box, boxOf, projected } from './base-map.ts';
import { departmentOf } from './commune-map.ts';
import { worldLength, worldX, worldY } from './projection.ts';

/** Excluded areas are hatched. */
export type AreaShape = { readonly isExcluded?: true } & (
  | { readonly type: 'circle'; readonly x: number; readonly y: number; readonly radius: number }
  | { readonly type: 'polygon'; readonly rings: readonly Float64Array[] }
  /** The outline of a department or a commune. */
  | { readonly type: 'outline'; readonly code: string; readonly rings: readonly Float64Array[] }
  /** A commune whose outline is unknown. */
  | { readonly type: 'dot'; readonly code: string; readonly x: number; readonly y: number }
);

export interface SearchArea {
  readonly search: string;
  readonly shapes: readonly AreaShape[];
  /** Null if the search has no area, or none that the map knows. */
  readonly box: Box | null;
}

/** Maximum communes of one search that are drawn. */
const COMMUNES_SHOWN_MAX = 200;

export function areaOf(search: SearchDocument, base: BaseMap): SearchArea {
  const named = (side: 'included' | 'excluded') => namedShapes(codesOf(search, side), base);
  const excluded = [...search.excludedGeoShapes.map(polygonOf), ...named('excluded')];
  return areaOfShapes(search['@id'], [...drawnShapes(search), ...named('included'), ...hatched(excluded)]);
}

export function hatched(shapes: readonly AreaShape[]): AreaShape[] {
  return shapes.map((shape) => ({ ...shape, isExcluded: true }));
}

/** The box covers only the included shapes, if there are any. */
export function areaOfShapes(search: string, shapes: readonly AreaShape[]): SearchArea {
  const included = shapes.filter(({ isExcluded }) => isExcluded !== true);
  const seen = included.length === 0 ? shapes : included;
  return { search, shapes, box: seen.length === 0 ? null : hull(seen.map(boxOfShape)) };
}

/** Empty if no dot has coordinates. */
export function boxOfDots(dots: readonly { readonly x: number | null; readonly y: number | null }[]): readonly Box[] {
  const placed = Float64Array.from(dots.flatMap(({ x, y }) => (x === null || y === null ? [] : [x, y])));
  return placed.length === 0 ? [] : [boxOf([placed])];
}

type Drawn = Pick<SearchDocument, 'lat' | 'lon' | 'radius' | 'geoShapes'>;

export function drawnShapes(search: Drawn): AreaShape[] {
  return [...circleOf(search), ...search.geoShapes.map(polygonOf)];
}

function circleOf({ lat, lon, radius }: Drawn): AreaShape[] {
  if (lat === null || lon === null || radius === null) return [];
  const place = { x: worldX(Number(lon)), y: worldY(Number(lat)) };
  return [{ type: 'circle', ...place, radius: worldLength(Number(radius), Number(lat)) }];
}

export function polygonOf(rings: Drawn['geoShapes'][number]): AreaShape {
  return { type: 'polygon', rings: rings.map(projected) };
}

/** Codes of the departments whose communes a search shows. */
export function departmentsShown(search: SearchDocument): readonly string[] {
  return (['included', 'excluded'] as const).flatMap((side) => departmentsOf(codesOf(search, side)));
}

export interface PlaceCodes {
  readonly departments: readonly string[];
  readonly insees: readonly string[];
}

function codesOf(search: SearchDocument, side: 'included' | 'excluded'): PlaceCodes {
  return {
    departments: search[`${side}Departments`].map(({ departmentCode }) => departmentCode),
    insees: [...search[`${side}Cities`].map(({ insee }) => insee), ...search[`${side}InseeCodes`]],
  };
}

/** Also the departments of the communes that are drawn. */
export function departmentsOf({ departments, insees }: PlaceCodes): readonly string[] {
  return [...departments, ...insees.slice(0, COMMUNES_SHOWN_MAX).map(departmentOf)];
}

/** Outlines of the departments and the first communes. A commune without one is a dot. */
export function namedShapes({ departments, insees }: PlaceCodes, base: BaseMap): AreaShape[] {
  const { outlines, communes, placeByInsee } = base;
  const ofDepartments = departments.flatMap((code): AreaShape[] => {
    const { rings } = communes.get(code) ?? outlines.get(code) ?? {};
    return rings === undefined ? [] : [{ type: 'outline', code, rings }];
  });
  const ofCommunes = insees.slice(0, COMMUNES_SHOWN_MAX).flatMap((code): AreaShape[] => {
    const rings = communes.get(departmentOf(code))?.ringsOf(code) ?? null;
    if (rings !== null) return [{ type: 'outline', code, rings }];
    // The file of names has the first arrondissements of Paris, Lyon and Marseille.
    const place = placeByInsee.get(code) ?? placeByInsee.get(FIRST_ARRONDISSEMENTS[code] ?? '');
    return place === undefined ? [] : [{ type: 'dot', code, x: place.x, y: place.y }];
  });
  return [...ofDepartments, ...ofCommunes];
}

export function boxOfShape(shape: AreaShape): Box {
  if (shape.type === 'polygon' || shape.type === 'outline') return boxOf(shape.rings);
  const radius = shape.type === 'circle' ? shape.radius : COMMUNE_REACH;
  const { x, y } = shape;
  return { minX: x - radius, minY: y - radius, maxX: x + radius, maxY: y + radius };
}

/** About three kilometres. */
const COMMUNE_REACH = 0.0001;

export function hull(boxes: readonly Box[]): Box {
  return {
    minX: Math.min(...boxes.map(({ minX }) => minX)),
    minY: Math.min(...boxes.map(({ minY }) => minY)),
    maxX: Math.max(...boxes.map(({ maxX }) => maxX)),
    maxY: Math.max(...boxes.map(({ maxY }) => maxY)),
  };
}
