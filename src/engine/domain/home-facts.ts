/**
 * Facts of a home by the rules of decisions, section 3. Each value is from the first advert of `advertsByCrawl` whose
 * message states it. In a message, the value for the property takes precedence over the value for the advert.
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

/** Number of floors; a stated 0 means that it is unknown. */
function floorsOf({ content }: StoredAdvert): number | null {
  return content.floorQuantity || null;
}

/** Accepts two floors, because half of the sources count the ground floor and half do not. */
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
