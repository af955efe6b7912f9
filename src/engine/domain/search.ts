/** Saved searches: the members a client may write (specification, section 2.1; decisions, section 2) and their criteria. */

import { areasOf } from './areas.ts';
import type { EventKind } from './codes.ts';
import { floorRangeOf, listOf, rangeOf } from './criterion-kinds.ts';
import { type Criteria, type CriterionMembers, plainCriteria, type RowOf, UNASKED } from './criterion-table.ts';
import type { EventThresholds } from './event-thresholds.ts';
import { parseExpressions } from './expressions.ts';
import { featureSetOf } from './features.ts';
import type { SearchNumber, Uuid } from './ids.ts';
import type { MailConsent, MailFrequency, MailStanding } from './mail.ts';
import { namesOf, type SiteCategoryName } from './site-category-criteria.ts';
import { criterionSetOf } from './unknown-criteria.ts';

export type { SiteCategoryName };

/** Every writable member, validated, in the form it is stored. */
export interface SearchMembers extends CriterionMembers {
  readonly title: string;
  readonly hidePropertyContact: boolean;
  readonly notificationEnabled: boolean;
  readonly notificationRecipient: string | null;
  readonly notificationConsent: MailConsent | null;
  readonly notificationReplyTo: string | null;
  readonly notificationFrequency: MailFrequency;
  readonly endpointRecipient: string | null;
  readonly eventEndpoint: string | null;
  readonly subscribedEvents: readonly EventKind[];
  readonly eventThresholds: EventThresholds | null;
  /** The client's own JSON, which its webhooks carry; null without one. */
  readonly context: unknown;
}

export interface Search {
  readonly number: SearchNumber;
  readonly id: Uuid;
  readonly clientId: Uuid;
  readonly members: SearchMembers;
  /** Signs this search's deliveries: `whsec_` and base64 of 32 bytes. */
  readonly token: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly lastAlertAt: Date | null;
  readonly mail: MailStanding;
}

/** Defaults of decisions, section 2; `title` alone is required. */
export const SEARCH_DEFAULTS: Omit<SearchMembers, 'title'> = {
  ...UNASKED,
  hidePropertyContact: false,
  notificationEnabled: false,
  notificationRecipient: null,
  notificationConsent: null,
  notificationReplyTo: null,
  notificationFrequency: 'instant',
  endpointRecipient: null,
  eventEndpoint: null,
  subscribedEvents: [],
  eventThresholds: null,
  context: null,
};

type FlagName = RowOf<'flag'>['name'];
const FLAGS = plainCriteria('flag').map(({ name }) => name);

/** Sets the flags in place: a spread amid a literal costs more than all the rest of it. */
function withFlags(criteria: Omit<Criteria, FlagName>, members: SearchMembers): Criteria {
  const flagged = criteria as { -readonly [Name in keyof Criteria]: Criteria[Name] };
  for (const name of FLAGS) flagged[name] = members[name];
  return flagged;
}

/** The criteria in the members of a search. Written out: the index creates a million of them when it loads. */
export function criteriaOf(members: SearchMembers, siteCategoryName: SiteCategoryName): Criteria {
  const criteria = {
    transactionType: members.transactionType,
    propertyTypes: listOf(members.propertyTypes),
    publisherTypes: listOf(members.publisherTypes),
    budget: rangeOf(members.budgetMin, members.budgetMax),
    advertPrice: rangeOf(members.advertPriceMin, members.advertPriceMax),
    pricePerMeter: rangeOf(members.pricePerMeterMin, members.pricePerMeterMax),
    surface: rangeOf(members.surfaceMin, members.surfaceMax),
    landSurface: rangeOf(members.landSurfaceMin, members.landSurfaceMax),
    room: rangeOf(members.roomMin, members.roomMax),
    bedroom: rangeOf(members.bedroomMin, members.bedroomMax),
    floor: floorRangeOf(members.floorMin, members.floorMax),
    constructionYear: rangeOf(members.constructionYearMin, members.constructionYearMax),
    condominiumFees: rangeOf(null, members.condominiumFeesMax),
    rentalCharges: rangeOf(null, members.rentalChargesMax),
    energy: listOf(members.energyCategories),
    greenHouseGas: listOf(members.greenHouseGasCategories),
    includedFeatures: featureSetOf(members.includedFeatures),
    excludedFeatures: featureSetOf(members.excludedFeatures),
    lastFloor: members.lastFloor === true,
    withCoherentPrice: members.withCoherentPrice === true,
    withVirtualTour: members.withVirtualTour === true,
    areas: areasOf(members),
    excludedInseeCodes: members.excludedCities,
    includedSiteCategories: namesOf(members.includedSiteCategories, siteCategoryName),
    excludedSiteCategories: namesOf(members.excludedSiteCategories, siteCategoryName),
    expressions: parseExpressions(members.expressions),
    orMissing: criterionSetOf(members.orMissing),
  };
  return withFlags(criteria, members);
}
