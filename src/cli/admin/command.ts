/** What a command of `vigie admin` is: one that is given a connected client. How it asks for conditions and names. */

import { urlKeyOf } from '../../domain/endpoint.ts';
import { parseUuid } from '../../domain/ids.ts';
import { flag, type Input, type Command as PlainCommand, UsageError, valued } from '../command.ts';
import type { AdminClient } from './client.ts';

export { flag, type Input, UsageError, valued };

/** Its words do without `admin`. */
export interface Command extends Omit<PlainCommand, 'run' | 'group'> {
  run(client: AdminClient, input: Input): Promise<void>;
}

/** An id alone is as good as its full name. Empty stays empty. */
export function named(collection: string, id: string): string {
  return id === '' || id.startsWith(`${collection}/`) ? id : `${collection}/${id}`;
}

/** A client may be given by what it is called too; an id alone is as good as its full name. */
export function clientNamed(client: string): string {
  return parseUuid(client) === null ? client : named('clients', client);
}

/** The property that the options name, or that was named in place of one: an id, `adverts/` and an id, or an address. */
export function propertyNamed({ text }: Input, argument = '') {
  const [property, advert, url] = [text('property'), text('advert'), text('url')];
  const isAddress = /^https?:\/\//.test(argument);
  const isAdvert = argument.startsWith('adverts/');
  return {
    property: named('properties', property || (isAddress || isAdvert ? '' : argument)),
    advert: named('adverts', advert || (isAdvert ? argument : '')),
    advertUrl: url || (isAddress ? argument : ''),
  };
}

/** An endpoint may be given by its URL too: then of every client that names it. */
export function endpointNamed(id: string): string {
  return /^https?:\/\//.test(id) ? `endpoints/${urlKeyOf(id)}` : named('endpoints', id);
}

/** Options that several commands take. */
export const PAGE = {
  limit: valued('N', 'at most so many, 1000 at the utmost; 50 without it'),
  'page-token': valued('TOKEN', 'go on where the last page ended'),
};
export const RANGE = {
  since: valued('TIME', 'from then on: ISO 8601, or an age such as 90s, 15m, 2h or 7d'),
  until: valued('TIME', 'before then'),
};
export const ENDPOINT = { endpoint: valued('ID|URL', 'of this endpoint alone') };
export const CLIENT = { client: valued('ID|NAME', 'of this client alone') };
export const PROPERTY = {
  property: valued('ID', 'of this property alone'),
  advert: valued('ID', 'of the property that has this advert'),
  url: valued('URL', 'of the property whose advert has this address on its portal'),
};
export const SEARCH = { search: valued('ID', 'of this search alone') };
export const PAUSE_REASON = { reason: valued('TEXT', 'shown to the other operators, at most 200 characters') };
export const DRY_RUN = { 'dry-run': flag('count, and change nothing') };

/** What changes something must say what it means. */
export function demandCondition({ args, text, flag: isSet }: Input, conditions: readonly string[]): void {
  if (args.length > 0 || conditions.some((name) => isSet(name) || text(name) !== '')) return;
  throw new UsageError(`say which ones: ${conditions.map((name) => `--${name}`).join(', ')}`);
}
