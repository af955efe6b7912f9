/**
 * Publishers that a search includes (decisions, section 3), named as in `publisher.name` or `contact.agency` of an
 * advert. Adverts of excluded publishers are removed before any criterion is evaluated (`site-category-criteria.ts`).
 */

import { LRUCache } from 'lru-cache';
import { type Considered, keyed, member, verdictReason } from './criterion-kinds.ts';
import type { AdvertFacts } from './property-facts.ts';
import { foldText } from './text.ts';

/** Maximum length of a name, in UTF-16 units. A longer name in an advert counts as unknown. */
export const PUBLISHER_NAME_LENGTH_MAX = 200;

/** The stated name; null if it is unknown or too long. */
export function publisherNameIn(stated: string | null | undefined): string | null {
  return stated && stated.length <= PUBLISHER_NAME_LENGTH_MAX ? stated : null;
}

/** Matches abbreviations, too: `S.A.R.L.` folds to single letters. */
const LEGAL_FORM = '(?:s ?a ?r ?l|s ?a ?s|e ?u ?r ?l|s ?a)';
const FIRST = new RegExp(`^${LEGAL_FORM} (?=.)`);
const LAST = new RegExp(`(?<=.) ${LEGAL_FORM}$`);

/** A prefix of the keys of publishers whose names begin with `name`. Keeps a legal form at its end. */
export function publisherPrefix(name: string): string {
  return foldText(name).replace(FIRST, '');
}

/** A key that all spellings of a publisher's name share; empty if nothing remains of the name. */
export function publisherKey(name: string): string {
  return publisherPrefix(name).replace(LAST, '');
}

/** A cache, because a few agencies publish most adverts. */
const statedKeys = new LRUCache<string, string>({ max: 5_000 });
const requestedKeys = new WeakMap<readonly string[], readonly string[]>();

type Stated = Pick<AdvertFacts, 'publisherName' | 'agency'>;

export function publisherKeysOf({ publisherName, agency }: Stated): readonly string[] {
  return namesOf(publisherName, agency).map(statedKey).filter(Boolean);
}

function statedKey(name: string): string {
  const key = statedKeys.get(name) ?? publisherKey(name);
  statedKeys.set(name, key);
  return key;
}

function namesOf(...names: readonly (string | null)[]): readonly string[] {
  return names.filter((name) => name !== null);
}

/** Whether one of `names` is the publisher's or the agency's. */
export function isBy(names: readonly string[], advert: Stated): boolean {
  if (names.length === 0) return false;
  const requested = requestedKeys.get(names) ?? names.map(publisherKey);
  requestedKeys.set(names, requested);
  return publisherKeysOf(advert).some((key) => requested.includes(key));
}

type Included = Readonly<Record<'includedPublishers', readonly string[]>>;

export const INCLUDED_PUBLISHERS = {
  kind: 'publishers',
  name: 'includedPublishers',
  key: 'includedPublishers',
  unset: keyed<'includedPublishers', readonly string[]>('includedPublishers', []),
  members: {
    includedPublishers: member(
      'publishers',
      [],
      'Names of publishers or agencies; an advert must be by one of them. Case, accents, punctuation and a legal form ' +
        '(SARL, SAS, EURL, SA) at either end are ignored.',
      'Publishers or agencies whose adverts count.',
    ),
  },
  reads: ['publisherName', 'agency'],
  isSet: ({ includedPublishers }: Included) => includedPublishers.length > 0,
  holds: ({ includedPublishers }: Included, { adverts }: Considered) =>
    adverts.some((advert) => isBy(includedPublishers, advert)),
  isUnknown: ({ adverts }: Considered) => adverts.every((advert) => publisherKeysOf(advert).length === 0),
  expected: ({ includedPublishers }: Included) => includedPublishers,
  actual: ({ adverts }: Considered) => [
    ...new Set(adverts.flatMap(({ publisherName, agency }) => namesOf(publisherName, agency))),
  ],
  reason: verdictReason({
    fr: ["L'une des annonces est d'un annonceur demandé.", "Aucune annonce n'est d'un annonceur demandé."],
    en: ['An advert is by a requested publisher.', 'No advert is by a requested publisher.'],
  }),
} as const;
