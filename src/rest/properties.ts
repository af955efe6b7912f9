/** `/documents/properties`: the current property documents (specification, section 2.6). */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { parseUuid, type Uuid } from '../engine/domain/ids.ts';
import { type PropertyDocument, propertyDocument } from '../engine/domain/property-document.ts';
import { listMatchedProperties, type PropertyOrder, readStoredProperties } from '../engine/store/properties.ts';
import { Fault } from '../values.ts';
import { principalOf } from './auth.ts';
import { listWithinReach } from './client-listings.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { type CollectionPage, collection, offsetOf, type Paging } from './hydra.ts';
import { notFound } from './problem.ts';
import { type Direction, ITEMS_PER_PAGE_MAX, orderParameter, PAGING, type ParameterRule, readQuery } from './query.ts';
import { FAULTS, THINGS } from './sentences.ts';

const uuids: ParameterRule<readonly Uuid[]> = {
  description:
    `UUIDs of properties, at most ${ITEMS_PER_PAGE_MAX}, all on one page; unknown ones are left out. ` +
    'Without UUIDs: the properties of your matches, newest match first.',
  schema: { type: 'array', items: { type: 'string', format: 'uuid' }, maxItems: ITEMS_PER_PAGE_MAX },
  isList: true,
  property: 'uuid',
  parse: (values) => {
    if (values.length > ITEMS_PER_PAGE_MAX) return new Fault(FAULTS.uuidsMost(ITEMS_PER_PAGE_MAX));
    const parsed = values.map(parseUuid);
    return parsed.every((uuid) => uuid !== null) ? [...new Set(parsed)] : new Fault(FAULTS.uuids);
  },
};

export const PROPERTY_LIST_PARAMETERS = { 'uuid[]': uuids, 'order[id]': orderParameter('id'), ...PAGING } as const;

export function propertyRoutes(router: Router, { database, reference }: ApiDependencies): void {
  const documents = async (wanted: readonly Uuid[]): Promise<PropertyDocument[]> => {
    const stored = await readStoredProperties(database, wanted);
    return stored.map(({ state, crawls }) => {
      return propertyDocument(state, crawls, reference.resolvePlace, { withContacts: true });
    });
  };

  /** Answers all stored properties among `uuids` on one page. */
  const answerNamed = async (ctx: Context, uuids: readonly Uuid[], order: Direction | null, { page }: Paging) => {
    const sorted = order === null ? uuids : [...uuids].sort();
    const found = await documents(order === 'desc' ? sorted.toReversed() : sorted);
    const paging = { page, itemsPerPage: ITEMS_PER_PAGE_MAX };
    answerPage(ctx, page === 1 ? found : [], { totalItems: found.length, estimated: false, paging });
  };

  const answerMatched = async (ctx: Context, order: Direction | null, paging: Paging): Promise<void> => {
    const by: PropertyOrder = order === null ? 'matched' : 'uuid';
    const wanted = { by, direction: order ?? ('desc' as const), ...offsetOf(paging) };
    const { clientId } = principalOf(ctx);
    const { uuids, total, isCut } = await listWithinReach(ctx, wanted, (page) =>
      listMatchedProperties(database, clientId, page),
    );
    answerPage(ctx, await documents(uuids), { totalItems: total, estimated: isCut });
  };

  router.get('/documents/properties', acceptable, async (ctx) => {
    const { 'uuid[]': named, 'order[id]': order, ...paging } = readQuery(ctx, PROPERTY_LIST_PARAMETERS);
    await (named.length > 0 ? answerNamed(ctx, named, order, paging) : answerMatched(ctx, order, paging));
  });

  router.get('/documents/properties/:uuid', acceptable, async (ctx) => {
    const uuid = parseUuid(String(ctx.params.uuid));
    const [document] = uuid === null ? [] : await documents([uuid]);
    answer(ctx, document ?? notFound(THINGS.property));
  });
}

function answerPage(
  ctx: Context,
  members: readonly PropertyDocument[],
  extent: Pick<CollectionPage, 'totalItems' | 'estimated' | 'paging'>,
): void {
  answer(ctx, collection(ctx, { context: 'PropertyDocument', members, ...extent }));
}
