/** What an operator may say of a client of the REST API, whichever command says it. */

const RATE = { min: 1, max: 1_000_000 };
const AMOUNT = { min: 0, max: 1_000_000_000 };

/** Of each limit that a client may have instead of the configured one. */
export const CLIENT_LIMIT_RANGES = {
  rateLimitPerSecond: RATE,
  rateLimitBurst: RATE,
  writeLimitPerSecond: RATE,
  writeLimitBurst: RATE,
  searchesMax: AMOUNT,
  polygonCornersMax: AMOUNT,
  excludedWordsMax: AMOUNT,
  matchesPerAdvertMax: AMOUNT,
} as const;

/** Of clients and keys. */
export const DISPLAY_NAME_LENGTH_MAX = 200;
