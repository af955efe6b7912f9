/** Saved searches: the writable members (specification, section 2.1; decisions, section 2) and their criteria. */

import { alternativesOf } from './alternatives.ts';
import { areasOf, excludedAreasOf } from './areas.ts';
import type { EventKind } from './codes.ts';
import { listOf, rangeOf, signedRangeOf } from './criterion-kinds.ts';
import { type Criteria, type CriterionMembers, plainCriteria, type RowOf, UNASKED } from './criterion-table.ts';
import type { EventThresholds } from './event-thresholds.ts';
import { parseExpressions } from './expressions.ts';
import { featureSetOf } from './features.ts';
import type { SearchNumber, Uuid } from './ids.ts';
import type { MailConsent, MailFrequency, MailStanding } from './mail.ts';
import { namesOf, type SiteCategoryName } from './site-category-criteria.ts';
import { foldText } from './text.ts';
import { criterionSetOf } from './unknown-criteria.ts';

export type { SiteCategoryName };

/** Defaults of decisions, section 2; only `title` is required. */
export const SEARCH_DEFAULTS = {
  ...UNASKED,
  /** Title shown to recipients. If it is null, they see the criteria in words. */
  publicTitle: null as string | null,
  hidePropertyContact: false,
  notificationEnabled: false,
  notificationRecipient: null as string | null,
  notificationConsent: null as MailConsent | null,
  notificationReplyTo: null as string | null,
  notificationFrequency: 'instant' as MailFrequency,
  endpointRecipient: null as string | null,
  eventEndpoint: null as string | null,
  subscribedEvents: [] as readonly EventKind[],
  eventThresholds: null as EventThresholds | null,
  /** The client's own JSON, which its webhooks include; null if there is none. */
  context: null as unknown,
};

/** Every writable member, validated and in its stored form. */
export interface SearchMembers extends Readonly<typeof SEARCH_DEFAULTS> {
  /** Not shown to recipients of e-mails. */
  readonly title: string;
}

export interface Search {
  readonly number: SearchNumber;
  readonly id: Uuid;
  readonly clientId: Uuid;
  readonly members: SearchMembers;
  /** Signs this search's deliveries: `whsec_` and the base64 of 32 bytes. */
  readonly token: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly lastAlertAt: Date | null;
  /** Time up to which the client has seen the matches; null if it has never seen any. */
  readonly seenAt: Date | null;
  /** Number of matches created since `seenAt` (all matches if it is null), at most `NEW_MATCHES_MAX`. */
  readonly newSinceSeen: number;
  /** Number of matches created in the last seven days, at most `NEW_MATCHES_MAX`. */
  readonly matchedLast7Days: number;
  readonly mail: MailStanding;
}

export const NEW_MATCHES_MAX = 1_000;

export type SearchTexts = Pick<SearchMembers, 'title' | 'publicTitle' | 'notificationRecipient' | 'context'>;

/** The folded text that the filter `q` searches, with one line per value. */
export function searchableText({ title, publicTitle, notificationRecipient, context }: SearchTexts): string {
  return textsIn([title, publicTitle, notificationRecipient, context]).map(foldText).join('\n');
}

/** The string values in JSON, at any depth. */
function textsIn(json: unknown): readonly string[] {
  if (typeof json === 'string') return [json];
  return typeof json === 'object' && json !== null ? Object.values(json).flatMap(textsIn) : [];
}

type FlagName = RowOf<'flag'>['name'];
const FLAGS = plainCriteria('flag').map(({ name }) => name);

/** Sets the flags in place, because a spread in the object below would cost more than all its other members. */
function withFlags(criteria: Omit<Criteria, FlagName>, members: CriterionMembers): Criteria {
  const flagged = criteria as { -readonly [Name in keyof Criteria]: Criteria[Name] };
  for (const name of FLAGS) flagged[name] = members[name];
  return flagged;
}

/** The criteria that the members set. Written out for speed, because loading the index calls this a million times. */
export function criteriaOf(members: CriterionMembers | SearchMembers, siteCategoryName: SiteCategoryName): Criteria {
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
    floor: signedRangeOf(members.floorMin, members.floorMax),
    marketDifference: signedRangeOf(members.marketDifferenceMin, members.marketDifferenceMax),
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
    excludedAreas: excludedAreasOf(members),
    includedSiteCategories: namesOf(members.includedSiteCategories, siteCategoryName),
    excludedSiteCategories: namesOf(members.excludedSiteCategories, siteCategoryName),
    includedPublishers: members.includedPublishers,
    pointsOfInterest: members.pointsOfInterest,
    excludedPublishers: members.excludedPublishers,
    expressions: parseExpressions(members.expressions),
    orMissing: criterionSetOf(members.orMissing),
    alternatives: alternativesOf(members).map((one) => criteriaOf(one, siteCategoryName)),
  };
  return withFlags(criteria, members);
}
