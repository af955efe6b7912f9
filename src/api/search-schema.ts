/**
 * The writable members of a search, each with its accepted forms (decisions, section 2). One schema per member gives
 * the type, the check and the published OpenAPI. Output is the stored form, except that references to cities and
 * departments come out as their ids: looking them up is `search-input.ts`'s part.
 */

import { z } from 'zod';
import { EVENT_KINDS, PROPERTY_TYPES, PUBLISHER_TYPES } from '../domain/codes.ts';
import { ExpressionsError, formatExpressions, parseExpressions } from '../domain/expressions.ts';
import { SEARCH_DEFAULTS } from '../domain/search.ts';
import { parseGeoShapes } from './geo-shapes.ts';

export const TITLE_LENGTH_MAX = 255;
/** Fits the 32-bit columns of the matching index; no price or surface comes near. */
export const BOUND_MAX = 2_147_483_647;
export const RADIUS_KM_MAX = 500;
/** All arrondissements of Paris are 20, the communes of Île-de-France 1,300. */
export const LIST_LENGTH_MAX = 2_000;
const URL_LENGTH_MAX = 2_048;
const DECIMAL_LENGTH_MAX = 32;

const title = z
  .string('must be a string')
  .refine((text) => text.trim() !== '', 'must not be blank')
  .max(TITLE_LENGTH_MAX, `must have at most ${TITLE_LENGTH_MAX} characters`)
  .meta({ description: 'Title of the search.', examples: ['T3 à Toulon'] });

const transactionType = z
  .union([z.literal(0), z.literal(1), z.literal('0'), z.literal('1')], 'must be 0 (sale) or 1 (rent)')
  .transform(Number)
  .nullable()
  .meta({ description: '0 sale, 1 rent. Answered as a string.' });

function codes<const Codes extends readonly number[]>(known: Codes, legend: string) {
  const code = z.literal([...known]);
  const accepted = `must be one of ${known.join(', ')} or an array of them`;
  return z
    .union([code, z.array(code).max(known.length)], accepted)
    .nullable()
    .meta({ description: `${legend}. One code or several (any of); answered in the form it was sent.` });
}

function bound(description: string) {
  return z
    .int('must be an integer')
    .min(0, 'must be 0 or more')
    .max(BOUND_MAX, `must be at most ${BOUND_MAX}`)
    .nullable()
    .meta({ description: `${description} 0 is no bound.` });
}

const flag = (description: string) => z.boolean('must be true or false').nullable().meta({ description });

const DECIMAL = /^-?\d+(\.\d+)?$/;

/** A number or a decimal string, kept as text so that no digit is lost. */
function decimal(isAllowed: (value: number) => boolean, rule: string, description: string) {
  const accepted = `must be a number or a decimal string, ${rule}`;
  const text = z.string(accepted).max(DECIMAL_LENGTH_MAX, accepted).regex(DECIMAL, accepted);
  return z
    .union([z.number(accepted), text], accepted)
    .transform((value) => (typeof value === 'number' ? decimalOf(value) : value))
    .refine((value) => isAllowed(Number(value)), `must be ${rule}`)
    .nullable()
    .meta({ description: `${description} Answered as a string.` });
}

/** Without an exponent: `String(1e-7)` is no decimal. */
function decimalOf(value: number): string {
  const text = String(value);
  return DECIMAL.test(text) ? text : value.toFixed(20).replace(/\.?0+$/, '');
}

/** `/cities/30953`, `cities/30953`, the same with protocol and host, or an object with it as `@id`. */
function references(collection: string, description: string) {
  const pattern = new RegExp(`^(?:https?://[^/?#]+)?/?${collection}/(\\d{1,9})$`);
  const rule = `must be an IRI such as /${collection}/1, or an object with it as @id`;
  const iri = z.string(rule).max(URL_LENGTH_MAX, rule).regex(pattern, rule);
  const reference = z
    .union([iri, z.looseObject({ '@id': iri })], rule)
    .transform((value) => Number(pattern.exec(typeof value === 'string' ? value : value['@id'])?.[1]));
  return list(reference, description);
}

function list<Item extends z.ZodType>(item: Item, description: string) {
  return z
    .array(item, 'must be an array')
    .max(LIST_LENGTH_MAX, `must have at most ${LIST_LENGTH_MAX} items`)
    .nullable()
    .transform((items) => items ?? [])
    .meta({ description });
}

const endpoint = (description: string) =>
  z
    .string('must be a URL')
    .max(URL_LENGTH_MAX, `must have at most ${URL_LENGTH_MAX} characters`)
    .nullable()
    .meta({ description, format: 'uri' });

const expressions = z
  .unknown()
  .transform((input, context) => {
    try {
      return formatExpressions(parseExpressions(input));
    } catch (error) {
      if (!(error instanceof ExpressionsError)) throw error;
      context.issues.push({ code: 'custom', message: error.message, input });
      return z.NEVER;
    }
  })
  .meta({
    type: ['string', 'array', 'object', 'null'],
    description:
      'Text conditions: expressions[<group>][<index>][word]=<text> with [options][includes] and [options][strict], ' +
      'the same nested, or a flat array of {word, includes, strict}. Groups are alternatives.',
  });

