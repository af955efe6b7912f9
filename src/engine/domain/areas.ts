/** The places of a search (decisions, section 3): inside any of the included areas, then not in an excluded city. */

import { type Considered, type Evaluated, keyed, member, type Stored, verdictReason } from './criterion-kinds.ts';
import type { InLanguages, Language } from './criterion-words.ts';
import { type Circle, isInCircle, isInPolygon, type Polygon } from './geo.ts';
import type { PropertyFacts } from './property-facts.ts';

/** Inside any of them; all empty means everywhere. */
export interface Areas {
  readonly circle: Circle | null;
  /** INSEE codes, from `includedCities` and `includedInseeCodes` alike. */
  readonly inseeCodes: readonly string[];
  readonly departmentCodes: readonly string[];
  readonly zipcodes: readonly string[];
  readonly polygons: readonly Polygon[];
}

/** No areas at all: everywhere. */
export const NOWHERE: Areas = { circle: null, inseeCodes: [], departmentCodes: [], zipcodes: [], polygons: [] };

export function hasAreas(areas: Areas): boolean {
  return (
    areas.circle !== null ||
    areas.inseeCodes.length > 0 ||
    areas.departmentCodes.length > 0 ||
    areas.zipcodes.length > 0 ||
    areas.polygons.length > 0
  );
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

/** Where no place is known: under this code such a property is found by searches that accept that. No commune has it. */
export const NOWHERE_CODE = '';

export function isNowhere({ lat, inseeCodes, zipcodes, departmentCode }: Omit<Place, 'lon'>): boolean {
  return lat === null && inseeCodes.length === 0 && zipcodes.length === 0 && departmentCode === null;
}

/** Lists longer than this are looked up: a search may name every commune, and be held against thousands of properties. */
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
  radius: member('radius', null, 'Kilometres round lat and lon.', 'Kilometres round the centre.'),
  includedCities: member('cities', [], 'Cities to look in.'),
  includedDepartments: member('departments', [], 'Departments to look in.'),
  includedZipcodes: member('zipcodes', [], 'Zip codes to look in.'),
  includedInseeCodes: member('inseeCodes', [], 'INSEE codes of communes to look in.', 'INSEE codes to look in.'),
  geoShapes: member(
    'polygons',
    [],
    'Polygons, longitude first, rings closed: nested arrays, GeoJSON Polygon or MultiPolygon, either of them as text, ' +
      'or lon,lat;lon,lat;… for a ring; one or several.',
    'Polygons to look in, longitude first.',
  ),
} as const;

type AreasEvaluated = Evaluated<Areas, Place>;
type Asked = Readonly<Record<'areas', Areas>>;

export const AREAS = {
  kind: 'areas',
  name: 'areas',
  key: 'areas',
  unset: keyed('areas', NOWHERE),
  members: MEMBERS,
  reads: ['lat', 'lon', 'inseeCodes', 'zipcodes', 'departmentCode'],
  isSet: ({ areas }: Asked) => hasAreas(areas),
  holds: ({ areas }: Asked, { facts }: Considered) => isInAreas(areas, facts),
  isUnknown: ({ facts }: Considered) => isNowhere(facts),
  expected: ({ areas }: Asked) => areas,
  actual: ({ facts: { lat, lon, inseeCodes, zipcodes, departmentCode } }: Considered): Place => {
    return { lat, lon, inseeCodes, zipcodes, departmentCode };
  },
  reason: areasReason,
  shown: ({ expected, actual }: AreasEvaluated) => ({
    expected: { ...expected, polygons: expected.polygons.length },
    actual,
  }),
} as const;

export const EXCLUDED_CITIES = {
  kind: 'excludedCities',
  name: 'excludedCities',
  key: 'excludedInseeCodes',
  unset: keyed<'excludedInseeCodes', readonly string[]>('excludedInseeCodes', []),
  members: { excludedCities: member('cities', [], 'Cities to leave out.') },
  reads: ['inseeCodes'],
  isSet: ({ excludedInseeCodes }: Excluded) => excludedInseeCodes.length > 0,
  holds: ({ excludedInseeCodes }: Excluded, { facts }: Considered) =>
    !facts.inseeCodes.some((code) => isListed(excludedInseeCodes, code)),
  expected: ({ excludedInseeCodes }: Excluded) => excludedInseeCodes,
  actual: ({ facts }: Considered) => facts.inseeCodes,
  reason: verdictReason({
    fr: [
      'La ville ne fait pas partie de celles que la recherche exclut.',
      'La ville fait partie de celles que la recherche exclut.',
    ],
    en: ['The city is none that the search excludes.', 'The city is one that the search excludes.'],
  }),
} as const;

type Excluded = Readonly<Record<'excludedInseeCodes', readonly string[]>>;

export function areasOf(members: Stored<typeof MEMBERS>): Areas {
  return {
    circle: circleOf(members),
    inseeCodes: union(members.includedCities, members.includedInseeCodes),
    departmentCodes: members.includedDepartments,
    zipcodes: members.includedZipcodes,
    polygons: members.geoShapes,
  };
}

function circleOf({ lat, lon, radius }: Stored<typeof MEMBERS>): Circle | null {
  if (lat === null || lon === null || radius === null) return null;
  return { lat: Number(lat), lon: Number(lon), radiusKm: Number(radius) };
}

/** Each once; most searches fill neither list, or one with a single code. */
function union(some: readonly string[], others: readonly string[]): readonly string[] {
  if (some.length + others.length < 2) return some.length === 0 ? others : some;
  return [...new Set([...some, ...others])];
}

interface Words {
  readonly inside: string;
  readonly outside: string;
  readonly placeUnknown: string;
  /** Neither the commune nor coordinates are known. */
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
    placeUnknown: 'The place of the property is unknown.',
    onlyKnown: (zipcode, department) =>
      `The property is outside the area searched, by what is known of its place: zip code ${zipcode}` +
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
