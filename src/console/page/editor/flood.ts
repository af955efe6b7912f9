/** The preview warns if a search would have more matches a day than a person can read. */

const FLOOD_PER_DAY = 50;

/** The rounded number of matches a day; null if there are not too many. */
export function floodOf(perDay: number | null): number | null {
  return perDay !== null && perDay > FLOOD_PER_DAY ? Math.max(FLOOD_PER_DAY + 1, Math.round(perDay)) : null;
}
