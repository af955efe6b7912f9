/** Adverts and their events (specification, section 2.7). Units are euros and m², times are in UTC, null is unknown. */

import type { EventKind } from './codes.ts';
import type { InLanguages } from './criterion-words.ts';
import type { Uuid } from './ids.ts';
import type { SentUpsert } from './intake-schema.ts';

type ListMember = 'features' | 'pictures' | 'picturesRemote';

/** The members of an advert that a crawler sends. If one differs, the advert has changed. An unknown list is empty. */
export type AdvertContent = Omit<SentUpsert['advert'], 'uuid' | ListMember> & {
  readonly [member in ListMember]: readonly string[];
};

/** The old and the new value of one field, sent to clients as `adEvent` (specification, section 6.2). */
export interface FieldChange {
  readonly fieldName: string;
  readonly fieldOldValue: string | null;
  readonly fieldNewValue: string | null;
  /** For price and surface, the result of `percentVariation` (change.ts), which may be null; otherwise null. */
  readonly percentVariation: number | null;
  /** Set only for the end of a match: the reason why a criterion fails. Not stored with the advert. */
  readonly reason?: InLanguages<string>;
  /** Set only for an advert that is live again: the number of days since it expired. Not stored with the advert. */
  readonly daysAway?: number;
}

/** An event of an advert or, in notifications, of a match. `field` is null if the event names no field. */
export interface AdvertEvent {
  readonly kind: EventKind;
  readonly advertUuid: Uuid;
  /** When the crawler saw the change that caused the event. */
  readonly createdAt: string;
  readonly field: FieldChange | null;
}
