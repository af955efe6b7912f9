/** Adverts and their events (specification, section 2.7). Units are euros and m², times are in UTC, null is unknown. */

import type { EventKind } from './codes.ts';
import type { InLanguages } from './criterion-words.ts';
import type { Uuid } from './ids.ts';
import type { StatedFlags } from './property-flags.ts';

export interface Contact {
  readonly agency: string | null;
  readonly email: string | null;
  readonly fax: string | null;
  readonly name: string | null;
  readonly phone: string | null;
  readonly reference: string | null;
}

export interface Publisher {
  /** Name of the site category. */
  readonly category: string | null;
  readonly name: string | null;
  readonly type: number | null;
}

export interface EnergyRating {
  readonly category: string | null;
  readonly value: number | null;
}

/** The members of an advert that a crawler sends. If any of them differs, the advert has changed. */
export interface AdvertContent extends StatedFlags {
  readonly title: string | null;
  readonly description: string | null;
  readonly url: string | null;
  readonly virtualTour: string | null;
  readonly contact: Contact | null;
  readonly publisher: Publisher | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly features: readonly string[];
  readonly energy: EnergyRating | null;
  readonly greenHouseGas: EnergyRating | null;
  readonly constructionYear: number | null;
  readonly floorQuantity: number | null;
  readonly floor: number | null;
  readonly lotCount: number | null;
  readonly price: number | null;
  readonly priceExcludingFees: number | null;
  readonly renterFees: number | null;
  readonly rentalPledge: number | null;
  readonly inventoryPrice: number | null;
  readonly rentalCharges: number | null;
  readonly feesPercentage: number | null;
  readonly condominiumFees: number | null;
  readonly feesResponsibility: number | null;
  readonly surface: number | null;
  readonly landSurface: number | null;
  readonly pictures: readonly string[];
  readonly picturesRemote: readonly string[];
}

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
