/** The criterion `pointsOfInterest` (decisions, section 16): the distances to the nearest points of interest. */

import { type Considered, type Evaluated, keyed, member } from './criterion-kinds.ts';
import { type InLanguages, type Language, shownNumber } from './criterion-words.ts';
import {
  type Combination,
  combinationKey,
  DISTANCE_MAX_M,
  distanceTo,
  isAccepted,
  metersOf,
  type PointDistances,
  type PointTerm,
} from './point-distances.ts';
import type { Facility, OperatorType, SchoolType } from './point-of-interest.ts';

export const POINT_TERMS_MAX = 10;
/** Maximum number of combinations that all searches of a client together may name. */
export const COMBINATIONS_MAX = 8;
/** The range of `within` and `beyond`, in kilometres. */
export const POINT_DISTANCE = { min: 0.05, max: DISTANCE_MAX_M / 1_000 } as const;

/** `names`: the names of the nearest points, by `combinationKey`, for explanations. */
interface Nearby {
  readonly distances: PointDistances | null;
  readonly names?: Readonly<Record<string, string | null>>;
}

export type PointsEvaluated = Evaluated<readonly PointTerm[], Nearby>;
type Requested = Readonly<Record<'pointsOfInterest', readonly PointTerm[]>>;

export const POINTS_OF_INTEREST = {
  kind: 'points',
  name: 'pointsOfInterest',
  key: 'pointsOfInterest',
  unset: keyed<'pointsOfInterest', readonly PointTerm[]>('pointsOfInterest', []),
  members: {
    pointsOfInterest: member(
      'points',
      [],
      `Distances to the nearest points of interest, at most ${POINT_TERMS_MAX}; all must hold. The searches of ` +
        `a client may name at most ${COMBINATIONS_MAX} combinations of facility and attributes in total.`,
      'Distances to the nearest points of interest; all must hold.',
    ),
  },
  reads: ['distances'],
  isSet: ({ pointsOfInterest }: Requested) => pointsOfInterest.length > 0,
  holds: ({ pointsOfInterest }: Requested, { facts }: Considered) =>
    pointsOfInterest.every((term) => isAccepted(term, distanceTo(term, facts.distances))),
  isUnknown: ({ facts }: Considered, { pointsOfInterest }: Requested) =>
    pointsOfInterest.every((term) => {
      const distanceM = distanceTo(term, facts.distances);
      return distanceM === null || isAccepted(term, distanceM);
    }),
  expected: ({ pointsOfInterest }: Requested) => pointsOfInterest,
  actual: ({ facts }: Considered): Nearby => ({ distances: facts.distances }),
  reason: pointsReason,
  shown: ({ expected, actual: { distances, names } }: PointsEvaluated) => ({
    expected,
    actual: expected.map(({ facility, attributes, ...term }) => {
      const combination = { facility, ...(attributes && { attributes }) };
      const name = names?.[combinationKey(combination)];
      return { ...combination, meters: distanceTo({ ...combination, ...term }, distances), ...(name && { name }) };
    }),
  }),
} as const;

type Gender = 'f' | 'm';
type Noun = InLanguages<string> & { readonly gender: Gender };

function noun(en: string, fr: string, gender: Gender): Noun {
  return { en, fr, gender };
}

const FACILITY_NOUNS: Readonly<Record<Facility, Noun>> = {
  kindergarten: noun('kindergarten', 'crèche', 'f'),
  school: noun('school', 'école', 'f'),
  restaurant: noun('restaurant', 'restaurant', 'm'),
  hospital: noun('hospital', 'hôpital', 'm'),
  parking: noun('car park', 'parking', 'm'),
};
const SCHOOL_NOUNS: Readonly<Record<SchoolType, Noun>> = {
  maternelle: noun('nursery school', 'école maternelle', 'f'),
  élémentaire: noun('elementary school', 'école élémentaire', 'f'),
  primaire: noun('primary school', 'école primaire', 'f'),
  collège: noun('middle school', 'collège', 'm'),
  lycée: noun('high school', 'lycée', 'm'),
  secondaire: noun('secondary school', 'établissement secondaire', 'm'),
};
const OPERATORS: Readonly<Record<OperatorType, InLanguages<Readonly<Record<Gender, string>>>>> = {
  public: { fr: { f: 'publique', m: 'public' }, en: { f: 'public', m: 'public' } },
  private: { fr: { f: 'privée', m: 'privé' }, en: { f: 'private', m: 'private' } },
};

