/**
 * `/public/location-autocomplete` (decisions, section 7): the places that may be meant by what was typed so far, each
 * with its IRI and with what a search takes to look there. Answered from memory in a millisecond.
 */

import type Router from '@koa/router';
import type { CompletedPlace, PlaceType } from '../engine/reference/place-completion.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { collection, offsetOf } from './hydra.ts';
import { PAGING, readQuery, textParameter } from './query.ts';
import type { QueryLimiter } from './query-limiter.ts';
import type { SearchMemberName } from './search-schema.ts';

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

/** The member of a search that takes the place. */
const CRITERIA: Readonly<Record<PlaceType, SearchMemberName>> = {
  city: 'includedCities',
  department: 'includedDepartments',
  zipcode: 'includedZipcodes',
};

export function locationDocument(place: CompletedPlace): object {
  const { type, name, code, zipcode, population, cityIds } = place;
  const iri = iriOf(place);
  return {
    '@context': '/contexts/Location',
    '@id': iri,
    '@type': 'Location',
    type,
    label: labelOf(place),
    name,
    code,
    zipcode,
    population,
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
