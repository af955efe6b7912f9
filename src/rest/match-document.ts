/** A match as its owner reads it (specification, section 2.5): the property document is the present one. */

import { type PropertyDocument, propertyDocument, propertyIri } from '../engine/domain/property-document.ts';
import type { Reference } from '../engine/reference/communes.ts';
import type { MatchRead } from '../engine/store/match-reads.ts';
import { searchIri } from './search-document.ts';

export function matchDocument(match: MatchRead, { resolvePlace }: Pick<Reference, 'resolvePlace'>): object {
  return {
    '@context': '/contexts/Match',
    '@id': `/matches/${match.id}`,
    '@type': 'Match',
    property: propertyIri(match.propertyUuid),
    search: searchIri(match.searchId),
    createdAt: match.createdAt.toISOString(),
    updatedAt: match.updatedAt.toISOString(),
    propertyDocument: documentOf(match, resolvePlace),
  };
}

function documentOf(match: MatchRead, resolvePlace: Reference['resolvePlace']): PropertyDocument | null {
  if (match.held === null) return null;
  const { state, crawls } = match.held;
  return propertyDocument(state, crawls, resolvePlace, { withContacts: !match.hidePropertyContact });
}
