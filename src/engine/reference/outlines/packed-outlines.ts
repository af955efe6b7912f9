/**
 * The file format of the communes' outlines: a line of JSON, then columns of 32-bit integers. Each value is stored as
 * the difference from the previous value, which compresses well. An arc between two communes is stored once.
 */

/** The sea or a lake is beyond the outer arc. All arcs of arrondissements have this code too. */
export const COAST = -1;
/** Another country is beyond the outer arc. */
export const BORDER = -2;

interface Head {
  readonly attribution: string;
  /** Degrees per step of the grid, longitude first. */
  readonly scale: readonly number[];
  /** The grid's origin in degrees. */
  readonly translate: readonly number[];
  readonly insees: readonly string[];
}

const COLUMNS = ['inside', 'beyond', 'starts', 'xs', 'ys'] as const;

export interface Outlines extends Head {
  /** By arc, in ascending order: the index of a commune. */
  readonly inside: Int32Array;
  /** By arc: the larger index of another commune, or `COAST` or `BORDER`. */
  readonly beyond: Int32Array;
  /** The corners of arc `i` are from `starts[i]` up to but not including `starts[i + 1]`. */
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

/** The integers are little-endian, as on every platform that Vigie supports. */
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
