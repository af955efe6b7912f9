/** `/cities`, `/departments`, `/site_categories` and `/users/{id}`: what searches refer to (specification, 2.2, 2.6). */

import type Router from '@koa/router';
import type { Context } from 'koa';
import type { City } from '../domain/city.ts';
import { parseUuid } from '../domain/ids.ts';
import { cityReference } from '../reference/embedded-references.ts';
import { listSiteCategories } from '../store/site-categories.ts';
import { principalOf } from './auth.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { collection, offsetOf, type Paging } from './hydra.ts';
import { notFound } from './problem.ts';
import { PAGING, type Rules, readQuery, textParameter } from './query.ts';
import { departmentDocument, siteCategoryDocument } from './search-document.ts';

export const CITY_LIST_PARAMETERS = {
  insee: textParameter('INSEE code.', 5),
  zipcode: textParameter('Zip code.', 5),
  name: textParameter('Beginning of the name; case, accents and hyphens are ignored.'),
  ...PAGING,
} as const;

export function referenceRoutes(router: Router, dependencies: ApiDependencies): void {
  cityRoutes(router, dependencies);
  departmentRoutes(router, dependencies);
  siteCategoryRoutes(router, dependencies);

  // Only the client itself: `user` of a search leads to it.
  router.get('/users', acceptable, (ctx) => {
    answerSlice(ctx, 'User', [ctx], userDocument, readQuery(ctx, PAGING), PAGING);
  });

  router.get('/users/:id', acceptable, (ctx) => {
    if (parseUuid(String(ctx.params.id)) !== principalOf(ctx).clientId) throw notFound('this user');
    answer(ctx, userDocument(ctx));
  });
}

function userDocument(ctx: Context): object {
  const { clientId, clientName } = principalOf(ctx);
  return { '@context': '/contexts/User', '@id': `/users/${clientId}`, '@type': 'User', name: clientName };
}

function cityRoutes(router: Router, { reference }: ApiDependencies): void {
  router.get('/cities', acceptable, (ctx) => {
    const { insee, zipcode, name, ...paging } = readQuery(ctx, CITY_LIST_PARAMETERS);
    const filter = {
      ...(insee === null ? {} : { insee: insee.toUpperCase() }),
      ...(zipcode === null ? {} : { zipcode }),
      ...(name === null ? {} : { namePrefix: name }),
    };
    const { cities, total } = reference.findCities(filter, offsetOf(paging));
    const page = { context: 'City', members: cities.map(cityDocument), totalItems: total, paging };
    answer(ctx, collection(ctx, { ...page, parameters: CITY_LIST_PARAMETERS }));
  });

  router.get('/cities/:id', acceptable, (ctx) => {
    const id = numberOf(ctx);
    const city = id === null ? null : reference.cityById(id);
    if (city === null) throw notFound('this city');
    answer(ctx, cityDocument(city));
  });
}

export function cityDocument(city: City): object {
  return {
    '@context': '/contexts/City',
    '@id': `/cities/${city.id}`,
    '@type': 'City',
    ...cityReference(city),
    ...city,
  };
}

function departmentRoutes(router: Router, { reference }: ApiDependencies): void {
  router.get('/departments', acceptable, (ctx) => {
    const paging = readQuery(ctx, PAGING);
    answerSlice(ctx, 'Department', reference.departments(), departmentDocument, paging, PAGING);
  });

  router.get('/departments/:id', acceptable, (ctx) => {
    const id = numberOf(ctx);
    const department = id === null ? null : reference.departmentById(id);
    if (department === null) throw notFound('this department');
    answer(ctx, departmentDocument(department));
  });
}

function siteCategoryRoutes(router: Router, { database }: ApiDependencies): void {
  router.get('/site_categories', acceptable, async (ctx) => {
    const paging = readQuery(ctx, PAGING);
    answerSlice(ctx, 'SiteCategory', await listSiteCategories(database), siteCategoryDocument, paging, PAGING);
  });

  router.get('/site_categories/:id', acceptable, async (ctx) => {
    const id = numberOf(ctx);
    const category = (await listSiteCategories(database)).find((one) => one.id === id);
    if (category === undefined) throw notFound('this site category');
    answer(ctx, siteCategoryDocument(category));
  });
}

/** One page of a list that is in memory as a whole. */
function answerSlice<Item>(
  ctx: Context,
  context: string,
  items: readonly Item[],
  documentOf: (item: Item) => object,
  paging: Paging,
  parameters: Rules,
): void {
  const { offset, limit } = offsetOf(paging);
  const members = items.slice(offset, offset + limit).map(documentOf);
  answer(ctx, collection(ctx, { context, members, totalItems: items.length, paging, parameters }));
}

/** The integer of the path; anything else is an id that no resource has. */
function numberOf(ctx: Context): number | null {
  const text = String(ctx.params.id);
  return /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : null;
}
