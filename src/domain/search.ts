/** Saved searches: the members a client may write (specification, section 2.1; decisions, section 2) and their criteria. */

import type { EventKind } from './codes.ts';
import { type Criteria, type Range, UNBOUNDED } from './criteria.ts';
import { parseExpressions } from './expressions.ts';
import type { Polygon } from './geo.ts';
import type { SearchNumber, Uuid } from './ids.ts';
import type { MailFrequency, MailStanding } from './mail.ts';

/**
 * Every writable member, validated, in the form it is stored. References are kept as keys (INSEE code, department
 * code, site category id); the REST edge turns them into IRIs and embedded resources.
 */
export interface SearchMembers {
  readonly title: string;
  readonly transactionType: number | null;
  /** In the form it was sent: one code or several. */
  readonly propertyTypes: number | readonly number[] | null;
  readonly publisherTypes: number | readonly number[] | null;
  readonly budgetMin: number | null;
  readonly budgetMax: number | null;
  readonly advertPriceMin: number | null;
  readonly advertPriceMax: number | null;
  readonly pricePerMeterMin: number | null;
  readonly pricePerMeterMax: number | null;
  readonly surfaceMin: number | null;
  readonly surfaceMax: number | null;
  readonly landSurfaceMin: number | null;
  readonly landSurfaceMax: number | null;
  readonly roomMin: number | null;
  readonly roomMax: number | null;
  readonly bedroomMin: number | null;
  readonly bedroomMax: number | null;
  readonly furnished: boolean | null;
  readonly withCoherentPrice: boolean | null;
  readonly withVirtualTour: boolean | null;
  readonly hidePropertyContact: boolean;
  /** Decimal degrees and kilometres, as text; all three or none. */
  readonly lat: string | null;
  readonly lon: string | null;
  readonly radius: string | null;
  readonly includedCities: readonly string[];
  readonly excludedCities: readonly string[];
  readonly includedDepartments: readonly string[];
  readonly includedZipcodes: readonly string[];
  readonly includedInseeCodes: readonly string[];
  readonly includedSiteCategories: readonly number[];
  readonly excludedSiteCategories: readonly number[];
  readonly geoShapes: readonly Polygon[];
  /** The bracketed query string. */
  readonly expressions: string | null;
  readonly notificationEnabled: boolean;
  readonly notificationRecipient: string | null;
  readonly notificationFrequency: MailFrequency;
  readonly endpointRecipient: string | null;
  readonly eventEndpoint: string | null;
  readonly subscribedEvents: readonly EventKind[];
  /** The client's own: any JSON, which its webhooks carry; null when there is none. */
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
  transactionType: null,
  propertyTypes: null,
  publisherTypes: null,
  budgetMin: null,
  budgetMax: null,
  advertPriceMin: null,
  advertPriceMax: null,
  pricePerMeterMin: null,
  pricePerMeterMax: null,
  surfaceMin: null,
  surfaceMax: null,
  landSurfaceMin: null,
  landSurfaceMax: null,
  roomMin: null,
  roomMax: null,
  bedroomMin: null,
  bedroomMax: null,
  furnished: null,
  withCoherentPrice: true,
  withVirtualTour: null,
  hidePropertyContact: false,
  lat: null,
  lon: null,
  radius: null,
  includedCities: [],
  excludedCities: [],
  includedDepartments: [],
  includedZipcodes: [],
  includedInseeCodes: [],
  includedSiteCategories: [],
  excludedSiteCategories: [],
  geoShapes: [],
  expressions: null,
  notificationEnabled: false,
  notificationRecipient: null,
  notificationFrequency: 'instant',
  endpointRecipient: null,
  eventEndpoint: null,
  subscribedEvents: [],
  context: null,
};

/** Names a site category by its id; null when operators have removed it. */
export type SiteCategoryName = (id: number) => string | null;

export function criteriaOf(members: SearchMembers, siteCategoryName: SiteCategoryName): Criteria {
  const { lat, lon, radius } = members;
  return {
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
    furnished: members.furnished,
    withCoherentPrice: members.withCoherentPrice === true,
    withVirtualTour: members.withVirtualTour === true,
    areas: {
      circle:
        lat === null || lon === null || radius === null
          ? null
          : { lat: Number(lat), lon: Number(lon), radiusKm: Number(radius) },
      inseeCodes: union(members.includedCities, members.includedInseeCodes),
      departmentCodes: members.includedDepartments,
      zipcodes: members.includedZipcodes,
      polygons: members.geoShapes,
    },
    excludedInseeCodes: members.excludedCities,
    includedSiteCategories: namesOf(members.includedSiteCategories, siteCategoryName),
    excludedSiteCategories: namesOf(members.excludedSiteCategories, siteCategoryName),
    expressions: parseExpressions(members.expressions),
  };
}

const NONE: readonly never[] = [];

function listOf(codes: number | readonly number[] | null): readonly number[] {
  if (codes === null) return NONE;
  return typeof codes === 'number' ? [codes] : codes;
}

/** Each once; most searches fill neither list, or one with a single code. */
function union(some: readonly string[], others: readonly string[]): readonly string[] {
  if (some.length + others.length < 2) return some.length === 0 ? others : some;
  return [...new Set([...some, ...others])];
}

/** Those that operators have not removed. */
function namesOf(ids: readonly number[], siteCategoryName: SiteCategoryName): readonly string[] {
  return ids.length === 0 ? NONE : ids.flatMap((id) => siteCategoryName(id) ?? []);
}

/** 0 is no bound on either side: a minimum of 0 never excludes a missing value (decisions, section 2). */
function rangeOf(min: number | null, max: number | null): Range {
  if ((min === null || min === 0) && (max === null || max === 0)) return UNBOUNDED;
  return { min: min === 0 ? null : min, max: max === 0 ? null : max };
}
