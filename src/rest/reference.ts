/**
 * The resources that searches refer to: `/cities`, `/departments`, `/site_categories`, `/features` and `/users`
 * (specification, 2.2, 2.6). Two others complete typed text (decisions, section 7): `/publishers`, and
 * `/public/location-autocomplete` with the IRI of each place and the search member that accepts it.
 */

import type Router from '@koa/router';
import type { Context } from 'koa';
import type { City } from '../engine/domain/city.ts';
import { FEATURE_VOCABULARY } from '../engine/domain/feature-vocabulary.ts';
import { FEATURE_NAMES, type FeatureName } from '../engine/domain/features.ts';
import { parseUuid } from '../engine/domain/ids.ts';
import type { CityFilter } from '../engine/reference/city-finder.ts';
import type { CompletedPlace, PlaceType } from '../engine/reference/place-completion.ts';
import { findPublishers } from '../engine/store/publishers.ts';
import { listSiteCategories } from '../engine/store/site-categories.ts';
import { principalOf } from './auth.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { collection, identityOf, offsetOf } from './hydra.ts';
import type { QueryLimiter } from './limits.ts';
import { notFound } from './problem.ts';
import {
  type Direction,
  orderParameter,
  PAGING,
  type ParsedQuery,
  readQuery,
  textParameter,
  textsParameter,
  undocumented,
} from './query.ts';
import { cityReference, departmentDocument, siteCategoryDocument } from './search-document.ts';
import type { SearchMemberName } from './search-schema.ts';
import { THINGS, type Thing } from './sentences.ts';

const NAME_ORDERS = { 'order[id]': orderParameter('id'), 'order[name]': orderParameter('name') } as const;

export const CITY_LIST_PARAMETERS = {
  insee: textParameter('INSEE code.', 5),
  'inseeCodes[]': undocumented(textsParameter('INSEE codes, any of them.', 5)),
  zipcode: textParameter('Zip code.', 5),
  'zipcodes[]': undocumented(textsParameter('Zip codes, any of them.', 5)),
  name: textParameter(
    'Beginning of the name, or of the name of a former commune or locality within it; case, accents and hyphens are ' +
      'ignored.',
  ),
  ...NAME_ORDERS,
  ...PAGING,
} as const;

export const NAMED_LIST_PARAMETERS = { ...NAME_ORDERS, ...PAGING } as const;

export function referenceRoutes(router: Router, dependencies: ApiDependencies): void {
  const { reference, database } = dependencies;
  cityRoutes(router, dependencies);
  namedRoutes(router, '/departments', {
    context: 'Department',
    thing: THINGS.department,
    list: () => reference.departments(),
    // Accepts the code, `2A` or `01`, as well as the id. A code that looks like an id means the same department.
    isNamed: ({ id, code }, requested) => String(id) === requested || code === requested.toUpperCase(),
    documentOf: departmentDocument,
  });
  namedRoutes(router, '/site_categories', {
    context: 'SiteCategory',
    thing: THINGS.siteCategory,
    list: () => listSiteCategories(database),
    isNamed: ({ id }, requested) => String(id) === requested,
    documentOf: siteCategoryDocument,
  });
  namedRoutes(router, '/features', {
    context: 'Feature',
    thing: THINGS.feature,
    list: () => FEATURE_NAMES.map((name, id) => ({ id, name })),
    isNamed: ({ name }, requested) => name === requested,
    documentOf: ({ name }) => featureDocument(name),
  });
  // Lists only the client itself, to which the `user` of a search refers.
  namedRoutes(router, '/users', {
    context: 'User',
    thing: THINGS.user,
    list(ctx) {
      const { clientId: id, clientName: name, publicName } = principalOf(ctx);
      return [{ id, name, publicName }];
    },
    isNamed: ({ id }, requested) => id === parseUuid(requested),
    documentOf: userDocument,
  });
}

interface User {
  readonly id: string;
  readonly name: string;
  readonly publicName: string;
}

