/**
 * Results of a search, computed by the query thread. `/searches/{id}/properties` (decisions, section 7) lists the
 * properties that satisfy it now, as CSV on request. `POST /searches/preview` (section 11) counts the properties that a
 * search would find before it is saved.
 */

import type Router from '@koa/router';
import type { Context } from 'koa';
import { csvCell } from '../../csv.ts';
import { type PropertyDocument, propertyDocument, propertyIri } from '../../engine/domain/property-document.ts';
import type { Reference } from '../../engine/reference/communes.ts';
import { readStoredProperties } from '../../engine/store/properties.ts';
import type { PropertyMark } from '../../engine/store/search-marks.ts';
import { principalOf } from '../../rest/auth.ts';
import { acceptable, acceptableAs, answer, answerBytes, isRequested } from '../../rest/content.ts';
import type { ApiDependencies } from '../../rest/dependencies.ts';
import { collection, identityOf, offsetOf } from '../../rest/hydra.ts';
import { jsonBody } from '../../rest/json-body.ts';
import type { QueryLimiter } from '../../rest/limits.ts';
import { notFound } from '../../rest/problem.ts';
import {
  markParameter,
  numberParameter,
  orderParameter,
  PAGING,
  type ParsedQuery,
  readQuery,
  textParameter,
} from '../../rest/query.ts';
import { readNewSearch } from '../../rest/search-input.ts';
import { idOf, inputRules } from '../../rest/searches.ts';
import { THINGS } from '../../rest/sentences.ts';
import { integer } from '../../values.ts';
import type { FoundOrder, ListedProperties, ListedProperty } from './found-properties.ts';
import type { CountedPlace, PreviewFigures } from './preview-figures.ts';
import { queriesOf } from './queries.ts';

export const FOUND_PROPERTY_PARAMETERS = {
  mark: markParameter(', whether they satisfy the search or not'),
  text: textParameter('Words that the title or description must contain, each in any of its forms.'),
  'order[updatedAt]': orderParameter('updatedAt', '; `desc` unless another order is requested'),
  'order[price]': orderParameter('price'),
  'order[surface]': orderParameter('surface'),
  'order[pricePerMeter]': orderParameter('pricePerMeter'),
  ...PAGING,
} as const;

export function foundPropertyRoutes(
  router: Router,
  { database, reference, askThread }: ApiDependencies,
  limiter: QueryLimiter,
): void {
  const askQuery = queriesOf(askThread);
  router.get('/searches/:id/properties', acceptableAs(CSV_TYPE), async (ctx) => {
    const query = readQuery(ctx, FOUND_PROPERTY_PARAMETERS);
    const search = { clientId: principalOf(ctx).clientId, searchId: idOf(ctx, THINGS.search) };
    const requested = { ...search, ...orderOf(query), ...offsetOf(query), mark: query.mark, text: query.text };
    const { found, members } = await limiter.run(ctx, async (gone) => {
      const listed = (await askQuery('foundProperties', requested, gone)) ?? notFound(THINGS.search);
      return { found: listed, members: await documentsOf(listed, { database, reference }) };
    });
    const { total, estimated, margin } = found;
    const page = collection(ctx, { context: 'FoundProperty', members, totalItems: total, estimated, margin });
    if (isRequested(ctx, CSV_TYPE)) answerCsv(ctx, members);
    else answer(ctx, page);
  });
}

function orderOf(query: ParsedQuery<typeof FOUND_PROPERTY_PARAMETERS>): FoundOrder {
  const orders = (['updatedAt', 'price', 'surface', 'pricePerMeter'] as const).flatMap((by) => {
    const direction = query[`order[${by}]`];
    return direction === null ? [] : [{ by, direction }];
  });
  return orders[0] ?? { by: 'updatedAt', direction: 'desc' };
}

/** Documents of the properties that still exist. */
async function documentsOf(
  { page, hidePropertyContact }: ListedProperties,
  { database, reference }: Pick<ApiDependencies, 'database' | 'reference'>,
): Promise<readonly PropertyDocument[]> {
  const listed = new Map(page.map((one) => [one.uuid, one]));
  const stored = await readStoredProperties(database, [...listed.keys()]);
  return stored.map(({ state, crawls }) => {
    const options = { withContacts: !hidePropertyContact };
    const document = propertyDocument(state, crawls, reference.resolvePlace, options);
    return foundPropertyDocument(document, listed.get(state.uuid) as ListedProperty);
  });
}

