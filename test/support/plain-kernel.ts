/** The kernel of `matching/kernel/source.ts` in plain TypeScript: the same answers, in the same order, bit for bit. */

import {
  ATTENTION,
  BOUND_COLUMNS,
  BOUNDS,
  CHECK_ANSWERS,
  CHECK_COUNT,
  CHECK_INTEGERS,
  GROUP_LIST,
  LANES,
  LATITUDES,
  LONGITUDES,
  MAYBE_BOUNDS,
  NEED_COLUMNS,
  NEEDS,
  NUMBERS,
  OPEN_ROW,
  QUERY_COSINES,
  QUERY_LACKING,
  QUERY_LATITUDE,
  QUERY_LONGITUDE,
  QUERY_TRIGGER,
  QUERY_TYPE,
  REACHES,
  SOURCES,
  SURE_ANSWERS,
  SURE_BOUNDS,
  SURE_DEGREES,
  SURE_PART,
  TYPES,
} from '../../src/engine/matching/kernel/layout.ts';
import type { KernelFilter } from '../../src/engine/matching/rows/candidate-rows.ts';
import type { GroupMemory } from '../../src/engine/matching/rows/row-groups.ts';

const FAILS = 0;
const IS_OPEN = 1;
const PASSES = 2;

export function createPlainKernel(memory: GroupMemory): KernelFilter {
  return (groupCount, hasArea) => {
    const { bytes, integers } = memory;
    const trigger = bytes[QUERY_TRIGGER] as number;
    let sure = SURE_ANSWERS >> 2;
    let check = CHECK_ANSWERS >> 2;
    for (let listed = 0; listed < groupCount; listed++) {
      const group = integers[(GROUP_LIST >> 2) + listed] as number;
      for (let lane = 0; lane < LANES; lane++) {
        let verdict = judgeColumns(memory, group + lane);
        if (verdict !== FAILS && hasArea) verdict = Math.min(verdict, judgeArea(memory.floats, (group >> 2) + lane));
        if (verdict === FAILS) continue;
        const attention = bytes[group + lane + ATTENTION] as number;
        const number = integers[((group + NUMBERS) >> 2) + lane] as number;
        if (verdict === PASSES && (attention & trigger) === 0) {
          integers[sure++] = number;
          continue;
        }
        integers[check++] = number;
        integers[check++] = integers[((group + SOURCES) >> 2) + lane] as number;
        integers[check++] = attention | (verdict === IS_OPEN ? OPEN_ROW : 0);
      }
    }
    integers[CHECK_COUNT >> 2] = (check - (CHECK_ANSWERS >> 2)) / CHECK_INTEGERS;
    return sure - (SURE_ANSWERS >> 2);
  };
}

function judgeColumns({ bytes, codes }: GroupMemory, row: number): number {
  if (((bytes[row + TYPES] as number) & (bytes[QUERY_TYPE] as number)) === 0) return FAILS;
  for (let column = 0; column < NEED_COLUMNS; column++) {
    const needs = bytes[row + NEEDS + column * LANES] as number;
    if ((needs & (bytes[QUERY_LACKING + column] as number)) !== 0) return FAILS;
  }
  let verdict = PASSES;
  for (let column = 0; column < BOUND_COLUMNS; column += 2) {
    const min = codes[row + BOUNDS + column * LANES] as number;
    const max = codes[row + BOUNDS + (column + 1) * LANES] as number;
    if (min > (codes[MAYBE_BOUNDS + column] as number)) return FAILS;
    if (max < (codes[MAYBE_BOUNDS + column + 1] as number)) return FAILS;
    if (min > (codes[SURE_BOUNDS + column] as number)) verdict = IS_OPEN;
    if (max < (codes[SURE_BOUNDS + column + 1] as number)) verdict = IS_OPEN;
  }
  return verdict;
}

/** `word`: of the row's lane in a column at offset 0. Every operation rounds to single precision, as the kernel's do. */
function judgeArea(floats: Float32Array, word: number): number {
  const { fround } = Math;
  const cosines = QUERY_COSINES >> 2;
  const north = fround((floats[word + (LATITUDES >> 2)] as number) - (floats[QUERY_LATITUDE >> 2] as number));
  const east = fround((floats[word + (LONGITUDES >> 2)] as number) - (floats[QUERY_LONGITUDE >> 2] as number));
  const slope = fround((floats[cosines + 1] as number) + fround((floats[cosines + 2] as number) * north));
  const cosine = fround((floats[cosines] as number) - fround(north * slope));
  const distance = fround(fround(north * north) + fround(fround(east * east) * (cosine > 0 ? cosine : 0)));
  const reach = floats[word + (REACHES >> 2)] as number;
  if (distance > reach) return FAILS;
  const surely = fround(fround(reach * SURE_PART) - fround(fround(Math.sqrt(reach)) * SURE_DEGREES));
  return distance > surely ? IS_OPEN : PASSES;
}
