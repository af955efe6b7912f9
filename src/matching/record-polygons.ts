/** Polygons in the words of a record, and the exact test of a place against them. */

import { ON_EDGE, type Polygon, type Position, sideOfEdge, turnsToTry, WEST_OF_EDGE } from '../domain/geo.ts';

/** A polygon: the number of its rings; a ring: the number of its positions, then longitude and latitude of each. */
export function polygonWords(polygons: readonly Polygon[]): number {
  let words = 0;
  for (const polygon of polygons) {
    words += 1;
    for (const ring of polygon) words += 1 + 2 * ring.length;
  }
  return words;
}

export function writePolygons(polygons: readonly Polygon[], numbers: Float64Array, start: number): void {
  let top = start;
  for (const polygon of polygons) {
    numbers[top++] = polygon.length;
    for (const ring of polygon) {
      numbers[top++] = ring.length;
      for (const [lon, lat] of ring) {
        numbers[top++] = lon;
        numbers[top++] = lat;
      }
    }
  }
}

export function readPolygons(numbers: Float64Array, start: number, count: number): Polygon[] {
  const polygons: Polygon[] = [];
  let top = start;
  for (let left = count; left > 0; left--) {
    const rings: Position[][] = [];
    for (let ringsLeft = numbers[top++] as number; ringsLeft > 0; ringsLeft--) {
      const ring: Position[] = [];
      const end = top + 1 + 2 * (numbers[top] as number);
      for (top += 1; top < end; top += 2) ring.push([numbers[top] as number, numbers[top + 1] as number]);
      rings.push(ring);
    }
    polygons.push(rings);
  }
  return polygons;
}

/** `isInPolygon` of `domain/geo` for any of `count` polygons, as `criteria-record` writes them. */
export function isInPolygons(numbers: Float64Array, start: number, count: number, lat: number, lon: number): boolean {
  let polygon = start;
  for (let left = count; left > 0; left--) {
    const ringCount = numbers[polygon] as number;
    let west = Infinity;
    let east = -Infinity;
    let end = polygon + 1;
    for (let ring = 0; ring < ringCount; ring++) {
      const next = end + 1 + 2 * (numbers[end] as number);
      for (let position = end + 1; position < next; position += 2) {
        const positionLon = numbers[position] as number;
        if (positionLon < west) west = positionLon;
        if (positionLon > east) east = positionLon;
      }
      end = next;
    }
    for (const turn of turnsToTry(west, east, lon)) if (isInRings(numbers, polygon, lat, lon + turn)) return true;
    polygon = end;
  }
  return false;
}

function isInRings(numbers: Float64Array, polygon: number, lat: number, lon: number): boolean {
  const ringCount = numbers[polygon] as number;
  let isInside = false;
  let ring = polygon + 1;
  for (let left = ringCount; left > 0; left--) {
    const end = ring + 1 + 2 * (numbers[ring] as number);
    for (let b = ring + 3; b < end; b += 2) {
      const side = sideOfEdge(
        numbers[b - 2] as number,
        numbers[b - 1] as number,
        numbers[b] as number,
        numbers[b + 1] as number,
        lat,
        lon,
      );
      if (side === ON_EDGE) return true;
      if (side === WEST_OF_EDGE) isInside = !isInside;
    }
    ring = end;
  }
  return isInside;
}
