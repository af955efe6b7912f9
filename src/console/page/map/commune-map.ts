/**
 * The outlines of the communes of a department (IGN Admin Express, Licence Ouverte). The department's file has each
 * line between two communes once. An outline is joined from these lines when it is drawn.
 */

import type { Observable } from '../observable.ts';
import { BASE } from '../session.ts';
import { type BaseMap, type Box, boxesMeet, boxOf, type CommuneMap } from './base-map.ts';
import { worldX, worldY } from './projection.ts';

/** The zoom from which communes are shown. */
export const COMMUNES_FROM_ZOOM = 9;
/** Maximum number of departments that one call of `read` reads. */
const DEPARTMENTS_AT_ONCE = 20;

/** `83` of `83137`, `974` of `97411`. */
export function departmentOf(insee: string): string {
  return insee.slice(0, insee.startsWith('97') ? 3 : 2);
}

export function createCommuneReader(base: Observable<BaseMap>) {
  const reading = new Map<string, Promise<void>>();
  const readOne = async (code: string): Promise<void> => {
    // Null if the service is unavailable; the next move of the map retries.
    const file = await fetch(new URL(`console/communes/${code}`, BASE))
      .then((response) => (response.ok ? (response.json() as Promise<OutlinesFile>) : null))
      .catch(() => null);
    if (file === null) return void reading.delete(code);
    const map = communeMap(file);
    base.set({ ...base.get(), communes: new Map([...base.get().communes, [code, map]]) });
  };
  /** Resolves when the departments are in `base`, or could not be read; a later call retries them. */
  const read = async (codes: Iterable<string>): Promise<void> => {
    const known = [...new Set(codes)].filter((code) => base.get().outlines.has(code)).slice(0, DEPARTMENTS_AT_ONCE);
    const requested = known.map((code) => {
      const answer = reading.get(code) ?? readOne(code);
      reading.set(code, answer);
      return answer;
    });
    await Promise.all(requested);
  };
  /** Reads the departments in this part of the world. */
  const readIn = (box: Box): void => {
    const seen = [...base.get().outlines.values()].filter((outline) => boxesMeet(outline.box, box));
    void read(seen.map(({ code }) => code));
  };
  return { read, readIn };
}

interface OutlinesFile {
  readonly scale: readonly [number, number];
  readonly translate: readonly [number, number];
  readonly communes: readonly (readonly [insee: string, name: string])[];
  /** The index of the commune on one side, the index or a code for the other side, and the steps between corners. */
  readonly lines: readonly (readonly number[])[];
}

/** The code for another country; other negative codes mean the sea or a lake. */
const BORDER = -2;

function communeMap({ scale, translate, communes, lines }: OutlinesFile): CommuneMap {
  const divisions: Float64Array[] = [];
  const outer: Float64Array[] = [];
  const borders: Float64Array[] = [];
  const byCommune = communes.map((): Float64Array[] => []);
  let [fromX, fromY] = [0, 0];
  for (const [commune = 0, beyond = 0, ...steps] of lines) {
    const line = new Float64Array(steps.length);
    let [x, y] = [fromX, fromY];
    for (let at = 0; at < steps.length; at += 2) {
      x += steps[at] as number;
      y += steps[at + 1] as number;
      if (at === 0) [fromX, fromY] = [x, y];
      line[at] = worldX(x * scale[0] + translate[0]);
      line[at + 1] = worldY(y * scale[1] + translate[1]);
    }
    byCommune[commune]?.push(line);
    byCommune[beyond]?.push(line);
    if (beyond >= 0) divisions.push(line);
    else outer.push(line);
    if (beyond === BORDER) borders.push(line);
  }
  const rings = joinLines(outer);
  const places = communes.map(([insee, name], at) => {
    const { minX, maxX, minY, maxY } = boxOf(byCommune[at] ?? []);
    return { insee, name, x: (minX + maxX) / 2, y: (minY + maxY) / 2 };
  });
  const indexOf = new Map(communes.map(([insee], at) => [insee, at]));
  const ringsOf = (insee: string): readonly Float64Array[] | null => {
    const parts = byCommune[indexOf.get(insee) ?? -1];
    return parts === undefined ? null : joinLines(parts);
  };
  return { rings, box: boxOf(rings), divisions, borders, places, ringsOf };
}

/** Joins lines into rings where their ends meet; each line may run in either direction. */
function joinLines(lines: readonly Float64Array[]): Float64Array[] {
  const atCorner = new Map<string, Set<Float64Array>>();
  const cornersOf = (line: Float64Array): [string, string] => [line.slice(0, 2).join(), line.slice(-2).join()];
  for (const line of lines) {
    for (const corner of cornersOf(line)) atCorner.set(corner, (atCorner.get(corner) ?? new Set()).add(line));
  }
  const rest = new Set(lines);
  const rings: Float64Array[] = [];
  for (const first of rest) {
    const ring: number[] = [];
    let corner = cornersOf(first)[0];
    for (let line: Float64Array | undefined = first; line !== undefined; ) {
      rest.delete(line);
      const [start, end] = cornersOf(line);
      for (const one of [start, end]) atCorner.get(one)?.delete(line);
      for (let at = 0; at < line.length; at += 2) {
        const from: number = start === corner ? at : line.length - 2 - at;
        ring.push(line[from] as number, line[from + 1] as number);
      }
      corner = start === corner ? end : start;
      [line] = atCorner.get(corner) ?? [];
    }
    rings.push(Float64Array.from(ring));
  }
  return rings;
}
