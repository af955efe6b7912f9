/** The streams that crawlers see (decisions, section 8), as the daemon creates them. */

const DAY_MS = 24 * 3_600_000;
const MIB = 1_024 * 1_024;

/** What crawlers say. */
export const ADVERTS = {
  name: 'ADVERTS',
  subjects: 'adverts.>',
  subjectOf: (propertyUuid: string): string => `adverts.${propertyUuid}`,
  keptMs: 7 * DAY_MS,
  /** In which a `Nats-Msg-Id` is recognised. */
  duplicateWindowMs: 2 * 60_000,
} as const;

/** Rejections of messages of `ADVERTS`. */
export const REJECTED = {
  name: 'REJECTED',
  subjects: 'adverts-rejected.*',
  /** Null when the property is unknown. */
  subjectOf: (propertyUuid: string | null): string => `adverts-rejected.${propertyUuid ?? 'unknown'}`,
  keptMs: 7 * DAY_MS,
  bytesMax: 256 * MIB,
  /** The share of NATS's room, where that is less. */
  shareMax: 1 / 8,
} as const;
