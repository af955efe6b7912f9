/** The outlines of a department's communes, for maps, as numbers that compress well. */

import type { Outlines } from './outlines/packed-outlines.ts';

/** Another department is beyond the line. `COAST` and `BORDER` mean the sea and another country. */
const OTHER_DEPARTMENT = -3;

export interface DepartmentOutlines extends Pick<Outlines, 'attribution' | 'scale' | 'translate'> {
  readonly communes: readonly (readonly [insee: string, name: string])[];
  /**
   * Each line is stored once. It has the index of the commune on one side, the other side (a commune or a negative
   * code), and the steps between corners. The first step starts at the first corner of the previous line.
   */
  readonly lines: readonly (readonly number[])[];
}

/** `nameOf` returns null for a commune outside the department. Null if no commune of the department has an outline. */
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
