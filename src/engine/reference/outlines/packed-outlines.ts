/**
 * The file of the communes' outlines: a line of JSON (grid, attribution, counts), then whole numbers of seven bits a byte,
 * the last one of each without the high bit (LEB128), signed ones zigzag. Each line between two communes stands once, as
 * the steps from corner to corner on the grid, with the communes on both sides, or what lies beyond.
 */

import { cityIdOf, inseeOf } from '../commune-records.ts';

/** Beyond an outer arc lies the sea, or a lake. */
export const COAST = -1;
/** Beyond an outer arc lies another country. */
export const BORDER = -2;

interface Grid {
  readonly attribution: string;
  /** Degrees a step, longitude first. */
  readonly scale: readonly number[];
  /** Degrees of the grid's origin. */
  readonly translate: readonly number[];
}

export interface PackedArc {
  readonly points: readonly (readonly [x: number, y: number])[];
  /** Index of a commune. */
  readonly inside: number;
  /** Index of a commune, a greater one, or `COAST` or `BORDER`. */
  readonly beyond: number;
}

interface PackedOutlines extends Grid {
  readonly insees: readonly string[];
  readonly arcs: readonly PackedArc[];
}

/** `insees` ascend by id, `arcs` by the commune inside. */
export function packOutlines({ insees, arcs, ...grid }: PackedOutlines): Buffer {
  const bytes: number[] = [];
  const put = (value: number): void => {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
    bytes.push(rest);
  };
  const putSigned = (value: number): void => put((value << 1) ^ (value >> 31));
  let id = 0;
  for (const insee of insees) {
    put(cityIdOf(insee) - id);
    id = cityIdOf(insee);
  }
  let [inside, fromX, fromY] = [0, 0, 0];
  let corners = 0;
  for (const arc of arcs) {
    put(arc.inside - inside);
    put(arc.beyond < 0 ? -1 - arc.beyond : arc.beyond - arc.inside + 1);
    put(arc.points.length);
    inside = arc.inside;
    corners += arc.points.length;
    let [x, y] = [fromX, fromY];
    for (const [cornerX, cornerY] of arc.points) {
      putSigned(cornerX - x);
      putSigned(cornerY - y);
      [x, y] = [cornerX, cornerY];
    }
    [fromX, fromY] = arc.points[0] ?? [fromX, fromY];
  }
  const head = JSON.stringify({ ...grid, outlines: insees.length, arcs: arcs.length, corners });
  return Buffer.concat([Buffer.from(`${head}\n`), Buffer.from(bytes)]);
}

/** Corners on the grid: those of arc `i` are `starts[i]` to `starts[i + 1]`, the latter excluded. */
export interface UnpackedOutlines extends Grid {
  readonly insees: readonly string[];
  readonly inside: Uint16Array;
  /** Index of a commune, or `COAST` or `BORDER`. */
  readonly beyond: Int32Array;
  readonly starts: Uint32Array;
  readonly xs: Int32Array;
  readonly ys: Int32Array;
}

export function unpackOutlines(bytes: Buffer): UnpackedOutlines {
  const headEnd = bytes.indexOf(0x0a);
  const head = JSON.parse(bytes.toString('utf8', 0, headEnd)) as Grid & Record<'outlines' | 'arcs' | 'corners', number>;
  let at = headEnd + 1;
  const next = (): number => {
    let byte = bytes[at++] as number;
    let value = byte & 0x7f;
    for (let shift = 7; byte > 0x7f; shift += 7) {
      byte = bytes[at++] as number;
      value |= (byte & 0x7f) << shift;
    }
    return value;
  };
  const nextSigned = (): number => {
    const value = next();
    return (value >>> 1) ^ -(value & 1);
  };
  const insees: string[] = [];
  for (let id = 0, index = 0; index < head.outlines; index++) insees.push(inseeOf((id += next())));
  const inside = new Uint16Array(head.arcs);
  const beyond = new Int32Array(head.arcs);
  const starts = new Uint32Array(head.arcs + 1);
  const xs = new Int32Array(head.corners);
  const ys = new Int32Array(head.corners);
  let [corner, fromX, fromY] = [0, 0, 0];
  for (let arc = 0; arc < head.arcs; arc++) {
    inside[arc] = (inside[arc - 1] ?? 0) + next();
    const step = next();
    beyond[arc] = step < 2 ? -1 - step : (inside[arc] as number) + step - 1;
    const end = corner + next();
    let [x, y] = [fromX, fromY];
    starts[arc] = corner;
    for (; corner < end; corner++) {
      xs[corner] = x += nextSigned();
      ys[corner] = y += nextSigned();
    }
    [fromX, fromY] = [xs[starts[arc] as number] ?? fromX, ys[starts[arc] as number] ?? fromY];
  }
  starts[head.arcs] = corner;
  const { attribution, scale, translate } = head;
  return { attribution, scale, translate, insees, inside, beyond, starts, xs, ys };
}
