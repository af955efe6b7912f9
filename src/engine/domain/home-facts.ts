/**
 * Facts of a home by the rules of decisions, section 3: the value of the property; otherwise of its representative
 * advert; otherwise of the most recently crawled live advert that states one.
 */

import { advertsByCrawl, type Crawls, type PropertyState, type StoredAdvert } from './property.ts';
import type { PropertyFacts } from './property-facts.ts';

export type HomeFacts = Pick<PropertyFacts, 'floor' | 'elevator' | 'isOnLastFloor'>;

export function homeOf(state: PropertyState, crawls: Crawls): HomeFacts {
  const adverts = advertsByCrawl(state, crawls);
  const floor = firstStated(adverts, ({ property, content }) => property.floor ?? content.floor);
  return {
    floor,
    elevator: firstStated(adverts, ({ property, content }) => property.elevator ?? content.elevator),
    isOnLastFloor: isOnLastFloor(floor, firstStated(adverts, floorsOf)),
  };
}

/** 0 means unknown. */
function floorsOf({ content }: StoredAdvert): number | null {
  return content.floorQuantity || null;
}

/** Half of all sources count the ground floor as a floor, half do not. */
function isOnLastFloor(floor: number | null, floors: number | null): boolean | null {
  return floor === null || floors === null ? null : floor >= floors - 1;
}

function firstStated<Value>(
  adverts: readonly StoredAdvert[],
  read: (advert: StoredAdvert) => Value | null,
): Value | null {
  for (const advert of adverts) {
    const value = read(advert) ?? null;
    if (value !== null) return value;
  }
  return null;
}