/** For example `école publique`, or `private high school`. */
function combinationLabel({ facility, attributes = {} }: Combination, language: Language): string {
  const { schoolType, operatorType } = attributes;
  const { gender, [language]: name } = schoolType ? SCHOOL_NOUNS[schoolType] : FACILITY_NOUNS[facility];
  if (operatorType === undefined) return name;
  const operator = OPERATORS[operatorType][language][gender];
  return language === 'fr' ? `${name} ${operator}` : `${operator} ${name}`;
}

function shownDistance(meters: number, language: Language): string {
  if (meters < 1_000) return `${meters}\u00a0m`;
  return `${shownNumber(meters / 1_000, language, 3)}\u00a0km`;
}

/** For example `école publique à 420 m`, or `car park (Central) 420 m away`. */
export function nearbyText(term: PointTerm, distanceM: number, language: Language, name?: string | null): string {
  const label = combinationLabel(term, language) + (name ? ` (${name})` : '');
  const isFar = distanceM > DISTANCE_MAX_M;
  const distance = shownDistance(Math.min(distanceM, DISTANCE_MAX_M), language);
  if (language === 'fr') return `${label} à ${isFar ? 'plus de ' : ''}${distance}`;
  return `${label} ${isFar ? 'more than ' : ''}${distance} away`;
}

/** For example `at most 500 m`. */
function requestedDistance(term: PointTerm, language: Language): string {
  const { min, max } = metersOf(term);
  const [atMost, atLeast] = { fr: ['au plus', 'au moins'], en: ['at most', 'at least'] }[language];
  return term.within === undefined
    ? `${atLeast} ${shownDistance(min, language)}`
    : `${atMost} ${shownDistance(max, language)}`;
}

/** For example `école publique (au plus 500 m)`. */
export function requestedText(term: PointTerm, language: Language): string {
  return `${combinationLabel(term, language)} (${requestedDistance(term, language)})`;
}

const WORDS = {
  fr: {
    holds: "Points d'intérêt aux distances demandées",
    fails: "Points d'intérêt à d'autres distances que celles demandées",
    unknown: 'Distance inconnue',
    colon: '\u00a0: ',
  },
  en: {
    holds: 'Points of interest at the requested distances',
    fails: 'Points of interest at other distances than requested',
    unknown: 'Distance unknown',
    colon: ': ',
  },
};

/** If the criterion fails, names only the terms that fail, or the unknown terms if no known distance fails. */
function pointsReason({ holds, expected, actual }: PointsEvaluated, language: Language): string {
  const { distances, names } = actual;
  const words = WORDS[language];
  const sentence = (head: string, parts: readonly string[]): string => `${head}${words.colon}${parts.join(', ')}.`;
  const known = expected.flatMap((term) => {
    const distanceM = distanceTo(term, distances);
    if (distanceM === null || isAccepted(term, distanceM) !== holds) return [];
    const text = nearbyText(term, distanceM, language, names?.[combinationKey(term)]);
    return holds ? text : `${text} (${requestedDistance(term, language)})`;
  });
  if (known.length > 0 || holds) return sentence(holds ? words.holds : words.fails, known);
  const unknown = expected.filter((term) => distanceTo(term, distances) === null);
  return sentence(words.unknown, [...new Set(unknown.map((term) => combinationLabel(term, language)))]);
}
