/**
 * The source of the matching kernel in the text format of WebAssembly, which `build.ts` assembles. The kernel tests the
 * sixteen rows of a group against one property, column by column. All offsets are in `layout.ts`.
 *
 * A row *fails* if a column excludes the property. A row that does not fail is *open* if a quantised column or the
 * distance cannot decide. If a row is neither open nor needs attention, its number is added to the sure answers. All
 * other rows that do not fail are added to the rows to check.
 *
 * Groups are scattered, so most of the time is spent waiting for memory. Therefore a pass that only reads a word of
 * each cache line precedes the passes that use these lines. Nothing depends on these words, so the processor loads as
 * many lines at once as it can. Only the last pass branches on rows.
 */

import { MEASURES } from '../rows/quantiser.ts';
import { PAGES_MAX } from '../rows/shared-memory.ts';
import * as at from './layout.ts';

/** Offset from a group's entry in the list to its passing lanes, one bit for each. `OPEN` is that to its open lanes. */
const PASSING = at.VERDICTS - at.GROUP_LIST;
const OPEN = PASSING + 2;
const ALL_LANES = 2 ** at.LANES - 1;

const NEXT_GROUP = `(br_if $nextGroup (i32.lt_u
        (local.tee $list (i32.add (local.get $list) (i32.const 4)))
        (local.get $listEnd)))`;

/** Code that reads a word of each cache line between two offsets of `$group`. */
function touchLines(from: number, to: number): string {
  const lines = Array.from(
    { length: Math.ceil((to - from) / at.LINE_BYTES) },
    (_, line) => from + at.LINE_BYTES * line,
  );
  return lines
    .map((line) => `(local.set $read (i32.xor (local.get $read) (i32.load offset=${line} (local.get $group))))`)
    .join('\n      ');
}

/** Code that loads one code of the query into all lanes of a local. */
function loadCode(local: string, offset: number): string {
  return `(local.set $${local} (v128.load8_splat offset=${offset} (i32.const 0)))`;
}

const NEED_LOCALS = Array.from({ length: at.NEED_COLUMNS }, (_, column) => `lacking${column}`);

/** A row fails if its TYPES share no bit with the property's, or its NEEDS have a bit that the property lacks. */
const KINDS_FAIL = NEED_LOCALS.reduce(
  (failing, lacking, column) => `(v128.or
        ${failing}
        (i8x16.ne (v128.and (v128.load offset=${at.NEEDS + at.LANES * column} (local.get $group)) (local.get $${lacking})) (local.get $zero)))`,
  `(i8x16.eq (v128.and (v128.load offset=${at.TYPES} (local.get $group)) (local.get $type)) (local.get $zero))`,
);

const SIDES = ['Min', 'Max'] as const;

/** The codes of the query with which limits are compared, and their offsets. */
const BOUND_CODES = MEASURES.flatMap((_, measure) =>
  [
    { certainty: 'maybe', first: at.MAYBE_BOUNDS },
    { certainty: 'sure', first: at.SURE_BOUNDS },
  ].flatMap(({ certainty, first }) =>
    SIDES.map((side, i) => ({ local: `${certainty}${side}${measure}`, offset: first + 2 * measure + i })),
  ),
);

const FILTER_BOUNDS = MEASURES.flatMap(({ name }, measure) =>
  SIDES.map((side, i) => {
    const beyond = side === 'Min' ? 'i8x16.gt_s' : 'i8x16.lt_s';
    return `;; ${name}
      (local.set $column (v128.load offset=${at.BOUNDS + at.LANES * (2 * measure + i)} (local.get $group)))
      (local.set $failing (v128.or (local.get $failing)
        (${beyond} (local.get $column) (local.get $maybe${side}${measure}))))
      (local.set $opening (v128.or (local.get $opening)
        (${beyond} (local.get $column) (local.get $sure${side}${measure}))))`;
  }),
).join('\n      ');

/** `count` is the number of listed groups; `hasArea` is 1 if they have areas. Returns the number of sure answers. */
const FILTER = `
  (func (export "filter") (param $count i32) (param $hasArea i32) (result i32)
    (local $listEnd i32)
    (local.set $listEnd (i32.add (i32.const ${at.GROUP_LIST}) (i32.shl (local.get $count) (i32.const 2))))
    (call $fetchColumns (i32.const ${at.GROUP_LIST}) (local.get $listEnd))
    (call $filterColumns (i32.const ${at.GROUP_LIST}) (local.get $listEnd))
    (if (local.get $hasArea)
      (then
        (call $fetchAreas (i32.const ${at.GROUP_LIST}) (local.get $listEnd))
        (call $filterAreas (local.get $listEnd)))
      (else (call $fetchSources (i32.const ${at.GROUP_LIST}) (local.get $listEnd))))
    (call $answer (local.get $listEnd)))`;

