/**
 * Areas of a search (decisions, section 3). A property must be in at least one of the included areas, if there are any,
 * and in no excluded area.
 */

import { type Considered, type Evaluated, keyed, member, type Stored, verdictReason } from './criterion-kinds.ts';
import type { InLanguages, Language } from './criterion-words.ts';
import { type Circle, isInCircle, isInPolygon, type Polygon } from './geo.ts';
import type { PropertyFacts } from './property-facts.ts';

/** A property is inside if at least one of these areas contains it. If there are no areas, the criterion is not set. */
export interface Areas {
  readonly circle: Circle | null;
  /** INSEE codes from both `includedCities` and `includedInseeCodes`. */
  readonly inseeCodes: readonly string[];
  readonly departmentCodes: readonly string[];
  readonly zipcodes: readonly string[];
  readonly polygons: readonly Polygon[];
}

export const NOWHERE: Areas = { circle: null, inseeCodes: [], departmentCodes: [], zipcodes: [], polygons: [] };

export function hasAreas(areas: Areas): boolean {
  return placeCount(areas) > 0;
}

/** The number of areas. The circle and each code and polygon are one area. */
export function placeCount({ circle, inseeCodes, departmentCodes, zipcodes, polygons }: Areas): number {
  return Number(circle !== null) + inseeCodes.length + departmentCodes.length + zipcodes.length + polygons.length;
}

export type Place = Pick<PropertyFacts, 'lat' | 'lon' | 'inseeCodes' | 'zipcodes' | 'departmentCode'>;

export function isInAreas(areas: Areas, { lat, lon, inseeCodes, zipcodes, departmentCode }: Place): boolean {
  if (inseeCodes.some((code) => isListed(areas.inseeCodes, code))) return true;
  if (departmentCode !== null && areas.departmentCodes.includes(departmentCode)) return true;
  if (zipcodes.some((zipcode) => isListed(areas.zipcodes, zipcode))) return true;
  if (lat === null || lon === null) return false;
  if (areas.circle !== null && isInCircle(areas.circle, lat, lon)) return true;
  return areas.polygons.some((polygon) => isInPolygon(polygon, lat, lon));
}

/** Stands for an unknown location. The index finds searches that accept unknown areas by this INSEE code. */
export const NOWHERE_CODE = '';

export function isNowhere({ lat, inseeCodes, zipcodes, departmentCode }: Omit<Place, 'lon'>): boolean {
  return lat === null && inseeCodes.length === 0 && zipcodes.length === 0 && departmentCode === null;
}

/** Longer lists are converted to a set, because a search may name every commune. */
const SHORT_LIST_MAX = 32;
const lookedUp = new WeakMap<readonly string[], ReadonlySet<string>>();

function isListed(list: readonly string[], value: string): boolean {
  if (list.length <= SHORT_LIST_MAX) return list.includes(value);
  const known = lookedUp.get(list) ?? new Set(list);
  lookedUp.set(list, known);
  return known.has(value);
}

const MEMBERS = {
  lat: member('latitude', null, 'Latitude of the centre, WGS 84.', 'Latitude of the centre.'),
  lon: member('longitude', null, 'Longitude of the centre, WGS 84.', 'Longitude of the centre.'),
  radius: member('radius', null, 'Kilometres around lat and lon.', 'Kilometres around the centre.'),
  includedCities: member('cities', [], 'Cities to search in.'),
  includedDepartments: member('departments', [], 'Departments to search in.'),
  includedZipcodes: member('zipcodes', [], 'Zip codes to search in.'),
  includedInseeCodes: member('inseeCodes', [], 'INSEE codes of communes to search in.', 'INSEE codes to search in.'),
  geoShapes: member(
    'polygons',
    [],
    'Polygons, longitude first, rings closed: nested arrays, GeoJSON Polygon or MultiPolygon; one or several.',
    'Polygons to search in, longitude first.',
  ),
} as const;

const EXCLUDED_MEMBERS = {
  excludedCities: member('cities', [], 'Cities to leave out.'),
  excludedDepartments: member('departments', [], 'Departments to leave out.'),
  excludedZipcodes: member('zipcodes', [], 'Zip codes to leave out.'),
  excludedInseeCodes: member('inseeCodes', [], 'INSEE codes of communes to leave out.', 'INSEE codes to leave out.'),
  excludedGeoShapes: member(
    'polygons',
    [],
    'Polygons to leave out, in the forms of geoShapes.',
    'Polygons to leave out, longitude first.',
  ),
} as const;

type AreasEvaluated = Evaluated<Areas, Place>;
type Requested = Readonly<Record<'areas', Areas>>;
type Excluded = Readonly<Record<'excludedAreas', Areas>>;

