/**
 * Encodes limits and values as signed bytes, in the order of the numbers. Round numbers, which people type, are *edges*
 * with their own codes. All numbers between two edges share a *gap* code. So a comparison of codes decides all cases,
 * except if a limit and a value are in the same gap. Then the exact check decides.
 */

import { isOfProperty, type OfProperty, plainCriteria, type RowOf } from '../../domain/criterion-table.ts';

/** In a row, this means "no minimum"; in a query, an unknown value that is compared with minimums. */
export const CODE_MIN = -128;
/** In a row, this means "no maximum"; in a query, an unknown value that is compared with maximums. */
export const CODE_MAX = 127;
/** The codes of numbers range from -127 (below the first edge) to 125. Codes at an even distance from -127 are gaps. */
const CODE_FIRST = -127;
const EDGES_MAX = 126;

export type Edges = Float64Array;

/** Numbers from `from` up to but excluding `to`, at intervals of `step`. */
type Steps = readonly [from: number, to: number, step: number];

function edgesOf(...runs: readonly Steps[]): Edges {
  const edges: number[] = [];
  for (const [from, to, step] of runs) for (let edge = from; edge < to; edge += step) edges.push(edge);
  if (edges.length > EDGES_MAX) throw new RangeError(`${edges.length} edges exceed the maximum of ${EDGES_MAX}`);
  return Float64Array.from(edges);
}

/** Euros, for both rents and sales. */
const PRICES = edgesOf(
  [200, 1000, 50],
  [1000, 2000, 100],
  [2000, 5000, 500],
  [5000, 50_000, 15_000],
  [50_000, 500_000, 10_000],
  [500_000, 1_000_000, 25_000],
  [1_000_000, 2_000_000, 100_000],
  [2_000_000, 5_000_000, 500_000],
  [5_000_000, 20_000_001, 5_000_000],
);
/** Euros per m², for both rents and sales. */
const PRICES_PER_METER = edgesOf(
  [5, 30, 1],
  [30, 100, 10],
  [100, 1000, 100],
  [1000, 5000, 100],
  [5000, 10_000, 250],
  [10_000, 20_001, 1000],
);
/** m². */
const SURFACES = edgesOf([6, 40, 1], [40, 100, 2], [100, 200, 5], [200, 500, 20], [500, 1001, 100]);
/** m². */
const LAND_SURFACES = edgesOf(
  [50, 1000, 50],
  [1000, 3000, 100],
  [3000, 10_000, 500],
  [10_000, 50_000, 2500],
  [50_000, 200_001, 10_000],
);
const COUNTS = edgesOf([0, 100, 1]);

/** Edges for the ranges of the property. Null leaves a range to `conditions`, as with the ranges of adverts. */
const EDGES: Readonly<Record<OfProperty<RowOf<'range'>>['name'], Edges | null>> = {
  budget: PRICES,
  pricePerMeter: PRICES_PER_METER,
  surface: SURFACES,
  landSurface: LAND_SURFACES,
  room: COUNTS,
  bedroom: COUNTS,
  floor: null,
  marketDifference: null,
};

/** The ranges with columns, in the order of the columns. Each has a column for its minimum and one for its maximum. */
export const MEASURES = plainCriteria('range')
  .filter(isOfProperty)
  .filter(({ name }) => EDGES[name] !== null);
export const EDGES_OF_MEASURE = MEASURES.flatMap(({ name }) => EDGES[name] ?? []);

/** Returns the code of `value`, which must not be NaN. A greater value never has a smaller code. */
export function codeOf(edges: Edges, value: number): number {
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((edges[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  const isEdge = low > 0 && edges[low - 1] === value;
  return CODE_FIRST + 2 * low - (isEdge ? 1 : 0);
}

/** Whether several numbers share the code. */
export function isGap(code: number): boolean {
  return ((code - CODE_FIRST) & 1) === 0;
}
