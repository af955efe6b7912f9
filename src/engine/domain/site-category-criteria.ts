/**
 * Site categories, stored by id and compared by name (`publisher.category`). Included categories are a criterion.
 * Adverts of excluded categories and publishers are removed before any criterion is evaluated.
 */

import { type Considered, keyed, member, verdictReason } from './criterion-kinds.ts';
import type { AdvertFacts } from './property-facts.ts';
import { isBy } from './publisher-criteria.ts';

/** Name of a site category by its id; null if operators have removed it. */
export type SiteCategoryName = (id: number) => string | null;

type Names = readonly string[];
type Included = Readonly<Record<'includedSiteCategories', Names>>;
type Excluded = Readonly<Record<'excludedSiteCategories' | 'excludedPublishers', Names>>;

export const INCLUDED_SITE_CATEGORIES = {
  kind: 'siteCategories',
  name: 'includedSiteCategories',
  key: 'includedSiteCategories',
  unset: keyed<'includedSiteCategories', Names>('includedSiteCategories', []),
  members: {
    includedSiteCategories: member(
      'siteCategories',
      [],
      'Site categories; an advert must have one of them.',
      'Site categories whose adverts count.',
    ),
  },
  reads: ['siteCategory'],
  isSet: ({ includedSiteCategories }: Included) => includedSiteCategories.length > 0,
  holds: ({ includedSiteCategories }: Included, { adverts }: Considered) =>
    adverts.some((advert) => isOf(includedSiteCategories, advert)),
  isUnknown: ({ adverts }: Considered) => adverts.every(({ siteCategory }) => siteCategory === null),
  expected: ({ includedSiteCategories }: Included) => includedSiteCategories,
  actual: ({ adverts }: Considered) => adverts.map(({ siteCategory }) => siteCategory),
  reason: verdictReason({
    fr: [
      "L'une des annonces vient d'un site de la catégorie demandée.",
      "Aucune annonce ne vient d'un site de la catégorie demandée.",
    ],
    en: ['An advert is from a requested category of sites.', 'No advert is from a requested category of sites.'],
  }),
} as const;

/** Not evaluated itself: a property without other adverts fails `liveAdvert`. See `consideredAdverts`. */
export const EXCLUDED_ADVERTS = {
  kind: 'excludedAdverts',
  name: 'liveAdvert',
  key: 'excludedAdverts',
  unset: {
    ...keyed<'excludedSiteCategories', Names>('excludedSiteCategories', []),
    ...keyed<'excludedPublishers', Names>('excludedPublishers', []),
  },
  members: {
    excludedSiteCategories: member(
      'siteCategories',
      [],
      'Site categories whose adverts do not count.',
      'Site categories whose adverts do not count.',
    ),
    excludedPublishers: member(
      'publishers',
      [],
      'Names of publishers or agencies whose adverts do not count, compared as in includedPublishers.',
      'Publishers or agencies whose adverts do not count.',
    ),
  },
  reads: ['siteCategory', 'publisherName', 'agency'],
  isSet: excludesAdverts,
} as const;

export function excludesAdverts({ excludedSiteCategories, excludedPublishers }: Excluded): boolean {
  return excludedSiteCategories.length > 0 || excludedPublishers.length > 0;
}

/** The only adverts that a search considers: live adverts of no excluded site category or publisher. */
export function consideredAdverts(
  criteria: Excluded,
  { adverts }: { readonly adverts: readonly AdvertFacts[] },
): readonly AdvertFacts[] {
  if (!excludesAdverts(criteria)) return adverts;
  const { excludedSiteCategories, excludedPublishers } = criteria;
  return adverts.filter((advert) => !isOf(excludedSiteCategories, advert) && !isBy(excludedPublishers, advert));
}

function isOf(categories: Names, { siteCategory }: AdvertFacts): boolean {
  return siteCategory !== null && categories.includes(siteCategory);
}

/** Names of the categories that operators have not removed. */
export function namesOf(ids: readonly number[], nameOf: SiteCategoryName): Names {
  return ids.length === 0 ? NONE : ids.flatMap((id) => nameOf(id) ?? []);
}

const NONE: Names = [];