/** The facts that both area criteria read, and the values that explanations show. */
const COMPARED = {
  reads: ['lat', 'lon', 'inseeCodes', 'zipcodes', 'departmentCode'],
  actual: ({ facts: { lat, lon, inseeCodes, zipcodes, departmentCode } }: Considered): Place => {
    return { lat, lon, inseeCodes, zipcodes, departmentCode };
  },
  shown: ({ expected, actual }: AreasEvaluated) => ({
    expected: { ...expected, polygons: expected.polygons.length },
    actual,
  }),
} as const;

export const AREAS = {
  kind: 'areas',
  name: 'areas',
  key: 'areas',
  unset: keyed('areas', NOWHERE),
  members: MEMBERS,
  ...COMPARED,
  isSet: ({ areas }: Requested) => hasAreas(areas),
  holds: ({ areas }: Requested, { facts }: Considered) => isInAreas(areas, facts),
  isUnknown: ({ facts }: Considered) => isNowhere(facts),
  expected: ({ areas }: Requested) => areas,
  reason: areasReason,
} as const;

/** Lacks `isUnknown`, because a property without a known location counts as outside the excluded areas. */
export const EXCLUDED_AREAS = {
  kind: 'excludedAreas',
  name: 'excludedAreas',
  key: 'excludedAreas',
  unset: keyed('excludedAreas', NOWHERE),
  members: EXCLUDED_MEMBERS,
  ...COMPARED,
  isSet: ({ excludedAreas }: Excluded) => hasAreas(excludedAreas),
  holds: ({ excludedAreas }: Excluded, { facts }: Considered) => !isInAreas(excludedAreas, facts),
  expected: ({ excludedAreas }: Excluded) => excludedAreas,
  reason: verdictReason({
    fr: [
      'Le bien est en dehors des zones que la recherche exclut.',
      "Le bien est dans l'une des zones que la recherche exclut.",
    ],
    en: [
      'The property is outside the areas that the search excludes.',
      'The property is in an area that the search excludes.',
    ],
  }),
} as const;

export function areasOf(members: Stored<typeof MEMBERS>): Areas {
  return {
    circle: circleOf(members),
    inseeCodes: union(members.includedCities, members.includedInseeCodes),
    departmentCodes: members.includedDepartments,
    zipcodes: members.includedZipcodes,
    polygons: members.geoShapes,
  };
}

export function excludedAreasOf(members: Stored<typeof EXCLUDED_MEMBERS>): Areas {
  return {
    circle: null,
    inseeCodes: union(members.excludedCities, members.excludedInseeCodes),
    departmentCodes: members.excludedDepartments,
    zipcodes: members.excludedZipcodes,
    polygons: members.excludedGeoShapes,
  };
}

function circleOf({ lat, lon, radius }: Stored<typeof MEMBERS>): Circle | null {
  if (lat === null || lon === null || radius === null) return null;
  return { lat: Number(lat), lon: Number(lon), radiusKm: Number(radius) };
}

/** Merges two lists of codes without duplicates. Copies nothing if there is at most one code, as in most searches. */
function union(some: readonly string[], others: readonly string[]): readonly string[] {
  if (some.length + others.length < 2) return some.length === 0 ? others : some;
  return [...new Set([...some, ...others])];
}

interface Words {
  readonly inside: string;
  readonly outside: string;
  readonly placeUnknown: string;
  /** For a property whose location is known only by its zip code and perhaps its department. */
  onlyKnown(zipcode: string, department: string | null): string;
}

const WORDS: InLanguages<Words> = {
  fr: {
    inside: 'Le bien est dans la zone recherchée.',
    outside: 'Le bien est en dehors de la zone recherchée.',
    placeUnknown: "L'emplacement du bien n'est pas connu.",
    onlyKnown: (zipcode, department) =>
      `Le bien est en dehors de la zone recherchée, d'après ce qui est connu de son emplacement : code postal ${zipcode}` +
      `${department === null ? '' : `, département ${department}`}.`,
  },
  en: {
    inside: 'The property is in the area searched.',
    outside: 'The property is outside the area searched.',
    placeUnknown: 'The location of the property is unknown.',
    onlyKnown: (zipcode, department) =>
      `The property is outside the area searched, according to what is known of its location: zip code ${zipcode}` +
      `${department === null ? '' : `, department ${department}`}.`,
  },
};

function areasReason({ holds, actual }: AreasEvaluated, language: Language): string {
  const words = WORDS[language];
  if (holds) return words.inside;
  if (actual.lat !== null || actual.inseeCodes.length > 0) return words.outside;
  const [zipcode = ''] = actual.zipcodes;
  return /^\d{5}$/.test(zipcode) ? words.onlyKnown(zipcode, actual.departmentCode) : words.placeUnknown;
}