/** Prefetches the columns with one byte per lane. Stores the words, so that the reads are not optimised away. */
const FETCH_COLUMNS = `
  (func $fetchColumns (param $list i32) (param $listEnd i32)
    (local $group i32) (local $read i32)
    (loop $nextGroup
      (local.set $group (i32.load (local.get $list)))
      ${touchLines(0, at.NUMBERS)}
      ${NEXT_GROUP})
    (i32.store offset=${at.TOUCHED} (i32.const 0) (local.get $read)))`;

/** Prefetches the other columns of groups with a passing row. Reads address 0 for other groups, to avoid a branch. */
function fetchRest(name: string, end: number): string {
  return `
  (func ${name} (param $list i32) (param $listEnd i32)
    (local $group i32) (local $read i32)
    (loop $nextGroup
      (local.set $group (select
        (i32.load (local.get $list))
        (i32.const 0)
        (i32.load16_u offset=${PASSING} (local.get $list))))
      ${touchLines(at.NUMBERS, end)}
      ${NEXT_GROUP})
    (i32.store offset=${at.TOUCHED} (i32.const 0) (local.get $read)))`;
}

const FETCH_SOURCES = fetchRest('$fetchSources', at.PLACE_GROUP_BYTES);
const FETCH_AREAS = fetchRest('$fetchAreas', at.AREA_GROUP_BYTES);

const FILTER_COLUMNS = `
  (func $filterColumns (param $list i32) (param $listEnd i32)
    (local $group i32)
    (local $failing v128) (local $opening v128) (local $column v128)
    (local $type v128) ${NEED_LOCALS.map((lacking) => `(local $${lacking} v128)`).join(' ')} (local $zero v128)
    ${BOUND_CODES.map(({ local }) => `(local $${local} v128)`).join(' ')}
    ${BOUND_CODES.map(({ local, offset }) => loadCode(local, offset)).join('\n    ')}
    ${loadCode('type', at.QUERY_TYPE)}
    ${NEED_LOCALS.map((lacking, column) => loadCode(lacking, at.QUERY_LACKING + column)).join('\n    ')}
    (loop $nextGroup
      (local.set $group (i32.load (local.get $list)))
      (local.set $failing ${KINDS_FAIL})
      (local.set $opening (local.get $zero))
      ${FILTER_BOUNDS}
      (i32.store offset=${PASSING} (local.get $list) (i32.or
        (i32.xor (i8x16.bitmask (local.get $failing)) (i32.const ${ALL_LANES}))
        (i32.shl (i8x16.bitmask (local.get $opening)) (i32.const 16))))
      ${NEXT_GROUP}))`;

/** Narrows the result of `filterColumns`: a row passes only within its reach, and is open unless clearly within it. */
const FILTER_AREAS = `
  (func $filterAreas (param $listEnd i32)
    (local $list i32) (local $group i32) (local $part i32) (local $lanes i32) (local $beyond i32)
    (local $lat v128) (local $lon v128) (local $cosine0 v128) (local $cosine1 v128) (local $cosine2 v128)
    (local $north v128) (local $east v128) (local $distance v128) (local $reach v128) (local $zero v128)
    (local.set $lat (v128.load32_splat offset=${at.QUERY_LATITUDE} (i32.const 0)))
    (local.set $lon (v128.load32_splat offset=${at.QUERY_LONGITUDE} (i32.const 0)))
    (local.set $cosine0 (v128.load32_splat offset=${at.QUERY_COSINES} (i32.const 0)))
    (local.set $cosine1 (v128.load32_splat offset=${at.QUERY_COSINES + 4} (i32.const 0)))
    (local.set $cosine2 (v128.load32_splat offset=${at.QUERY_COSINES + 8} (i32.const 0)))
    (local.set $list (i32.const ${at.GROUP_LIST}))
    (loop $nextGroup
      (local.set $group (i32.load (local.get $list)))
      (if (i32.load16_u offset=${PASSING} (local.get $list))
        (then
          (local.set $beyond (i32.const 0))
          (local.set $lanes (i32.const 0))
          (local.set $part (local.get $group))
          (loop $nextPart
            ;; Squared distance in degrees of arc: north^2 + max(cos(lat) cos(latRow), 0) east^2.
            (local.set $north (f32x4.sub (v128.load offset=${at.LATITUDES} (local.get $part)) (local.get $lat)))
            (local.set $east (f32x4.sub (v128.load offset=${at.LONGITUDES} (local.get $part)) (local.get $lon)))
            (local.set $distance (f32x4.add
              (f32x4.mul (local.get $north) (local.get $north))
              (f32x4.mul
                (f32x4.mul (local.get $east) (local.get $east))
                (f32x4.pmax (local.get $zero) (f32x4.sub
                  (local.get $cosine0)
                  (f32x4.mul (local.get $north) (f32x4.add
                    (local.get $cosine1)
                    (f32x4.mul (local.get $cosine2) (local.get $north)))))))))
            (local.set $reach (v128.load offset=${at.REACHES} (local.get $part)))
            (local.set $beyond (i32.or (local.get $beyond) (i32.shl
              (i32.or
                (i32x4.bitmask (f32x4.gt (local.get $distance) (local.get $reach)))
                (i32.shl
                  (i32x4.bitmask (f32x4.gt
                    (local.get $distance)
                    (f32x4.sub
                      (f32x4.mul (local.get $reach) (f32x4.splat (f32.const ${at.SURE_PART})))
                      (f32x4.mul (f32x4.sqrt (local.get $reach)) (f32x4.splat (f32.const ${at.SURE_DEGREES}))))))
                  (i32.const 16)))
              (local.get $lanes))))
            (local.set $part (i32.add (local.get $part) (i32.const 16)))
            (br_if $nextPart (i32.lt_u
              (local.tee $lanes (i32.add (local.get $lanes) (i32.const 4)))
              (i32.const ${at.LANES}))))
          (i32.store16 offset=${PASSING} (local.get $list) (i32.and
            (i32.load16_u offset=${PASSING} (local.get $list))
            (i32.xor (local.get $beyond) (i32.const -1))))
          (i32.store16 offset=${OPEN} (local.get $list) (i32.or
            (i32.load16_u offset=${OPEN} (local.get $list))
            (i32.shr_u (local.get $beyond) (i32.const 16))))))
      ${NEXT_GROUP}))`;