export function foundPropertyDocument(document: PropertyDocument, found: ListedProperty): PropertyDocument {
  return {
    ...document,
    ...identityOf('FoundProperty', propertyIri(found.uuid)),
    match: found.matchId === null ? null : `/matches/${found.matchId}`,
    matchedAt: found.matchedAt,
    satisfiedSince: found.satisfiedSince,
    mark: found.mark,
  };
}

function answerCsv(ctx: Context, members: readonly PropertyDocument[]): void {
  answerBytes(ctx, `${CSV_TYPE}; charset=utf-8`, csvOf(COLUMNS, members.map(rowOf)));
}

const VALUES = [
  ...['uuid', 'title', 'transactionType', 'propertyType', 'price', 'pricePerMeter', 'surface', 'landSurface', 'room'],
  ...['bedroom', 'createdAt', 'updatedAt', 'satisfiedSince', 'match'],
] as const;
const COLUMNS = [...VALUES, 'zipcode', 'city', 'lat', 'lon', 'url', 'mark', 'reason', 'note'];

function rowOf(document: PropertyDocument): readonly unknown[] {
  const { city, locations, adverts, mark } = document as {
    readonly mark: PropertyMark | null;
    readonly city: ReturnType<Reference['city']>;
    readonly locations: { readonly lat: number; readonly lon: number } | null;
    readonly adverts: readonly { readonly uuid: string; readonly url: string | null }[];
  };
  const url = adverts.find(({ uuid }) => uuid === document.lastCrawledAdvert)?.url;
  const place = [city?.zipcode, city?.name, locations?.lat, locations?.lon];
  return [...VALUES.map((name) => document[name]), ...place, url, mark?.state, mark?.reason, mark?.note];
}

/** RFC 4180, in UTF-8. */
const CSV_TYPE = 'text/csv';

/** Absent values become empty fields. */
function csvOf(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(fieldOf).join(',')}\r\n`).join('');
}

function fieldOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? csvCell(value) : JSON.stringify(value);
}

const DAYS = 30;
const SAMPLE = 20;
const PLACES_MAX = 2_000;

export const PREVIEW_PARAMETERS = {
  days: numberParameter('Number of days in `startedPerDay`, including today.', integer(1, 90), DAYS),
  sample: numberParameter('Maximum number of properties to show, the newest ones.', integer(0, 100), SAMPLE),
  places: numberParameter('Maximum number of locations to return for a map.', integer(0, PLACES_MAX), 0),
} as const;

export function previewRoutes(router: Router, dependencies: ApiDependencies, limiter: QueryLimiter): void {
  const askQuery = queriesOf(dependencies.askThread);
  router.post('/searches/preview', acceptable, jsonBody, async (ctx) => {
    const { days, sample, places } = readQuery(ctx, PREVIEW_PARAMETERS);
    const figures = await limiter.run(ctx, async (gone) => {
      const members = await readNewSearch(ctx.request.body, inputRules(ctx.state.baseUrl, dependencies), false);
      const most = { sampleMax: sample, placesMax: places };
      return askQuery('preview', { members, days, ...most, now: dependencies.now() }, gone);
    });
    answer(ctx, previewDocument(figures, dependencies.reference));
  });
}

export function previewDocument(
  { sample, places, ...figures }: PreviewFigures,
  reference: Pick<Reference, 'city'>,
): object {
  const placeOf = ({ lat, lon, insee }: CountedPlace): readonly [lon: number, lat: number] | null => {
    if (lat !== null && lon !== null) return [lon, lat];
    const centre = insee === null ? null : (reference.city(insee)?.location ?? null);
    return centre && [centre.lon, centre.lat];
  };
  return {
    ...identityOf('Preview', '/searches/preview'),
    ...figures,
    sample: sample.map(({ uuid, satisfiedSince }) => ({ property: propertyIri(uuid), satisfiedSince })),
    places: places.map(placeOf).filter((place) => place !== null),
  };
}
