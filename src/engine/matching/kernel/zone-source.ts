/**
 * The part of the kernel that reads zones: which groups of a leaf are worth testing, sixteen groups at a time. The
 * columns of a zone are judged like those of rows (`source`), its boxes here.
 */

import {
  GROUP_LIST,
  LANES,
  LINE_BYTES,
  QUERY_X,
  QUERY_Y,
  VERDICTS,
  ZONE_GROUPS,
  ZONE_LIST,
  ZONE_MAX_X,
  ZONE_MAX_Y,
  ZONE_MIN_X,
  ZONE_MIN_Y,
} from './layout.ts';

/** From a group's place in its list to the lanes that pass; those that are open have the other half of the word. */
export const PASSING = VERDICTS - GROUP_LIST;
export const OPEN = PASSING + 2;
export const ALL_LANES = 2 ** LANES - 1;

export const NEXT_GROUP = `(br_if $nextGroup (i32.lt_u
        (local.tee $list (i32.add (local.get $list) (i32.const 4)))
        (local.get $listEnd)))`;

/** Reads a word of each cache line of `$group`. */
export function touchLines(from: number, to: number): string {
  const lines = Array.from({ length: Math.ceil((to - from) / LINE_BYTES) }, (_, line) => from + LINE_BYTES * line);
  return lines
    .map((line) => `(local.set $read (i32.xor (local.get $read) (i32.load offset=${line} (local.get $group))))`)
    .join('\n      ');
}

const BOX_SIDES = [
  { column: ZONE_MIN_X, beyond: 'i32x4.gt_s', at: 'x' },
  { column: ZONE_MIN_Y, beyond: 'i32x4.gt_s', at: 'y' },
  { column: ZONE_MAX_X, beyond: 'i32x4.lt_s', at: 'x' },
  { column: ZONE_MAX_Y, beyond: 'i32x4.lt_s', at: 'y' },
];

/** The lanes of four whose box the place is outside of. */
const OUTSIDE = BOX_SIDES.map(
  ({ column, beyond, at }) => `(${beyond} (v128.load offset=${column} (local.get $part)) (local.get $${at}))`,
).reduce((outside, side) => `(v128.or\n              ${outside}\n              ${side})`);

/** Narrows what `judgeColumns` left of the zones to the groups whose box holds the place. */
export const JUDGE_BOXES = `
  (func $judgeBoxes (param $listEnd i32)
    (local $list i32) (local $part i32) (local $lanes i32) (local $outside i32)
    (local $x v128) (local $y v128)
    (local.set $x (v128.load32_splat offset=${QUERY_X} (i32.const 0)))
    (local.set $y (v128.load32_splat offset=${QUERY_Y} (i32.const 0)))
    (local.set $list (i32.const ${ZONE_LIST}))
    (loop $nextGroup
      (local.set $part (i32.load (local.get $list)))
      (local.set $lanes (i32.const 0))
      (local.set $outside (i32.const 0))
      (loop $nextPart
        (local.set $outside (i32.or (local.get $outside) (i32.shl
          (i32x4.bitmask ${OUTSIDE})
          (local.get $lanes))))
        (local.set $part (i32.add (local.get $part) (i32.const 16)))
        (br_if $nextPart (i32.lt_u
          (local.tee $lanes (i32.add (local.get $lanes) (i32.const 4)))
          (i32.const ${LANES}))))
      (i32.store16 offset=${PASSING} (local.get $list) (i32.and
        (i32.load16_u offset=${PASSING} (local.get $list))
        (i32.xor (local.get $outside) (i32.const -1))))
      ${NEXT_GROUP}))`;

/** Lists the groups that pass; returns the end of their list. */
export const ADD_GROUPS = `
  (func $addGroups (param $listEnd i32) (param $groupsEnd i32) (result i32)
    (local $list i32) (local $zone i32) (local $passing i32)
    (local.set $list (i32.const ${ZONE_LIST}))
    (loop $nextGroup
      (local.set $zone (i32.load (local.get $list)))
      (local.set $passing (i32.load16_u offset=${PASSING} (local.get $list)))
      (if (local.get $passing) (then
        (loop $nextLane
          (i32.store (local.get $groupsEnd) (i32.load offset=${ZONE_GROUPS}
            (i32.add (local.get $zone) (i32.shl (i32.ctz (local.get $passing)) (i32.const 2)))))
          (local.set $groupsEnd (i32.add (local.get $groupsEnd) (i32.const 4)))
          (br_if $nextLane (local.tee $passing
            (i32.and (local.get $passing) (i32.sub (local.get $passing) (i32.const 1))))))))
      ${NEXT_GROUP})
    (local.get $groupsEnd))`;
