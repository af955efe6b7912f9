/** The streams that crawlers use (decisions, section 8), as the daemon creates them. */

const DAY_MS = 24 * 3_600_000;
const MIB = 1_024 * 1_024;

/** Messages of crawlers. */
export const ADVERTS = {
  name: 'ADVERTS',
  subjects: 'adverts.>',
  subjectOf: (propertyUuid: string): string => `adverts.${propertyUuid}`,
  keptMs: 7 * DAY_MS,
  /** A repeated `Nats-Msg-Id` is recognised within this time. */
  duplicateWindowMs: 2 * 60_000,
} as const;

export const REJECTED = {
  name: 'REJECTED',
  subjects: 'adverts-rejected.*',
  /** Null if the property is unknown. */
  subjectOf: (propertyUuid: string | null): string => `adverts-rejected.${propertyUuid ?? 'unknown'}`,
  keptMs: 7 * DAY_MS,
  bytesMax: 256 * MIB,
  /** Maximum share of NATS's storage, if that is less than `bytesMax`. */
  shareMax: 1 / 8,
} as const;
