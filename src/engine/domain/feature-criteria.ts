/**
 * Features of a home that a search requires or excludes. A feature is present if a live advert names it. It is absent
 * if none names it, but one denies it or names another feature. Otherwise it is unknown (decisions, section 3).
 */

import { type Considered, type Evaluated, keyed, member } from './criterion-kinds.ts';
import type { InLanguages, Language } from './criterion-words.ts';
import { FEATURE_VOCABULARY } from './feature-vocabulary.ts';
import { ALL_FEATURES, type FeatureName, type FeatureSet, featuresIn } from './features.ts';
import type { AdvertFacts } from './property-facts.ts';

export interface FeaturePresence {
  readonly present: FeatureSet;
  readonly absent: FeatureSet;
}

export function presenceOf(adverts: readonly AdvertFacts[]): FeaturePresence {
  let present = 0;
  let denied = 0;
  for (const { features, deniedFeatures } of adverts) {
    present |= features;
    denied |= deniedFeatures;
  }
  return { present, absent: present === 0 ? denied : ALL_FEATURES & ~present };
}

type Included = Readonly<Record<'includedFeatures', FeatureSet>>;
type Excluded = Readonly<Record<'excludedFeatures', FeatureSet>>;
type FeaturesEvaluated = Evaluated<readonly FeatureName[], FeatureActual>;

interface FeatureActual {
  readonly present: readonly FeatureName[];
  readonly absent: readonly FeatureName[];
}

function actualOf({ adverts }: Considered): FeatureActual {
  const { present, absent } = presenceOf(adverts);
  return { present: featuresIn(present), absent: featuresIn(absent) };
}

/** The actual features, limited to those that the search names. */
function requestedAmong({ expected, actual }: FeaturesEvaluated): FeatureActual {
  const isRequested = (name: FeatureName): boolean => expected.includes(name);
  return { present: actual.present.filter(isRequested), absent: actual.absent.filter(isRequested) };
}

export const INCLUDED_FEATURES = {
  kind: 'features',
  name: 'includedFeatures',
  key: 'includedFeatures',
  unset: keyed<'includedFeatures', FeatureSet>('includedFeatures', 0),
  members: { includedFeatures: member('features', [], 'Features that the home must have, named as in /features.') },
  reads: ['features', 'deniedFeatures'],
  isSet: ({ includedFeatures }: Included) => includedFeatures !== 0,
  holds: ({ includedFeatures }: Included, { adverts }: Considered) =>
    (includedFeatures & ~presenceOf(adverts).present) === 0,
  isUnknown: ({ adverts }: Considered, { includedFeatures }: Included) =>
    (includedFeatures & presenceOf(adverts).absent) === 0,
  expected: ({ includedFeatures }: Included) => featuresIn(includedFeatures),
  actual: actualOf,
  reason: includedReason,
  endValue: requestedAmong,
} as const;

export const EXCLUDED_FEATURES = {
  kind: 'features',
  name: 'excludedFeatures',
  key: 'excludedFeatures',
  unset: keyed<'excludedFeatures', FeatureSet>('excludedFeatures', 0),
  members: { excludedFeatures: member('features', [], 'Features that the home must not have, named as in /features.') },
  reads: ['features'],
  isSet: ({ excludedFeatures }: Excluded) => excludedFeatures !== 0,
  holds: ({ excludedFeatures }: Excluded, { adverts }: Considered) =>
    (excludedFeatures & presenceOf(adverts).present) === 0,
  expected: ({ excludedFeatures }: Excluded) => featuresIn(excludedFeatures),
  actual: actualOf,
  reason: excludedReason,
  endValue: requestedAmong,
} as const;

interface Words {
  readonly hasAll: string;
  readonly lacks: (labels: string) => string;
  readonly unknown: (labels: string) => string;
  readonly hasNone: string;
  readonly has: (labels: string) => string;
}

const WORDS: InLanguages<Words> = {
  fr: {
    hasAll: 'Le bien a les équipements demandés.',
    lacks: (labels) => `Le bien n'a pas\u00a0: ${labels}.`,
    unknown: (labels) => `On ne sait pas si le bien a\u00a0: ${labels}.`,
    hasNone: "Rien n'indique que le bien a ce que la recherche exclut.",
    has: (labels) => `Le bien a, alors que la recherche l'exclut\u00a0: ${labels}.`,
  },
  en: {
    hasAll: 'The property has the requested features.',
    lacks: (labels) => `The property does not have: ${labels}.`,
    unknown: (labels) => `It is not known whether the property has: ${labels}.`,
    hasNone: 'Nothing shows that the property has a feature that the search excludes.',
    has: (labels) => `The property has features that the search excludes: ${labels}.`,
  },
};

function includedReason({ holds, expected, actual }: FeaturesEvaluated, language: Language): string {
  const words = WORDS[language];
  if (holds) return words.hasAll;
  const absent = expected.filter((name) => actual.absent.includes(name));
  if (absent.length > 0) return words.lacks(featureLabels(absent, language));
  const unknown = expected.filter((name) => !actual.present.includes(name));
  return words.unknown(featureLabels(unknown, language));
}

function excludedReason({ holds, expected, actual }: FeaturesEvaluated, language: Language): string {
  const words = WORDS[language];
  if (holds) return words.hasNone;
  const present = expected.filter((name) => actual.present.includes(name));
  return words.has(featureLabels(present, language));
}

export function featureLabels(names: readonly FeatureName[], language: Language): string {
  return names.map((name) => FEATURE_VOCABULARY[name].label[language]).join(', ');
}
