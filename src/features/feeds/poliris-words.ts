/** What Poliris says in words and flags, by folded word and by field (columns as SeLoger names them). */

export const PROPERTY_TYPES: ReadonlyMap<string, number> = new Map(
  [
    ['appartement', 'loft', 'loft/atelier/surface', 'duplex', 'studio'],
    ['maison/villa', 'maison', 'villa', 'chateau', 'hotel particulier', 'chalet', 'ferme', 'manoir', 'mas', 'moulin'],
    ['immeuble'],
    ['parking/box', 'parking', 'box', 'garage'],
    ['bureaux', 'bureau'],
    ['terrain'],
    ['boutique', 'local', 'local commercial'],
  ].flatMap((words, code) => words.map((word) => [word, code] as const)),
);

/** A lease that is handed over, a business or an investment is neither a sale nor a rent of the property. */
export function transactionTypeOf(word: string): number | null {
  if (/fonds?[ -]de[ -]commerce/.test(word)) return null;
  if (/^(?:vente|viager)\b/.test(word)) return 0;
  return /^location\b/.test(word) ? 1 : null;
}

/** By field: what `OUI`, or a number above 0, says the property has. */
export const FEATURES: ReadonlyMap<number, string> = new Map([
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

const fields = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

/** In their order. */
export const PHOTO_FIELDS = [...fields(85, 93), ...fields(164, 174), ...fields(264, 273)];
