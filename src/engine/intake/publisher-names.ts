/** Names of professional publishers and agencies in messages. Each is recorded about once a day, for `/publishers`. */

import { LRUCache } from 'lru-cache';
import type { AdvertContent } from '../domain/advert.ts';
import { INDIVIDUAL, PROFESSIONAL } from '../domain/codes.ts';
import type { IntakeMessage } from '../domain/intake-message.ts';
import { publisherKey, publisherNameIn } from '../domain/publisher-criteria.ts';

/** Enough for all agencies of a country, in several spellings. A name that is forgotten is only recorded again. */
const NAMES_MAX = 50_000;

export function createPublisherNames() {
  /** The last day on which each name was recorded. */
  const days = new LRUCache<string, string>({ max: NAMES_MAX });
  return {
    /** Names that were not recorded on `day`, by key. */
    newOn(day: string, messages: readonly IntakeMessage[]): ReadonlyMap<string, string> {
      const found = new Map<string, string>();
      for (const message of messages) {
        const names = message.kind === 'upsert' ? professionalsIn(message.advert) : [];
        for (const name of names) if (days.get(name) !== day) found.set(publisherKey(name), name);
      }
      found.delete('');
      return found;
    },
    /** Call this when the names are committed. */
    noteRecorded(day: string, names: ReadonlyMap<string, string>) {
      for (const name of names.values()) days.set(name, day);
    },
  };
}

/** Leaves out even the agency of an individual's advert, because crawlers may put the person's name there. */
function professionalsIn({ publisher, contact }: AdvertContent): readonly string[] {
  if (publisher?.type === INDIVIDUAL) return [];
  const stated = [publisher?.type === PROFESSIONAL ? publisher.name : null, contact?.agency].map(publisherNameIn);
  return stated.filter((name) => name !== null);
}