function userDocument({ id, ...names }: User): object {
  return { ...identityOf('User', `/users/${id}`), ...names };
}

function cityRoutes(router: Router, { reference }: ApiDependencies): void {
  router.get('/cities', acceptable, (ctx) => {
    const query = readQuery(ctx, CITY_LIST_PARAMETERS);
    const [byName, byId] = [query['order[name]'], query['order[id]']];
    const order = byName !== null ? 'name' : byId !== null ? 'id' : 'relevance';
    const { cities, total } = reference.findCities(cityFilterOf(query), {
      order,
      direction: byName ?? byId ?? 'asc',
      ...offsetOf(query),
    });
    const members = cities.map(({ city, matchedName }) => cityDocument(city, matchedName));
    answer(ctx, collection(ctx, { context: 'City', members, totalItems: total }));
  });

  router.get('/cities/:id', acceptable, (ctx) => {
    const id = numberOf(ctx);
    const city = id === null ? null : reference.cityById(id);
    answer(ctx, cityDocument(city ?? notFound(THINGS.city)));
  });
}

function cityFilterOf(query: ParsedQuery<typeof CITY_LIST_PARAMETERS>): CityFilter {
  const { insee, zipcode, name } = query;
  const insees = bothOf(insee, query['inseeCodes[]']);
  const zipcodes = bothOf(zipcode, query['zipcodes[]']);
  return {
    ...(insees === null ? {} : { insees: new Set(insees.map((code) => code.toUpperCase())) }),
    ...(zipcodes === null ? {} : { zipcodes: new Set(zipcodes) }),
    ...(name === null ? {} : { namePrefix: name }),
  };
}

/** Codes that match both the single parameter and the list; null when neither was sent. */
function bothOf(alone: string | null, listed: readonly string[]): readonly string[] | null {
  if (alone === null) return listed.length === 0 ? null : listed;
  return listed.length === 0 || listed.includes(alone) ? [alone] : [];
}

export function cityDocument(city: City, matchedName: string | null = null): object {
  return {
    ...identityOf('City', `/cities/${city.id}`),
    ...cityReference(city),
    ...city,
    matchedName,
  };
}

export function featureDocument(name: FeatureName): object {
  const { label, words } = FEATURE_VOCABULARY[name];
  return { ...identityOf('Feature', `/features/${name}`), name, label, words };
}

interface Named {
  readonly id: number | string;
  readonly name: string;
}

interface NamedResource<Item extends Named> {
  readonly context: string;
  readonly thing: Thing;
  /** In the default order. */
  readonly list: (ctx: Context) => readonly Item[] | Promise<readonly Item[]>;
  /** `requested`: the last segment of the path. */
  readonly isNamed: (item: Item, requested: string) => boolean;
  readonly documentOf: (item: Item) => object;
}

/** Routes for the pages and the items of a list that each request reads completely. */
function namedRoutes<Item extends Named>(
  router: Router,
  path: string,
  { context, thing, list, isNamed, documentOf }: NamedResource<Item>,
): void {
  router.get(path, acceptable, async (ctx) => {
    const query = readQuery(ctx, NAMED_LIST_PARAMETERS);
    const { offset, limit } = offsetOf(query);
    const items = inOrder(await list(ctx), query['order[name]'], query['order[id]']);
    const members = items.slice(offset, offset + limit).map(documentOf);
    answer(ctx, collection(ctx, { context, members, totalItems: items.length }));
  });

  router.get(`${path}/:id`, acceptable, async (ctx) => {
    const item = (await list(ctx)).find((one) => isNamed(one, String(ctx.params.id)));
    answer(ctx, documentOf(item ?? notFound(thing)));
  });
}

/** Sorts names in French order. */
const collator = new Intl.Collator('fr');

function inOrder<Item extends Named>(
  items: readonly Item[],
  byName: Direction | null,
  byId: Direction | null,
): readonly Item[] {
  if (byName === null && byId === null) return items;
  const sorted = items.toSorted((a, b) =>
    byName === null ? Number(a.id) - Number(b.id) : collator.compare(a.name, b.name),
  );
  return (byName ?? byId) === 'desc' ? sorted.reverse() : sorted;
}

