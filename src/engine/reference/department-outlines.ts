/** The outlines of a department's communes, as numbers that compress well: what a map draws of it. */

import type { Outlines } from './outlines/packed-outlines.ts';

/** Beyond a line lies another department; for the sea and other countries see `COAST` and `BORDER`. */
const OTHER_DEPARTMENT = -3;

export interface DepartmentOutlines {
  readonly attribution: string;
  /** Degrees a step, longitude first. */
  readonly scale: readonly number[];
  /** Degrees of the grid's origin. */
  readonly translate: readonly number[];
  readonly communes: readonly (readonly [insee: string, name: string])[];
  /**
   * Each line once: the index of the commune on one side, what lies on the other (a commune or a negative code), then the
   * steps from corner to corner; the first is from the first corner of the line before.
   */
  readonly lines: readonly (readonly number[])[];
}

/** `nameOf` is null for a commune that is not in the department. Null: none of them has an outline. */
export function departmentOutlines(
  { attribution, scale, translate, insees, inside, beyond, starts, xs, ys }: Outlines,
  nameOf: (insee: string) => string | null,
): DepartmentOutlines | null {
  const communes: [string, string][] = [];
  const indexOf = new Map<number, number>();
  for (const [outline, insee] of insees.entries()) {
    const name = nameOf(insee);
    if (name === null) continue;
    indexOf.set(outline, communes.length);
    communes.push([insee, name]);
  }
  if (communes.length === 0) return null;
  const lines: number[][] = [];
  let [fromX, fromY] = [0, 0];
  for (let arc = 0; arc < inside.length; arc++) {
    const outside = beyond[arc] as number;
    const sides = [inside[arc] as number, outside].flatMap((side) => indexOf.get(side) ?? []);
    const [commune, other = outside < 0 ? outside : OTHER_DEPARTMENT] = sides;
    if (commune === undefined) continue;
    const first = starts[arc] as number;
    const line = [commune, other];
    let [x, y] = [fromX, fromY];
    for (let at = first; at < (starts[arc + 1] as number); at++) {
      line.push((xs[at] as number) - x, (ys[at] as number) - y);
      [x, y] = [xs[at] as number, ys[at] as number];
    }
    [fromX, fromY] = [xs[first] ?? fromX, ys[first] ?? fromY];
    lines.push(line);
  }
  return { attribution, scale, translate, communes, lines };
}
