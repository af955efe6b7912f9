/**
 * `/cities`, `/departments`, `/site_categories`, `/features` and `/users/{id}`: what searches refer to (specification, 2.2, 2.6), and
 * `/public/location-autocomplete` (decisions, section 7): the places that may be meant by what was typed so far, each with
 * its IRI and with what a search takes to look there.
 */

import type Router from '@koa/router';
import type { Context } from 'koa';
import type { City } from '../engine/domain/city.ts';
import { FEATURE_VOCABULARY } from '../engine/domain/feature-vocabulary.ts';
import { FEATURE_NAMES, type FeatureName } from '../engine/domain/features.ts';
import { parseUuid } from '../engine/domain/ids.ts';
import type { CityFilter } from '../engine/reference/city-finder.ts';
import type { CompletedPlace, PlaceType } from '../engine/reference/place-completion.ts';
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
import { THINGS } from './sentences.ts';

const NAME_ORDERS = { 'order[id]': orderParameter('id'), 'order[name]': orderParameter('name') } as const;

export const CITY_LIST_PARAMETERS = {
  insee: textParameter('INSEE code.', 5),
  inseeCode: undocumented(textParameter('The same as insee.', 5)),
  'inseeCodes[]': undocumented(textsParameter('INSEE codes, any of them.', 5)),
  zipcode: textParameter('Zip code.', 5),
  'zipcodes[]': undocumented(textsParameter('Zip codes, any of them.', 5)),
  name: textParameter(
    'Beginning of the name, or of a former commune or locality inside; case, accents and hyphens are ignored.',
  ),
  label: undocumented(textParameter('Any part of the name, likewise.')),
  slug: undocumented(textParameter('Such as saint-etienne, or saint-etienne-42000.')),
  ...NAME_ORDERS,
  ...PAGING,
} as const;

export const DEPARTMENT_LIST_PARAMETERS = { ...NAME_ORDERS, ...PAGING } as const;
export const SITE_CATEGORY_LIST_PARAMETERS = { ...NAME_ORDERS, ...PAGING } as const;
export const FEATURE_LIST_PARAMETERS = { ...NAME_ORDERS, ...PAGING } as const;
export const USER_LIST_PARAMETERS = { ...NAME_ORDERS, ...PAGING } as const;

export function referenceRoutes(router: Router, dependencies: ApiDependencies): void {
  cityRoutes(router, dependencies);
  departmentRoutes(router, dependencies);
  siteCategoryRoutes(router, dependencies);
  featureRoutes(router);

  // Only the client itself: the `user` of a search refers to it.
  router.get('/users', acceptable, (ctx) => {
    const items = [{ id: principalOf(ctx).clientId, name: principalOf(ctx).clientName }];
    answerSlice(ctx, { context: 'User', items, documentOf: userDocument, parameters: USER_LIST_PARAMETERS });
  });

  router.get('/users/:id', acceptable, (ctx) => {
    if (parseUuid(String(ctx.params.id)) !== principalOf(ctx).clientId) throw notFound(THINGS.user);
    answer(ctx, userDocument({ id: principalOf(ctx).clientId, name: principalOf(ctx).clientName }));
  });
}

function userDocument({ id, name }: { readonly id: string; readonly name: string }): object {
  return { ...identityOf('User', `/users/${id}`), name };
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
    const page = { context: 'City', members, totalItems: total, paging: query };
    answer(ctx, collection(ctx, { ...page, parameters: CITY_LIST_PARAMETERS }));
  });

  router.get('/cities/:id', acceptable, (ctx) => {
    const id = numberOf(ctx);
    const city = id === null ? null : reference.cityById(id);
    if (city === null) throw notFound(THINGS.city);
    answer(ctx, cityDocument(city));
  });
}

function cityFilterOf(query: ParsedQuery<typeof CITY_LIST_PARAMETERS>): CityFilter {
  const { insee, inseeCode, zipcode, name, label, slug } = query;
  const insees = bothOf([insee, inseeCode], query['inseeCodes[]']);
  const zipcodes = bothOf([zipcode], query['zipcodes[]']);
  return {
    ...(insees === null ? {} : { insees: new Set(insees.map((code) => code.toUpperCase())) }),
    ...(zipcodes === null ? {} : { zipcodes: new Set(zipcodes) }),
    ...(name === null ? {} : { namePrefix: name }),
    ...(label === null ? {} : { namePart: label }),
    ...(slug === null ? {} : { slug }),
  };
}

/** Values of a single parameter and of a list must both match; null without either. */
function bothOf(alone: readonly (string | null)[], listed: readonly string[]): readonly string[] | null {
  const [first, ...others] = alone.filter((one) => one !== null);
  if (first === undefined) return listed.length === 0 ? null : listed;
  const isBoth = others.every((one) => one === first) && (listed.length === 0 || listed.includes(first));
  return isBoth ? [first] : [];
}

export function cityDocument(city: City, matchedName: string | null = null): object {
  return {
    ...identityOf('City', `/cities/${city.id}`),
    ...cityReference(city),
    ...city,
    matchedName,
  };
}