/** The id in the path, or null if it is not a valid id. */
function numberOf(ctx: Context): number | null {
  const text = String(ctx.params.id);
  return /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : null;
}

/** Far above the length of any commune's name. */
const TEXT_LENGTH_MAX = 100;

export const LOCATION_PARAMETERS = {
  query: {
    ...textParameter(
      'Words of a name, or a code, complete or not; case, accents and hyphens are ignored.',
      TEXT_LENGTH_MAX,
    ),
    isRequired: true,
  },
  ...PAGING,
} as const;

export function locationRoutes(router: Router, { reference }: ApiDependencies, limiter: QueryLimiter): void {
  router.get('/public/location-autocomplete', acceptable, async (ctx) => {
    const { query, ...paging } = readQuery(ctx, LOCATION_PARAMETERS);
    const { total, places } = await limiter.runSingle(ctx, async () =>
      reference.completePlaces(query ?? '', offsetOf(paging)),
    );
    const members = places.map(locationDocument);
    answer(ctx, collection(ctx, { context: 'Location', members, totalItems: total }));
  });
}

const PUBLISHERS_MAX = 20;

export const PUBLISHER_PARAMETERS = {
  name: {
    ...textParameter('Beginning of the name; case, accents, punctuation and a legal form before it are ignored.'),
    isRequired: true,
  },
} as const;

export function publisherRoutes(router: Router, limiter: QueryLimiter): void {
  router.get('/publishers', acceptable, async (ctx) => {
    const { name } = readQuery(ctx, PUBLISHER_PARAMETERS);
    const names = await limiter.runSingle(ctx, () => findPublishers(limiter.database, name ?? '', PUBLISHERS_MAX));
    const paging = { page: 1, itemsPerPage: PUBLISHERS_MAX };
    const members = names.map(publisherNameDocument);
    answer(ctx, collection(ctx, { context: 'PublisherName', members, totalItems: names.length, paging }));
  });
}

/** A publisher is not a resource of its own: its IRI is that of the list that has it. */
export function publisherNameDocument(name: string): object {
  return { ...identityOf('PublisherName', `/publishers?name=${encodeURIComponent(name)}`), name };
}

/** The search member that accepts a place of this type. */
const CRITERIA: Readonly<Record<PlaceType, SearchMemberName>> = {
  city: 'includedCities',
  department: 'includedDepartments',
  zipcode: 'includedZipcodes',
};

export function locationDocument(place: CompletedPlace): object {
  const { type, name, code, zipcode, population, cityIds, matchedName } = place;
  const iri = iriOf(place);
  return {
    ...identityOf('Location', iri),
    type,
    label: labelOf(place),
    name,
    code,
    zipcode,
    population,
    matchedName,
    cities: cityIds.map((id) => `/cities/${id}`),
    criterion: CRITERIA[type],
    value: type === 'zipcode' ? code : iri,
  };
}

/** A zip code is not a resource, so its IRI is that of the list of its communes. */
function iriOf({ type, id, code }: CompletedPlace): string {
  if (type === 'zipcode') return `/cities?zipcode=${code}`;
  return `/${type === 'city' ? 'cities' : 'departments'}/${id}`;
}

/** INSEE codes of Paris, Lyon and Marseille. Their labels show no zip code, because each arrondissement has its own. */
export const WHOLE_CITIES: readonly string[] = ['75056', '69123', '13055'];

/** `Toulon (83000)`, `Marseille`, `Var (83)`, `83000 (Toulon)`. */
function labelOf({ type, name, code, zipcode, cityNames }: CompletedPlace): string {
  const [first, ...others] = cityNames;
  if (type === 'zipcode') return `${code} (${others.length === 0 ? first : `${first}, +${others.length}`})`;
  if (WHOLE_CITIES.includes(code)) return name;
  const aside = type === 'city' ? zipcode : code;
  return aside === null ? name : `${name} (${aside})`;
}
