/**
 * How people write what they mean, as data: spellings and short forms, units, numbers, negations (decisions, section 2).
 * Folded. Spellings and short forms of a single word are in `inflection/own-words.tsv`.
 */

/** Alternatives of several words that are one; `#` stands for a number. */
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

/** Between these words one more may stand than between others, where the link is one of those between. */
export const WIDER_WITH: readonly { readonly words: readonly [string, string]; readonly link: string }[] = [
  { words: ['cuisine', 'equipee'], link: 'et' },
];

export interface Unit {
  /** Behind its number they are one word; empty: the number alone. */
  readonly name: string;
  /** What its spellings are forms of. */
  readonly word: string;
  /** Things are counted, and an adjective may stand before them: *2 belles chambres*. */
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

/** *3 pièces* are no *3 pièces d'eau*. */
export const ROOMS = 'piece';
export const NOT_ROOMS: readonly string[] = ['d', 'eau'];
/** *T3*, *F 3*, *type 3* are *3 pièces*. */
export const ROOM_LETTERS: ReadonlySet<string> = new Set(['t', 'f', 'type']);

/** *Neuf* is new, and *un*, *une* are articles. */
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

/** A written number beside one of these is part of a larger one: *dix-huit*, *deux cents*. */
export const NUMBER_PARTS: ReadonlySet<string> = new Set(
  [...WRITTEN_NUMBERS.keys()].concat(
    'neuf vingt vingts trente quarante cinquante soixante cent cents mille'.split(' '),
    'million millions milliard milliards'.split(' '),
  ),
);

/** The next word is not there, nor the one that a conjunction joins to it: *sans balcon ni terrasse*. */
export const NEGATIONS_OF_TWO: ReadonlySet<string> = new Set(['sans', 'aucun', 'aucune', 'aucuns', 'aucunes', 'ni']);
export const CONJUNCTIONS: ReadonlySet<string> = new Set(['ni', 'et', 'ou']);
/** Articles and prepositions: the word behind them is said on its own (*sans vis-à-vis et avec balcon*). */
export const MEMBER_STARTS: ReadonlySet<string> = new Set(
  (
    'le la les l un une des du de d au aux a avec apres avant chez contre dans derriere des devant en entre hors par ' +
    'pendant pour pres sans selon sous sur vers'
  ).split(' '),
);
/** With a blank or a hyphen behind it (*non-meublé*), unless one of the next list follows. */
export const NON = 'non';
export const NOT_NEGATED_BY_NON: ReadonlySet<string> = new Set(['loin', 'seulement']);
/** Also in digits, unless a number or unit follows. */
export const ZERO = 'zero';
export const ZERO_DIGIT = '0';
/** It negates what a price may include, and nothing else. */
export const HORS = 'hors';
export const NEGATED_BY_HORS: ReadonlySet<string> = new Set([
  'charge',
  'charges',
  'taxe',
  'taxes',
  'frais',
  'honoraires',
]);
/** With *de*, unless a number or *quelques* precedes, or an article follows: *à deux pas de la plage*. */
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
/** The negation holds for the word behind these too. */
export const NEGATED_THROUGH: ReadonlySet<string> = new Set(
  'de d un une aucun aucune aucuns aucunes gros grosse grosses grand grande grands grandes'.split(' '),
);