function departmentRoutes(router: Router, { reference }: ApiDependencies): void {
  router.get('/departments', acceptable, (ctx) => {
    const items = reference.departments();
    answerSlice(ctx, {
      context: 'Department',
      items,
      documentOf: departmentDocument,
      parameters: DEPARTMENT_LIST_PARAMETERS,
    });
  });

  router.get('/departments/:id', acceptable, (ctx) => {
    // People know the code, `2A` or `01`; where a code looks like an id, both mean the same department.
    const id = numberOf(ctx);
    const department =
      id === null ? reference.department(String(ctx.params.id).toUpperCase()) : reference.departmentById(id);
    if (department === null) throw notFound(THINGS.department);
    answer(ctx, departmentDocument(department));
  });
}

function siteCategoryRoutes(router: Router, { database }: ApiDependencies): void {
  router.get('/site_categories', acceptable, async (ctx) => {
    const items = await listSiteCategories(database);
    answerSlice(ctx, {
      context: 'SiteCategory',
      items,
      documentOf: siteCategoryDocument,
      parameters: SITE_CATEGORY_LIST_PARAMETERS,
    });
  });

  router.get('/site_categories/:id', acceptable, async (ctx) => {
    const id = numberOf(ctx);
    const category = (await listSiteCategories(database)).find((one) => one.id === id);
    if (category === undefined) throw notFound(THINGS.siteCategory);
    answer(ctx, siteCategoryDocument(category));
  });
}

function featureRoutes(router: Router): void {
  router.get('/features', acceptable, (ctx) => {
    const items = FEATURE_NAMES.map((name, id) => ({ id, name }));
    const documentOf = ({ name }: (typeof items)[number]): object => featureDocument(name);
    answerSlice(ctx, { context: 'Feature', items, documentOf, parameters: FEATURE_LIST_PARAMETERS });
  });

  router.get('/features/:id', acceptable, (ctx) => {
    const name = FEATURE_NAMES.find((one) => one === ctx.params.id);
    if (name === undefined) throw notFound(THINGS.feature);
    answer(ctx, featureDocument(name));
  });
}

export function featureDocument(name: FeatureName): object {
  const { label, words } = FEATURE_VOCABULARY[name];
  return { ...identityOf('Feature', `/features/${name}`), name, label, words };
}

interface Slice<Item> {
  readonly context: string;
  /** In the order that they have unless the client asks for another. */
  readonly items: readonly Item[];
  readonly documentOf: (item: Item) => object;
  readonly parameters: typeof DEPARTMENT_LIST_PARAMETERS;
}

/** One page of a list that is in memory as a whole. */
function answerSlice<Item extends { readonly id: number | string; readonly name: string }>(
  ctx: Context,
  { context, items, documentOf, parameters }: Slice<Item>,
): void {
  const query = readQuery(ctx, parameters);
  const { offset, limit } = offsetOf(query);
  const members = inOrder(items, query['order[name]'], query['order[id]'])
    .slice(offset, offset + limit)
    .map(documentOf);
  answer(ctx, collection(ctx, { context, members, totalItems: items.length, paging: query, parameters }));
}

/** By name as French sorts it. */
const collator = new Intl.Collator('fr');

function inOrder<Item extends { readonly id: number | string; readonly name: string }>(
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

/** The integer of the path; anything else is an id that no resource has. */
function numberOf(ctx: Context): number | null {
  const text = String(ctx.params.id);
  return /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : null;
}

/** Far beyond the longest name of a commune. */
const TEXT_LENGTH_MAX = 100;

export const LOCATION_PARAMETERS = {
  query: {
    ...textParameter(
      'Words of a name, or a code, whole or begun; case, accents and hyphens are ignored.',
      TEXT_LENGTH_MAX,
    ),
    isRequired: true,
  },
  ...PAGING,
} as const;

/** Answered from memory in a millisecond. */
export function locationRoutes(router: Router, { reference }: ApiDependencies, limiter: QueryLimiter): void {
  router.get('/public/location-autocomplete', acceptable, async (ctx) => {
    const { query, ...paging } = readQuery(ctx, LOCATION_PARAMETERS);
    const { total, places } = await limiter.runSingle(ctx, async () =>
      reference.completePlaces(query ?? '', offsetOf(paging)),
    );
    const page = { context: 'Location', members: places.map(locationDocument), totalItems: total, paging };
    answer(ctx, collection(ctx, { ...page, parameters: LOCATION_PARAMETERS }));
  });
}

/** The member of a search for the place. */
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

/** A zip code is no resource of its own: its IRI is that of the list of its communes. */
function iriOf({ type, id, code }: CompletedPlace): string {
  if (type === 'zipcode') return `/cities?zipcode=${code}`;
  return `/${type === 'city' ? 'cities' : 'departments'}/${id}`;
}

/** Paris, Lyon and Marseille by INSEE code: their arrondissements have zip codes, and they have none. */
export const WHOLE_CITIES: readonly string[] = ['75056', '69123', '13055'];

/** `Toulon (83000)`, `Marseille`, `Var (83)`, `83000 (Toulon)`. */
function labelOf({ type, name, code, zipcode, cityNames }: CompletedPlace): string {
  const [first, ...others] = cityNames;
  if (type === 'zipcode') return `${code} (${others.length === 0 ? first : `${first}, +${others.length}`})`;
  if (WHOLE_CITIES.includes(code)) return name;
  const aside = type === 'city' ? zipcode : code;
  return aside === null ? name : `${name} (${aside})`;
}
