/**
 * Finds the features that an advert names or denies in the items of its `features`; expressions search its texts. A set
 * of features is an integer with one bit per feature. An item counts only if the vocabulary contains each of its parts,
 * except numbers, measures and words such as *oui* and *sans*. Punctuation or a word such as *et* separates parts.
 */

import { LRUCache } from 'lru-cache';
import { FEATURE_VOCABULARY } from './feature-vocabulary.ts';
import { foldText, foldWords } from './text.ts';

export type FeatureName = keyof typeof FEATURE_VOCABULARY;
export const FEATURE_NAMES = Object.keys(FEATURE_VOCABULARY) as readonly FeatureName[];
if (FEATURE_NAMES.length > 31) throw new RangeError(`${FEATURE_NAMES.length} features do not fit an integer`);

export type FeatureSet = number;
export const ALL_FEATURES: FeatureSet = 2 ** FEATURE_NAMES.length - 1;

export function featureSetOf(names: readonly string[]): FeatureSet {
  return names.reduce((set, name) => set | bitOf(name), 0);
}

export function featuresIn(set: FeatureSet): readonly FeatureName[] {
  return FEATURE_NAMES.filter((_, position) => ((set >> position) & 1) !== 0);
}

/** 0 if the name is not a feature. */
function bitOf(name: string): FeatureSet {
  const position = (FEATURE_NAMES as readonly string[]).indexOf(name);
  return position === -1 ? 0 : 1 << position;
}

export interface StatedFeatures {
  readonly named: FeatureSet;
  readonly denied: FeatureSet;
}

const NOTHING: StatedFeatures = { named: 0, denied: 0 };

/** Features by the folded words that name them. */
const MEANINGS = new Map(
  FEATURE_NAMES.flatMap((name) => {
    const { words } = FEATURE_VOCABULARY[name];
    return [...words.fr, ...words.en].map((word) => [foldText(word), bitOf(name)] as const);
  }),
);
const IMPLIED = FEATURE_NAMES.flatMap((name) => {
  const implied = impliedFeature(name);
  return implied === null ? [] : [{ feature: bitOf(name), implied: bitOf(implied) }];
});

/** Another feature that every home with the named feature has; null if there is none. */
export function impliedFeature(name: FeatureName): FeatureName | null {
  const row = FEATURE_VOCABULARY[name];
  return 'implies' in row ? row.implies : null;
}

/** Longer items are ignored, because most of them are prose. */
const ITEM_LENGTH_MAX = 200;
/** A cache: adverts share most items. */
const known = new LRUCache<string, StatedFeatures>({ max: 5_000 });

export function featuresOf(items: readonly string[]): StatedFeatures {
  if (items.length === 0) return NOTHING;
  let named = 0;
  let denied = 0;
  for (const item of items) {
    if (item.length > ITEM_LENGTH_MAX) continue;
    let stated = known.get(item);
    if (stated === undefined) known.set(item, (stated = readItem(item)));
    named |= stated.named;
    denied |= stated.denied;
  }
  for (const { feature, implied } of IMPLIED) if ((named & feature) !== 0) named |= implied;
  // If an advert both names and denies a feature, the feature is present.
  return { named, denied: denied & ~named };
}

const PARTS = /[,;/+&|()\n\u2022\u00b7]|\s[-\u2013]\s|\s(?:et|and)\s/iu;
const NEITHER = /\s(?:ni|nor)\s/giu;

function readItem(item: string): StatedFeatures {
  const whole = readPart(foldWords(item));
  if (whole !== null) return whole;
  let named = 0;
  let denied = 0;
  for (const part of item.replace(NEITHER, ', sans ').split(PARTS)) {
    const stated = readPart(foldWords(part));
    if (stated === null) return NOTHING;
    named |= stated.named;
    denied |= stated.denied;
  }
  return { named, denied };
}

/** A number with or without a unit, or a unit alone. */
const MEASURE = /^(?:\d+(?:m2|m|cm|km|ha)?|m2|m|ha)$/;
const DENIALS: readonly (readonly string[])[] = [
  ['sans'],
  ['aucun'],
  ['aucune'],
  ['ni'],
  ['pas', 'de'],
  ['pas', 'd'],
  ['non'],
  ['zero'],
  ...['depourvu', 'depourvue', 'depourvus', 'depourvues'].flatMap((word) => [
    [word, 'de'],
    [word, 'd'],
  ]),
  ['no'],
  ['not'],
  ['without'],
];
const DENIED = new Set(['non', 'no', 'false', 'aucun', 'aucune', 'none']);
const AFFIRMED = new Set(['oui', 'yes', 'true']);

/** Null if the vocabulary does not contain the whole part. */
function readPart(words: readonly string[]): StatedFeatures | null {
  const rest = words.filter((word) => !MEASURE.test(word));
  if (rest.length === 0) return NOTHING;
  const numbers = words.filter((word) => /^\d+$/.test(word));
  const isNone = numbers.length > 0 && numbers.every((digits) => Number(digits) === 0);
  const feature = MEANINGS.get(rest.join(' '));
  if (feature !== undefined) return isNone ? { named: 0, denied: feature } : { named: feature, denied: 0 };
  const last = rest.at(-1) as string;
  if (AFFIRMED.has(last)) return statedAs(rest.slice(0, -1), 'named');
  if (DENIED.has(last)) return statedAs(rest.slice(0, -1), 'denied');
  const denial = DENIALS.find((start) => start.every((word, position) => word === rest[position]));
  return denial === undefined ? null : statedAs(rest.slice(denial.length), 'denied');
}

function statedAs(words: readonly string[], as: keyof StatedFeatures): StatedFeatures | null {
  const feature = MEANINGS.get(words.join(' '));
  return feature === undefined ? null : { ...NOTHING, [as]: feature };
}
