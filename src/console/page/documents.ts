/** Types of the answers that the page reads: those of `/openapi.json`, and details that it leaves open. */

import type {
  AdEvent,
  Match,
  FeedItem as OpenFeedItem,
  PointOfInterest,
  PropertyCity,
  Search,
} from './generated/documents.ts';

export type {
  Advert as AdvertDocument,
  Attempt as AttemptDocument,
  City as CityDocument,
  Coordinates as Place,
  Delivery as DeliveryDocument,
  Endpoint as EndpointDocument,
  Explanation as ExplanationDocument,
  FoundProperty as FoundDocument,
  Location as LocationDocument,
  Match as MatchDocument,
  Preview as PreviewDocument,
  PropertyDocument,
  Search as SearchDocument,
  SiteCategory,
  WebhookTest as WebhookTestDocument,
} from './generated/documents.ts';

export interface Collection<Member> {
  readonly 'hydra:member': readonly Member[];
  readonly 'hydra:totalItems': number;
  readonly 'hydra:view'?: { readonly 'hydra:next'?: string };
}

/** A ring is `[longitude, latitude]` by corner, closed. */
export type Ring = Search['geoShapes'][number][number];

export interface FeedItem extends OpenFeedItem {
  readonly body: { readonly event: string; readonly adEvent?: AdEvent; readonly match: Match } | null;
}

export interface FeedPage {
  readonly items: readonly FeedItem[];
  readonly next: string;
}

export interface PointDocument extends PointOfInterest {
  readonly attributes: Readonly<Record<string, string>> | readonly [];
}

/** The first arrondissement of cities whose zip codes belong to arrondissements, by INSEE code. */
export const FIRST_ARRONDISSEMENTS: Readonly<Record<string, string>> = {
  75056: '75101',
  69123: '69381',
  13055: '13201',
};

/** `Toulon (83000)`, `Marseille` */
export function cityLabel({ insee, name, zipcode }: Pick<PropertyCity, 'insee' | 'name' | 'zipcode'>): string {
  return zipcode === null || insee in FIRST_ARRONDISSEMENTS ? name : `${name} (${zipcode})`;
}

/** The last segment of an IRI: `/searches/0b8f…` → `0b8f…`. */
export function idOf(iri: string): string {
  return iri.slice(iri.lastIndexOf('/') + 1);
}
