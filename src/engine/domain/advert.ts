/** Adverts and their events (specification, section 2.7). Units are euros and m², times are in UTC, null is unknown. */

import type { EventKind } from './codes.ts';
import type { InLanguages } from './criterion-words.ts';
import type { Uuid } from './ids.ts';
import type { SentUpsert } from './intake-schema.ts';

type ListMember = 'features' | 'pictures' | 'picturesRemote';

/** The members of an advert that a crawler sends. If any of them differs, the advert has changed. Lists may be empty. */
export type AdvertContent = Omit<SentUpsert['advert'], 'uuid' | ListMember> & {
  readonly [member in ListMember]: readonly string[];
};

/** The old and the new value of one field, sent to clients as `adEvent` (specification, section 6.2). */
export interface FieldChange {
  readonly fieldName: string;
  readonly fieldOldValue: string | null;
  readonly fieldNewValue: string | null;
  /** (new − old) / old × 100, rounded to two decimals, halves away from zero. Null if it is undefined. */
  readonly percentVariation: number | null;
  /** Set only for the end of a match: the reason why a criterion fails. Not stored. */
  readonly reason?: InLanguages<string>;
  /** Set only for an advert that is live again: the number of days since it expired. Not stored. */
  readonly daysAway?: number;
}

/** One recorded change. `field` is null if the change concerns the whole advert. */
export interface AdvertEvent {
  readonly kind: EventKind;
  readonly advertUuid: Uuid;
  /** When the crawler saw the change. */
  readonly createdAt: string;
  readonly field: FieldChange | null;
}
