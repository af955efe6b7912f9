/** Rows in order are the same rows, and their groups accept less than groups of rows as they came. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../bench/adverts/seeded-random.ts';
import { BOUND_COLUMNS, LANES } from '../src/engine/matching/kernel/layout.ts';
import { acceptsOf } from '../src/engine/matching/rows/kind-cut.ts';
import { CODE_MAX, CODE_MIN } from '../src/engine/matching/rows/quantiser.ts';
import { ORDERED_ROWS_MAX, orderedRows, orderRows } from '../src/engine/matching/rows/row-order.ts';

const random = createRandom(3);
const integer = (from: number, to: number): number => from + Math.floor(random.uniform() * (to - from + 1));

function drawRows(rowCount: number): void {
  const { bounds, types, needs, accepts, boxes } = orderedRows;
  for (let row = 0; row < rowCount; row++) {
    types[row] = [1, 2, 3, 32, 255][integer(0, 4)] as number;
    needs[row] = 1 << integer(0, 5);
    accepts[row] = acceptsOf(types[row] as number, needs[row] as number);
    for (let column = 0; column < BOUND_COLUMNS; column++) {
      const unbounded = column % 2 === 0 ? CODE_MIN : CODE_MAX;
      bounds.codes[column * bounds.stride + row] = random.uniform() < 0.5 ? unbounded : integer(-100, 100);
    }
    const [west, south] = [integer(0, 1e6), integer(0, 1e6)];
    boxes.set([west, south, west + integer(1, 3e5), south + integer(1, 3e5)], 4 * row);
  }
}

/** Groups whose boxes hold a place, of some places. */
function groupsVisited(order: ArrayLike<number>): number {
  const { boxes } = orderedRows;
  let visited = 0;
  for (let place = 0; place < 500; place++) {
    const [x, y] = [(place * 7919) % 1.3e6, (place * 104_729) % 1.3e6];
    for (let start = 0; start < order.length; start += LANES) {
      let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
      for (let i = start; i < Math.min(order.length, start + LANES); i++) {
        const at = 4 * (order[i] as number);
        west = Math.min(west, boxes[at] as number);
        south = Math.min(south, boxes[at + 1] as number);
        east = Math.max(east, boxes[at + 2] as number);
        north = Math.max(north, boxes[at + 3] as number);
      }
      if (x >= west && x <= east && y >= south && y <= north) visited += 1;
    }
  }
  return visited;
}

test('any number of rows up to the most are ordered without losing one', () => {
  for (const rowCount of [1, 2, LANES, LANES + 1, 40, 100, 255, ORDERED_ROWS_MAX]) {
    drawRows(rowCount);
    for (const box of [null, { minX: 0, minY: 0, maxX: 1.3e6, maxY: 1.3e6 }]) {
      const order = [...orderRows(rowCount, box)];
      assert.deepEqual(
        order.toSorted((a, b) => a - b),
        Array.from({ length: rowCount }, (_, row) => row),
      );
    }
  }
});

test('ordered by their boxes alone, fewer groups are worth a visit', () => {
  drawRows(ORDERED_ROWS_MAX);
  const { bounds, types, needs, accepts } = orderedRows;
  types.fill(1);
  needs.fill(0);
  accepts.fill(acceptsOf(1, 0));
  for (let column = 0; column < BOUND_COLUMNS; column++) {
    const start = column * bounds.stride;
    bounds.codes.fill(column % 2 === 0 ? CODE_MIN : CODE_MAX, start, start + bounds.stride);
  }
  const asTheyCame = Array.from({ length: ORDERED_ROWS_MAX }, (_, row) => row);
  const order = orderRows(ORDERED_ROWS_MAX, { minX: 0, minY: 0, maxX: 1.3e6, maxY: 1.3e6 });
  assert.ok(groupsVisited(order) < 0.7 * groupsVisited(asTheyCame));
});
