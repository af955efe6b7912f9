/**
 * The file of the communes' outlines: a line of JSON, then columns of 32-bit integers, each value as its difference from
 * the one before, which compresses well. Each line between two communes stands once.
 */

/** Beyond an outer arc lies the sea, or a lake. */
export const COAST = -1;
/** Beyond an outer arc lies another country. */
export const BORDER = -2;

interface Head {
  readonly attribution: string;
  /** Degrees a step of the grid, longitude first. */
  readonly scale: readonly number[];
  /** Degrees of the grid's origin. */
  readonly translate: readonly number[];
  readonly insees: readonly string[];
}

const COLUMNS = ['inside', 'beyond', 'starts', 'xs', 'ys'] as const;

export interface Outlines extends Head {
  /** By arc, ascending: index of a commune. */
  readonly inside: Int32Array;
  /** By arc: index of a commune, a greater one, or `COAST` or `BORDER`. */
  readonly beyond: Int32Array;
  /** The corners of arc `i` are `starts[i]` to `starts[i + 1]`, the latter excluded. */
  readonly starts: Int32Array;
  /** Corners on the grid. */
  readonly xs: Int32Array;
  readonly ys: Int32Array;
}

export function packOutlines({ attribution, scale, translate, insees, ...columns }: Outlines): Buffer {
  const lengths = COLUMNS.map((name) => columns[name].length);
  const head = JSON.stringify({ attribution, scale, translate, insees, lengths });
  const steps = COLUMNS.flatMap((name) => [...columns[name].map((value, i, all) => value - (all[i - 1] ?? 0))]);
  return Buffer.concat([Buffer.from(`${head}\n`), Buffer.from(Int32Array.from(steps).buffer)]);
}

/** The integers are little-endian, as is every platform that Node.js runs on here. */
export function unpackOutlines(bytes: Buffer): Outlines {
  const headEnd = bytes.indexOf('\n');
  const { lengths, ...head } = JSON.parse(bytes.toString('utf8', 0, headEnd)) as Head & { readonly lengths: number[] };
  const steps = new Int32Array(Uint8Array.from(bytes.subarray(headEnd + 1)).buffer);
  let end = 0;
  const columns = lengths.map((length) => {
    const column = steps.subarray(end, (end += length));
    for (let i = 1; i < length; i++) column[i] = (column[i] as number) + (column[i - 1] as number);
    return column;
  });
  const [inside, beyond, starts, xs, ys] = columns as [Int32Array, Int32Array, Int32Array, Int32Array, Int32Array];
  return { ...head, inside, beyond, starts, xs, ys };
}
