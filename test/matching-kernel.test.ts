/** The SIMD kernel decides a row only if distances and codes of numbers are unambiguous. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { distanceKm } from '../src/engine/domain/geo.ts';
import {
  CHECK_ANSWERS,
  CHECK_COUNT,
  CHECK_INTEGERS,
  GROUP_LIST,
  KERNEL_BYTES,
  OPEN_ROW,
  QUERY_LACKING,
  QUERY_TRIGGER,
  QUERY_TYPE,
  SURE_ANSWERS,
} from '../src/engine/matching/kernel/layout.ts';
import { writePlace } from '../src/engine/matching/property-view.ts';
import { circleRow } from '../src/engine/matching/rows/area-geometry.ts';
import { createKernel, type KernelFilter } from '../src/engine/matching/rows/candidate-rows.ts';
import { codeOf, EDGES_OF_MEASURE, isGap } from '../src/engine/matching/rows/quantiser.ts';
import { createRow, GroupMemory } from '../src/engine/matching/rows/row-groups.ts';
import { LOADER, moduleUrl } from './support/checkout.ts';
import { runsOf } from './support/random-runs.ts';

/** The certain answers and those to check, from a group whose rows have a circle. */
function answersOf(filter: KernelFilter, memory: GroupMemory): number[][] {
  const sureCount = filter(1, true);
  const checkCount = (memory.integers[CHECK_COUNT >> 2] as number) * CHECK_INTEGERS;
  const from = (address: number, count: number) => [...memory.integers.subarray(address >> 2, (address >> 2) + count)];
  return [from(SURE_ANSWERS, sureCount), from(CHECK_ANSWERS, checkCount)];
}

test('a row that the kernel decides, inside or outside its circle, agrees with the sphere', () => {
  const memory = new GroupMemory(KERNEL_BYTES);
  const kernel = createKernel(memory);
  const group = memory.allocate(0, true);
  memory.integers[GROUP_LIST >> 2] = group;
  memory.bytes[QUERY_TYPE] = 1;
  memory.bytes[QUERY_LACKING] = 0;
  memory.bytes[QUERY_TRIGGER] = 0;
  const coordinate = (max: number) => fc.double({ min: -max, max, noNaN: true });
  fc.assert(
    fc.property(
      coordinate(75),
      coordinate(180),
      fc.double({ min: 0.05, max: 500, noNaN: true }),
      fc.double({ min: 0, max: 2 * Math.PI, noNaN: true }),
      fc.double({ min: 0.97, max: 1.03, noNaN: true }),
      (lat, lon, radiusKm, bearing, part) => {
        const circle = circleRow({ lat, lon, radiusKm });
        if (circle === null) return;
        const arc = (radiusKm * part) / 111.19;
        const placeLat = lat + arc * Math.cos(bearing);
        const placeLon = lon + (arc * Math.sin(bearing)) / Math.cos((lat * Math.PI) / 180);
        memory.write(group, 0, { ...createRow(), number: 9, ...circle }, true);
        writePlace(placeLat, placeLon, memory);
        const [sure, check] = answersOf(kernel, memory) as [number[], number[]];
        const isInside = distanceKm(lat, lon, placeLat, placeLon) <= radiusKm;
        if (sure.length === 0 && check.length === 0) assert.ok(!isInside, 'dropped');
        if (sure.length === 1 && circle.isDecisive) assert.ok(isInside, 'taken');
        assert.ok(check.length === 0 || ((check[2] as number) & OPEN_ROW) !== 0);
      },
    ),
    { numRuns: runsOf(20_000) },
  );
});

test('codes keep the order of numbers, and share a code only in a gap', () => {
  for (const edges of EDGES_OF_MEASURE) {
    const value = fc.oneof(fc.constantFrom(...edges), fc.double({ noNaN: true }), fc.integer({ min: 0, max: 1e6 }));
    fc.assert(
      fc.property(value, value, (a, b) => {
        const codes = [codeOf(edges, a), codeOf(edges, b)] as const;
        if (a < b) assert.ok(codes[0] <= codes[1]);
        if (a !== b && codes[0] === codes[1]) assert.ok(isGap(codes[0]));
        assert.ok(codes[0] >= -127 && codes[0] <= 125);
      }),
    );
  }
});

test('a processor without the instructions is refused with a remedy', { skip: process.arch !== 'x64' }, async () => {
  const rows = moduleUrl('src/engine/matching/rows/candidate-rows').href;
  const args = [
    '--no-enable-sse4-1',
    ...LOADER,
    '--input-type=module',
    '--eval',
    `new (await import('${rows}')).CandidateRows()`,
  ];
  await assert.rejects(
    promisify(execFile)(process.execPath, args),
    /Matching needs SSE4\.1.*choose a processor type.*PROCESSOR_UNFIT/s,
  );
});
