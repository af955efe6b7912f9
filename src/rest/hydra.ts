/** The envelope of collections, in the form of API Platform 2.7 (specification, section 2.3). */

import type { Context } from 'koa';
import { type Rules, searchTemplate } from './query.ts';

export interface Paging {
  readonly page: number;
  readonly itemsPerPage: number;
}

export interface CollectionPage {
  readonly context: string;
  readonly members: readonly unknown[];
  readonly totalItems: number;
  /** If absent, the page that `readQuery` has read. */
  readonly paging?: Paging;
  /** Only in collections that may be estimated: true if there may be more members than `totalItems`. */
  readonly estimated?: boolean;
  /** How many more there may be, if that was computed. */
  readonly margin?: number;
}

/** The JSON-LD members at the start of a resource. */
export function identityOf(type: string, iri: string) {
  return { '@context': `/contexts/${type}`, '@id': iri, '@type': type };
}

export function offsetOf({ page, itemsPerPage }: Paging): { readonly offset: number; readonly limit: number } {
  return { offset: (page - 1) * itemsPerPage, limit: itemsPerPage };
}

export function collection(ctx: Context, page: CollectionPage): object {
  const { parameters, ...query } = ctx.state.query as Paging & { readonly parameters: Rules };
  const { context, members, totalItems, paging = query, estimated, margin } = page;
  const shown = view(ctx, paging, totalItems);
  if (shown['hydra:next'] !== undefined) linkNext(ctx, shown['hydra:next']);
  return {
    '@context': `/contexts/${context}`,
    '@id': ctx.path,
    '@type': 'hydra:Collection',
    collectionType: collectionClassOf(context),
    'hydra:member': members,
    'hydra:totalItems': totalItems,
    'hydra:view': shown,
    'hydra:search': searchTemplate(ctx.path, parameters),
    ...(estimated === undefined ? {} : { estimated }),
    ...(margin === undefined ? {} : { margin }),
  };
}

/**
 * The class of a collection in `/docs.jsonld`, where clients find its operations. Collections themselves have the
 * `@type` `hydra:Collection`, which many clients expect.
 */
export function collectionClassOf(resource: string): string {
  return `${resource}Collection`;
}

/** Has links only when there is more than one page, and `next` and `previous` only when such a page exists. */
function view(ctx: Context, { page, itemsPerPage }: Paging, totalItems: number): Readonly<Record<string, string>> {
  const last = Math.max(1, Math.ceil(totalItems / itemsPerPage));
  const link = (number: number): string => {
    const parameters = new URLSearchParams(ctx.querystring);
    parameters.set('page', String(number));
    return `${ctx.path}?${parameters.toString()}`;
  };
  const identity = { '@id': viewId(ctx), '@type': 'hydra:PartialCollectionView' };
  if (last === 1) return identity;
  return {
    ...identity,
    'hydra:first': link(1),
    'hydra:last': link(last),
    ...(page > 1 ? { 'hydra:previous': link(Math.min(page - 1, last)) } : {}),
    ...(page < last ? { 'hydra:next': link(page + 1) } : {}),
  };
}

/** Adds a `Link` header to the next page, for clients that do not read the body (RFC 8288). */
export function linkNext(ctx: Context, iri: string): void {
  ctx.append('Link', `<${iri}>; rel="next"`);
}

const NOT_IN_QUERY = /%(?![0-9a-f]{2})|[^\w\-.~!$&'()*+,;=:@/?%]/gi;

/** The request path with its query; characters that are invalid in a URI, such as brackets, are encoded (RFC 3986). */
export function viewId(ctx: Context): string {
  return ctx.querystring === '' ? ctx.path : `${ctx.path}?${ctx.querystring.replace(NOT_IN_QUERY, encodeURIComponent)}`;
}
