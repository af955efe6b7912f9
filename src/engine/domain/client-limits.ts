/** Rules for an operator's input about a client of the REST API, shared by all commands. */

const RATE = { min: 1, max: 1_000_000 };
const AMOUNT = { min: 0, max: 1_000_000_000 };

/** Bounds of each limit that may replace a client's default. */
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
