/** `/documents/properties`: property documents as they are now (specification, section 2.6). */

import type Router from '@koa/router';
import { parseUuid, type Uuid } from '../domain/ids.ts';
import { type PropertyDocument, propertyDocument } from '../domain/property-document.ts';
import { readHeldProperties } from '../store/property-reads.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { collection } from './hydra.ts';
import { notFound } from './problem.ts';
import { BadParameter, ITEMS_PER_PAGE_MAX, type ParameterRule, readQuery } from './query.ts';

/** A look-up by name, not a list to walk: properties are found through the matches of a search. */
const uuids: ParameterRule<readonly Uuid[]> = {
  description: `UUIDs of properties, at most ${ITEMS_PER_PAGE_MAX}; unknown ones are left out.`,
  schema: { type: 'array', items: { type: 'string', format: 'uuid' }, minItems: 1, maxItems: ITEMS_PER_PAGE_MAX },
  isRequired: true,
  isList: true,
  property: 'uuid',
  parse: (values) => {
    if (values.length > ITEMS_PER_PAGE_MAX) return new BadParameter(`must be at most ${ITEMS_PER_PAGE_MAX} UUIDs`);
    const parsed = values.map(parseUuid);
    return parsed.every((uuid) => uuid !== null) ? [...new Set(parsed)] : new BadParameter('must be UUIDs');
  },
};

export const PROPERTY_LIST_PARAMETERS = { 'uuid[]': uuids } as const;

export function propertyRoutes(router: Router, { database, reference }: ApiDependencies): void {
  const documents = async (wanted: readonly Uuid[]): Promise<PropertyDocument[]> => {
    const held = await readHeldProperties(database, wanted);
    return held.map(({ state, crawls }) => {
      return propertyDocument(state, crawls, reference.resolvePlace, { withContacts: true });
    });
  };

  router.get('/documents/properties', acceptable, async (ctx) => {
    const { 'uuid[]': wanted } = readQuery(ctx, PROPERTY_LIST_PARAMETERS);
    const members = await documents(wanted);
    const paging = { page: 1, itemsPerPage: ITEMS_PER_PAGE_MAX };
    const page = { context: 'PropertyDocument', members, totalItems: members.length, paging };
    answer(ctx, collection(ctx, { ...page, parameters: PROPERTY_LIST_PARAMETERS }));
  });

  router.get('/documents/properties/:uuid', acceptable, async (ctx) => {
    const uuid = parseUuid(String(ctx.params.uuid));
    const [document] = uuid === null ? [] : await documents([uuid]);
    if (document === undefined) throw notFound('this property');
    answer(ctx, document);
  });
}
