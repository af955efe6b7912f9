/**
 * Tables of words with the same meaning: abbreviations, units and numbers, and tables of negations (decisions, section
 * 2). All words are folded. Spellings and abbreviations of a single word are in `inflection/own-words.tsv`.
 */

/** Each row lists alternatives with the same meaning; `#` is a placeholder for a number. */
export const SPELLINGS: readonly (readonly string[])[] = [
  ['numero #', 'n #', 'no #'],
  ['m2', 'm 2', 'metre carre'],
  ['wc', 'w c'],
  ['sdb', 's d b', 'salle de bain'],
  ['sde', 's d e', "salle d'eau"],
  ['sdd', 's d d', 'salle de douche'],
  ['rdc', 'r d c', 'rez de chaussee'],
  ['rdj', 'r d j', 'rez de jardin'],
  ['sam', 's a m', 'salle a manger'],
  ['ssol', 's sol', 'ss sol', 'sous sol'],
  ['pmr', 'p m r', 'personne a mobilite reduite'],
  ['dpe', 'd p e', 'diagnostic de performance energetique'],
  ['vmc', 'v m c', 'ventilation mecanique controlee'],
  ['tbe', 't b e', 'tres bon etat'],
  ['pac', 'p a c', 'pompe a chaleur'],
  ['cc', 'charges comprises'],
  ['hc', 'hors charges'],
  ['fai', 'f a i', "frais d'agence inclus"],
];

/** Between these two words, one more word than usual is allowed if `link` is one of the words between them. */
export const WIDER_WITH: readonly { readonly words: readonly [string, string]; readonly link: string }[] = [
  { words: ['cuisine', 'equipee'], link: 'et' },
];

export interface Unit {
  /** Appended to its number to form one word; empty for the number alone. */
  readonly name: string;
  /** The word for the unit without its number, in any spelling. */
  readonly word: string;
  /** True for things that are counted, such as rooms: an adjective may precede them (*2 belles chambres*). */
  readonly isCounted: boolean;
  readonly spellings: readonly string[];
}

export const UNITS: readonly Unit[] = (
  [
    ['m2', 'm2', 'm2', 'm 2', 'm carre', 'm carres', 'metre carre', 'metres carre', 'metres carres'],
    ['m3', 'm3', 'm3', 'm 3', 'm cube', 'm cubes', 'metre cube', 'metres cube', 'metres cubes'],
    ['m', 'metre', 'm', 'metre', 'metres'],
    ['km', 'kilometre', 'km', 'kms', 'kilometre', 'kilometres'],
    ['cm', 'centimetre', 'cm', 'centimetre', 'centimetres'],
    ['ha', 'hectare', 'ha', 'hectare', 'hectares'],
    ['mn', 'minute', 'mn', 'mns', 'min', 'mins', 'minute', 'minutes'],
    ['', 'euro', 'eur', 'euro', 'euros'],
    ['chambre', 'chambre', 'chambre', 'chambres', 'ch', 'chb', 'chbre', 'chbres'],
    ['piece', 'piece', 'piece', 'pieces', 'p', 'pce', 'pces'],
  ] as const
).map(([name, word, ...spellings]) => ({
  name,
  word,
  isCounted: name === 'chambre' || name === 'piece',
  spellings,
}));

/** *3 pièces d'eau* does not count as *3 pièces*. */
export const ROOMS = 'piece';
export const NOT_ROOMS: readonly string[] = ['d', 'eau'];
/** *T3*, *F 3* and *type 3* mean *3 pièces*. */
export const ROOM_LETTERS: ReadonlySet<string> = new Set(['t', 'f', 'type']);

/** *Neuf* is missing because it also means new, and *un* and *une* because they are articles. */
export const WRITTEN_NUMBERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    deux: '2',
    trois: '3',
    quatre: '4',
    cinq: '5',
    six: '6',
    sept: '7',
    huit: '8',
    dix: '10',
    onze: '11',
    douze: '12',
  }),
);

/** A written number next to one of these is part of a larger number: *dix-huit*, *deux cents*. */
export const NUMBER_PARTS: ReadonlySet<string> = new Set(
  [...WRITTEN_NUMBERS.keys()].concat(
    'neuf vingt vingts trente quarante cinquante soixante cent cents mille'.split(' '),
    'million millions milliard milliards'.split(' '),
  ),
);

/** These words negate the next word and the word that a conjunction joins to it: *sans balcon ni terrasse*. */
export const NEGATIONS_OF_TWO: ReadonlySet<string> = new Set(['sans', 'aucun', 'aucune', 'aucuns', 'aucunes', 'ni']);
export const CONJUNCTIONS: ReadonlySet<string> = new Set(['ni', 'et', 'ou']);
/** Articles and prepositions that end the negation after a conjunction: *sans vis-à-vis et avec balcon*. */
export const MEMBER_STARTS: ReadonlySet<string> = new Set(
  (
    'le la les l un une des du de d au aux a avec apres avant chez contre dans derriere des devant en entre hors par ' +
    'pendant pour pres sans selon sous sur vers'
  ).split(' '),
);
/** Negates the word after a space or hyphen (*non-meublé*), unless that word is in the next list. */
export const NON = 'non';
export const NOT_NEGATED_BY_NON: ReadonlySet<string> = new Set(['loin', 'seulement']);
/** Negates the next word. The digit does so only if no number or unit follows. */
export const ZERO = 'zero';
export const ZERO_DIGIT = '0';
/** Negates only the words of the next list, which a price may include. */
export const HORS = 'hors';
export const NEGATED_BY_HORS: ReadonlySet<string> = new Set([
  'charge',
  'charges',
  'taxe',
  'taxes',
  'frais',
  'honoraires',
]);
/** Negates before *de*, except after a number, *un* or *quelques* or before an article: *à deux pas de la plage*. */
export const PAS = 'pas';
export const NEGATIONS_WITH_DE: ReadonlySet<string> = new Set([
  PAS,
  'depourvu',
  'depourvue',
  'depourvus',
  'depourvues',
]);
export const DE: ReadonlySet<string> = new Set(['de', 'd']);
export const STEPS_BEFORE: ReadonlySet<string> = new Set([...NUMBER_PARTS, 'un', 'quelques']);
export const STEPS_BEHIND: ReadonlySet<string> = new Set(['la', 'le', 'l']);
/** A negation that covers one of these words also covers the word after it. */
export const NEGATED_THROUGH: ReadonlySet<string> = new Set(
  'de d un une aucun aucune aucuns aucunes gros grosse grosses grand grande grands grandes'.split(' '),
);