const geoShapes = z
  .unknown()
  .transform((input, context) => {
    const shapes = parseGeoShapes(input);
    if (typeof shapes !== 'string') return shapes;
    context.issues.push({ code: 'custom', message: shapes, input });
    return z.NEVER;
  })
  .meta({
    type: ['array', 'object', 'null'],
    description: 'Polygons, longitude first, rings closed: nested arrays, or GeoJSON Polygon or MultiPolygon.',
  });

const subscribedEvents = z
  .array(z.enum(EVENT_KINDS, `must be one of ${EVENT_KINDS.join(', ')}`), 'must be an array')
  .max(LIST_LENGTH_MAX)
  .nullable()
  .transform((kinds) => [...new Set(kinds ?? [])])
  .meta({ description: 'Kinds of event that go to eventEndpoint.' });

const lat = decimal((value) => Math.abs(value) <= 90, 'from -90 to 90', 'Latitude of the centre, WGS 84.');
const lon = decimal((value) => Math.abs(value) <= 180, 'from -180 to 180', 'Longitude of the centre, WGS 84.');
const radius = decimal(
  (value) => value > 0 && value <= RADIUS_KM_MAX,
  `above 0 and at most ${RADIUS_KM_MAX}`,
  'Kilometres round lat and lon.',
);

/** By member name. Every schema takes null but that of `title`. */
export const SEARCH_MEMBERS = {
  title,
  transactionType,
  propertyTypes: codes(PROPERTY_TYPES, '0 apartment, 1 house, 2 building, 3 parking, 4 office, 5 land, 6 shop'),
  publisherTypes: codes(PUBLISHER_TYPES, '0 individual, 1 professional'),
  budgetMin: bound('Lowest price, euros.'),
  budgetMax: bound('Highest price, euros.'),
  advertPriceMin: bound('Lowest price of any live advert, euros.'),
  advertPriceMax: bound('Highest price of any live advert, euros.'),
  pricePerMeterMin: bound('Lowest price per m², euros.'),
  pricePerMeterMax: bound('Highest price per m², euros.'),
  surfaceMin: bound('Smallest surface, m².'),
  surfaceMax: bound('Largest surface, m².'),
  landSurfaceMin: bound('Smallest land surface, m².'),
  landSurfaceMax: bound('Largest land surface, m².'),
  roomMin: bound('Fewest rooms.'),
  roomMax: bound('Most rooms.'),
  bedroomMin: bound('Fewest bedrooms.'),
  bedroomMax: bound('Most bedrooms.'),
  furnished: flag('Furnished or not; null: either.'),
  withCoherentPrice: flag('Leaves out properties whose price is incoherent. Default true; null switches it off.'),
  withVirtualTour: flag('True: a live advert has a virtual tour.'),
  hidePropertyContact: flag('Leaves contacts out of what this search receives.').transform((value) => value ?? false),
  lat,
  lon,
  radius,
  includedCities: references('cities', 'Cities to look in.'),
  excludedCities: references('cities', 'Cities to leave out.'),
  includedDepartments: references('departments', 'Departments to look in.'),
  includedZipcodes: list(z.string().regex(/^\d{5}$/, 'must be five digits'), 'Zip codes to look in.'),
  includedInseeCodes: list(
    z.string('must be a string').regex(/^(\d{2}|2A|2B)\d{3}$/, 'must be an INSEE code, such as 83137'),
    'INSEE codes of communes to look in.',
  ),
  includedSiteCategories: references('site_categories', 'Site categories, one of which an advert must have.'),
  excludedSiteCategories: references('site_categories', 'Site categories whose adverts do not count.'),
  geoShapes,
  expressions,
  notificationEnabled: flag('Must be true for any delivery.').transform((value) => value ?? false),
  notificationRecipient: z
    .email('must be an e-mail address')
    .max(320, 'must have at most 320 characters')
    .nullable()
    .meta({ description: 'Recipient address for notifications.' }),
  endpointRecipient: endpoint('Absolute https URL that receives matches.'),
  eventEndpoint: endpoint('Absolute https URL that receives events.'),
  subscribedEvents,
} as const;

export type SearchMemberName = keyof typeof SEARCH_MEMBERS;
export type SearchInput = { -readonly [Name in SearchMemberName]?: z.output<(typeof SEARCH_MEMBERS)[Name]> };

/** The defaults list the same members: the compiler refuses to let the two drift apart. */
({ title: '', ...SEARCH_DEFAULTS }) satisfies Record<SearchMemberName, unknown>;

/** Answered, and ignored when a client sends them back. */
export const READ_ONLY_MEMBERS: readonly string[] = [
  '@context',
  '@id',
  '@type',
  'token',
  'user',
  'createdAt',
  'updatedAt',
  'lastAlertAt',
];