const ANSWER = `
  (func $answer (param $listEnd i32) (result i32)
    (local $list i32) (local $group i32) (local $sure i32) (local $check i32)
    (local $passing i32) (local $open i32) (local $checked i32) (local $lane i32) (local $word i32)
    (local $trigger v128) (local $zero v128)
    ${loadCode('trigger', at.QUERY_TRIGGER)}
    (local.set $list (i32.const ${at.GROUP_LIST}))
    (local.set $sure (i32.const ${at.SURE_ANSWERS}))
    (local.set $check (i32.const ${at.CHECK_ANSWERS}))
    (loop $nextGroup
      (local.set $passing (i32.load16_u offset=${PASSING} (local.get $list)))
      (if (local.get $passing)
        (then
          (local.set $group (i32.load (local.get $list)))
          (local.set $open (i32.load16_u offset=${OPEN} (local.get $list)))
          (local.set $checked (i32.or (local.get $open) (i8x16.bitmask (i8x16.ne
            (v128.and (v128.load offset=${at.ATTENTION} (local.get $group)) (local.get $trigger))
            (local.get $zero)))))
          (loop $nextRow
            (local.set $lane (i32.ctz (local.get $passing)))
            (if (i32.and (i32.shr_u (local.get $checked) (local.get $lane)) (i32.const 1))
              (then
                (local.set $word (i32.add (local.get $group) (i32.shl (local.get $lane) (i32.const 2))))
                (i32.store (local.get $check) (i32.load offset=${at.NUMBERS} (local.get $word)))
                (i32.store offset=4 (local.get $check) (i32.load offset=${at.SOURCES} (local.get $word)))
                (i32.store offset=8 (local.get $check) (i32.or
                  (i32.load8_u offset=${at.ATTENTION} (i32.add (local.get $group) (local.get $lane)))
                  (i32.shl
                    (i32.and (i32.shr_u (local.get $open) (local.get $lane)) (i32.const 1))
                    (i32.const ${Math.log2(at.OPEN_ROW)}))))
                (local.set $check (i32.add (local.get $check) (i32.const ${4 * at.CHECK_INTEGERS}))))
              (else
                (i32.store (local.get $sure) (i32.load offset=${at.NUMBERS}
                  (i32.add (local.get $group) (i32.shl (local.get $lane) (i32.const 2)))))
                (local.set $sure (i32.add (local.get $sure) (i32.const 4)))))
            (br_if $nextRow (local.tee $passing
              (i32.and (local.get $passing) (i32.sub (local.get $passing) (i32.const 1))))))))
      ${NEXT_GROUP})
    (i32.store offset=${at.CHECK_COUNT} (i32.const 0)
      (i32.div_u (i32.sub (local.get $check) (i32.const ${at.CHECK_ANSWERS})) (i32.const ${4 * at.CHECK_INTEGERS})))
    (i32.shr_u (i32.sub (local.get $sure) (i32.const ${at.SURE_ANSWERS})) (i32.const 2)))`;

export const KERNEL_SOURCE = `(module
  (import "vigie" "memory" (memory 1 ${PAGES_MAX} shared))
${[FILTER, FETCH_COLUMNS, FETCH_SOURCES, FETCH_AREAS, FILTER_COLUMNS, FILTER_AREAS, ANSWER].join('\n')})
`;
