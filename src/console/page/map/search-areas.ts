/** Search areas as shapes: circles, polygons, departments, and communes as circles around their centre. */

import { FIRST_ARRONDISSEMENTS, type SearchDocument } from '../documents.ts';
import { type BaseMap, type Box, boxOf, projected } from './base-map.ts';
import { worldLength, worldX, worldY } from './projection.ts';

export type AreaShape =
  | { readonly type: 'circle'; readonly x: number; readonly y: number; readonly radius: number }
  | { readonly type: 'polygon'; readonly rings: readonly Float64Array[] }
  | { readonly type: 'department'; readonly code: string; readonly rings: readonly Float64Array[] }
  | { readonly type: 'commune'; readonly x: number; readonly y: number; readonly name: string };

export interface SearchArea {
  readonly search: string;
  readonly shapes: readonly AreaShape[];
  /** Null: the search has no area, or one that the map does not know. */
  readonly box: Box | null;
}

/** Communes of one search that are drawn at most. */
const COMMUNES_SHOWN_MAX = 200;

export function areaOf(search: SearchDocument, base: BaseMap): SearchArea {
  const shapes = [...drawnShapes(search), ...departmentsOf(search, base), ...communesOf(search, base)];
  return areaOfShapes(search['@id'], shapes);
}

export function areaOfShapes(search: string, shapes: readonly AreaShape[]): SearchArea {
  return { search, shapes, box: shapes.length === 0 ? null : hull(shapes.map(boxOfShape)) };
}

/** Null when no dot has coordinates. */
export function boxOfDots(dots: readonly { readonly x: number | null; readonly y: number | null }[]): readonly Box[] {
  const placed = Float64Array.from(dots.flatMap(({ x, y }) => (x === null || y === null ? [] : [x, y])));
  return placed.length === 0 ? [] : [boxOf([placed])];
}

type Drawn = Pick<SearchDocument, 'lat' | 'lon' | 'radius' | 'geoShapes'>;

export function drawnShapes(search: Drawn): AreaShape[] {
  return [...circleOf(search), ...search.geoShapes.map((rings) => polygonOf(rings))];
}

function circleOf({ lat, lon, radius }: Drawn): AreaShape[] {
  if (lat === null || lon === null || radius === null) return [];
  const place = { x: worldX(Number(lon)), y: worldY(Number(lat)) };
  return [{ type: 'circle', ...place, radius: worldLength(Number(radius), Number(lat)) }];
}

function polygonOf(rings: Drawn['geoShapes'][number]): AreaShape {
  return { type: 'polygon', rings: rings.map(projected) };
}

function departmentsOf({ includedDepartments }: SearchDocument, { outlines }: BaseMap): AreaShape[] {
  return includedDepartments.flatMap(({ departmentCode: code }) => {
    const outline = outlines.get(code);
    return outline === undefined ? [] : [{ type: 'department' as const, code, rings: outline.rings }];
  });
}

function communesOf({ includedCities, includedInseeCodes }: SearchDocument, { placeByInsee }: BaseMap): AreaShape[] {
  const codes = [...includedCities.map(({ insee }) => insee), ...includedInseeCodes].slice(0, COMMUNES_SHOWN_MAX);
  return codes.flatMap((insee) => {
    // The file has the first arrondissements of Paris, Lyon and Marseille.
    const place = placeByInsee.get(insee) ?? placeByInsee.get(FIRST_ARRONDISSEMENTS[insee] ?? '');
    return place === undefined ? [] : [{ type: 'commune' as const, x: place.x, y: place.y, name: place.name }];
  });
}

export function boxOfShape(shape: AreaShape): Box {
  if (shape.type === 'polygon' || shape.type === 'department') return boxOf(shape.rings);
  const radius = shape.type === 'circle' ? shape.radius : COMMUNE_REACH;
  const { x, y } = shape;
  return { minX: x - radius, minY: y - radius, maxX: x + radius, maxY: y + radius };
}

/** Some three kilometres. */
const COMMUNE_REACH = 0.0001;

export function hull(boxes: readonly Box[]): Box {
  return {
    minX: Math.min(...boxes.map(({ minX }) => minX)),
    minY: Math.min(...boxes.map(({ minY }) => minY)),
    maxX: Math.max(...boxes.map(({ maxX }) => maxX)),
    maxY: Math.max(...boxes.map(({ maxY }) => maxY)),
  };
}
