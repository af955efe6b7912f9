/** Features stated by a Poliris record, as items of the advert in French words. */

import { FEATURE_VOCABULARY } from '../../engine/domain/feature-vocabulary.ts';
import { FEATURE_NAMES } from '../../engine/domain/features.ts';

interface StatingRecord {
  /** True if the field is `OUI` or a number above 0. */
  readonly has: (field: number) => boolean;
  /** The text of the field in lower case, without accents. */
  readonly word: (field: number) => string;
}

export function featuresOf(record: StatingRecord): readonly string[] {
  return [...FEATURES].filter(([field]) => record.has(field)).map(([, feature]) => feature);
}

/** Features that earlier versions did not read: terraces, fitted kitchens, and denials by `NON` or 0 (`cave : non`). */
export function laterFeaturesOf(record: StatingRecord, stated: readonly string[]): readonly string[] {
  const terraces = record.has(NUMBER_OF_TERRACES) && !stated.includes('terrasse') ? ['terrasse'] : [];
  const kitchens = FITTED_KITCHENS.has(record.word(TYPE_OF_KITCHEN)) ? ['cuisine équipée'] : [];
  const denied = [...VOCABULARY_FIELDS].flatMap(([field, feature]) => {
    const written = record.word(field);
    return written === 'non' || written === '0' ? [`${feature} : ${written}`] : [];
  });
  return [...terraces, ...kitchens, ...new Set(denied)];
}

/** Feature by field number; the property has it if the field is `OUI` or a number above 0. */
const FEATURES: ReadonlyMap<number, string> = new Map([
  [13, 'charges comprises'],
  [28, 'refait à neuf'],
  [32, 'WC séparés'],
  [35, 'orientation sud'],
  [36, 'orientation est'],
  [37, 'orientation ouest'],
  [38, 'orientation nord'],
  [39, 'balcon'],
  [42, 'cave'],
  [43, 'parking'],
  [44, 'box'],
  [45, 'digicode'],
  [46, 'interphone'],
  [47, 'gardien'],
  [48, 'terrasse'],
  [61, 'alarme'],
  [62, 'télévision par câble'],
  [63, 'calme'],
  [64, 'climatisation'],
  [65, 'piscine'],
  [66, 'accès handicapés'],
  [67, 'animaux acceptés'],
  [68, 'cheminée'],
  [69, 'congélateur'],
  [70, 'four'],
  [71, 'lave-vaisselle'],
  [72, 'micro-ondes'],
  [73, 'placards'],
  [74, 'téléphone'],
  [75, 'proche d’un lac'],
  [76, 'proche d’un tennis'],
  [77, 'proche du ski'],
  [78, 'vue dégagée'],
  [81, 'duplex'],
  [191, 'parquet'],
  [197, 'monte-charge'],
  [233, 'lave-linge'],
  [234, 'sèche-linge'],
  [235, 'connexion internet'],
  [246, 'salle à manger'],
  [247, 'séjour'],
  [318, 'garage'],
]);

const NUMBER_OF_TERRACES = 244;
const TYPE_OF_KITCHEN = 34;
/** Codes of fitted kitchens: open, separate, in a corner, or of no stated kind. */
const FITTED_KITCHENS: ReadonlySet<string> = new Set(['6', '7', '8', '9']);

/** The fields that state a feature of the vocabulary, each with its item. */
const VOCABULARY_FIELDS: ReadonlyMap<number, string> = new Map(
  FEATURE_NAMES.flatMap((name) => {
    const row = FEATURE_VOCABULARY[name];
    const columns: readonly number[] = 'polirisColumns' in row ? row.polirisColumns : [];
    return columns.map((field) => [field, FEATURES.get(field) ?? row.words.fr[0]] as const);
  }),
);
