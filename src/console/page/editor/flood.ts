/** More matches a day than anybody reads: the preview asks before the search is saved. */

const FLOOD_PER_DAY = 50;

/** Whole matches a day; null where they are no flood. */
export function floodOf(perDay: number): number | null {
  return perDay > FLOOD_PER_DAY ? Math.max(FLOOD_PER_DAY + 1, Math.round(perDay)) : null;
}
