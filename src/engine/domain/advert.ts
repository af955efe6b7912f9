/** Adverts and the events recorded on them (specification, section 2.7). `null` means unknown. Euros, m², UTC instants. */

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

/** The members of an advert that a crawler states; a difference in any of them is a change. */
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

/** The old and new value of one field, as `adEvent` carries it (specification, section 6.2). */
export interface FieldChange {
  readonly fieldName: string;
  readonly fieldOldValue: string | null;
  readonly fieldNewValue: string | null;
  /** (new − old) / old × 100, two decimals, half away from zero; null if it is not defined. */
  readonly percentVariation: number | null;
  /** For the end of a match: why a criterion fails. Not stored. */
  readonly reason?: InLanguages<string>;
  /** For an advert that is live again: how many days it was expired. Not stored. */
  readonly daysAway?: number;
}

/** One recorded change. `field` is null for kinds that concern the whole advert. */
export interface AdvertEvent {
  readonly kind: EventKind;
  readonly advertUuid: Uuid;
  /** When the crawler saw the change. */
  readonly createdAt: string;
  readonly field: FieldChange | null;
}
