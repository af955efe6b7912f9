/** The SIMD kernel answers what a plain one answers, bit for bit, and is never surer than the sphere allows. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { distanceKm } from '../src/engine/domain/geo.ts';
import {
  BOUND_COLUMNS,
  BOUNDS,
  CHECK_ANSWERS,
  CHECK_COUNT,
  CHECK_INTEGERS,
  GROUP_LIST,
  KERNEL_BYTES,
  LANES,
  LATITUDES,
  MAYBE_BOUNDS,
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
import { createRow, GroupMemory, groupBytes } from '../src/engine/matching/rows/row-groups.ts';
import { LOADER, moduleUrl } from './support/checkout.ts';
import { createPlainKernel } from './support/plain-kernel.ts';
import { runsOf } from './support/random-runs.ts';

function answersOf(filter: KernelFilter, memory: GroupMemory, groupCount: number, hasArea: boolean): number[][] {
  const sureCount = filter(groupCount, hasArea);
  const checkCount = (memory.integers[CHECK_COUNT >> 2] as number) * CHECK_INTEGERS;
  const from = (address: number, count: number) => [...memory.integers.subarray(address >> 2, (address >> 2) + count)];
  return [from(SURE_ANSWERS, sureCount), from(CHECK_ANSWERS, checkCount)];
}

test('on any bytes in rows and query, both kernels give the same answers', () => {
  const groupCount = 8;
  const bytes = fc.uint8Array({ minLength: groupCount * LATITUDES, maxLength: groupCount * LATITUDES });
  // Bounds near the query's, or random ones would fail nearly always.
  const offset = fc.integer({ min: -2, max: 2 });
  const places = fc.array(fc.tuple(fc.double({ min: -90, max: 90 }), fc.double({ min: -180, max: 180 }), fc.float()), {
    minLength: groupCount * LANES,
    maxLength: groupCount * LANES,
  });
  fc.assert(
    fc.property(
      bytes,
      fc.uint8Array({ minLength: QUERY_TRIGGER + 1, maxLength: QUERY_TRIGGER + 1 }),
      offset,
      places,
      (rows, query, offset, places) => {
        const memory = new GroupMemory(KERNEL_BYTES);
        memory.bytes.set(query, MAYBE_BOUNDS);
        writePlace(places[0]?.[0] ?? 0, places[0]?.[1] ?? 0, memory);
        const step = groupBytes(true);
        const chunk = memory.allocate(3, true);
        for (let group = 0; group < groupCount; group++) {
          const address = chunk + group * step;
          memory.integers[(GROUP_LIST >> 2) + group] = address;
          memory.bytes.set(rows.subarray(group * LATITUDES, (group + 1) * LATITUDES), address);
          for (let lane = 0; lane < LANES; lane++) {
            for (let column = 0; column < BOUND_COLUMNS && lane % 2 === 0; column++) {
              memory.codes[address + BOUNDS + column * LANES + lane] = (memory.codes[column] as number) + offset;
            }
            const [lat, lon, reach] = places[group * LANES + lane] as [number, number, number];
            memory.floats.set([lat], (address + LATITUDES) / 4 + lane);
            memory.floats.set([lon], (address + LATITUDES) / 4 + LANES + lane);
            memory.floats.set([lane % 3 === 0 ? 1e5 : reach], (address + LATITUDES) / 4 + 2 * LANES + lane);
          }
        }
        const simd = createKernel(memory);
        const plain = createPlainKernel(memory);
        for (const hasArea of [false, true]) {
          const answers = answersOf(simd, memory, groupCount, hasArea);
          assert.deepEqual(answersOf(plain, memory, groupCount, hasArea), answers);
        }
      },
    ),
    { numRuns: runsOf(600) },
  );
});

test('no group means no answer', () => {
  const memory = new GroupMemory(KERNEL_BYTES);
  assert.deepEqual(answersOf(createKernel(memory), memory, 0, true), [[], []]);
  assert.deepEqual(answersOf(createPlainKernel(memory), memory, 0, true), [[], []]);
});

test('a row that the kernel is sure of, inside or outside its circle, is so on the sphere', () => {
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
        const [sure, check] = answersOf(kernel, memory, 1, true) as [number[], number[]];
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

test('a processor without the instructions is refused with what to do', { skip: process.arch !== 'x64' }, async () => {
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
    /matching needs SSE4\.1.*choose a processor type.*PROCESSOR_UNFIT/s,
  );
});
