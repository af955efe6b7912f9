/** Types of the answers that the page reads: those of `/openapi.json`, and details that it does not specify. */

import type {
  AdEventDocument,
  FeedItemDocument,
  MatchDocument,
  PointOfInterestDocument,
  PropertyCityDocument,
  SearchDocument,
} from './generated/documents.ts';

export type * from './generated/documents.ts';

export interface Collection<Member> {
  readonly 'hydra:member': readonly Member[];
  readonly 'hydra:totalItems': number;
  readonly 'hydra:view'?: { readonly 'hydra:next'?: string };
}

/** The corners of a ring, `[longitude, latitude]`; the last one repeats the first. */
export type Ring = SearchDocument['geoShapes'][number][number];

export interface FeedItem extends FeedItemDocument {
  readonly body: { readonly event: string; readonly adEvent?: AdEventDocument; readonly match: MatchDocument } | null;
}

export interface FeedPage {
  readonly items: readonly FeedItem[];
  readonly next: string;
}

export interface PointDocument extends PointOfInterestDocument {
  readonly attributes: Readonly<Record<string, string>> | readonly [];
}

/** The first arrondissement of cities whose zip codes belong to arrondissements, by INSEE code. */
export const FIRST_ARRONDISSEMENTS: Readonly<Record<string, string>> = {
  75056: '75101',
  69123: '69381',
  13055: '13201',
};

/** `Toulon (83000)`, `Marseille` */
export function cityLabel({ insee, name, zipcode }: Pick<PropertyCityDocument, 'insee' | 'name' | 'zipcode'>): string {
  return zipcode === null || insee in FIRST_ARRONDISSEMENTS ? name : `${name} (${zipcode})`;
}

/** The last segment of an IRI: `/searches/0b8f…` → `0b8f…`. */
export function idOf(iri: string): string {
  return iri.slice(iri.lastIndexOf('/') + 1);
}
