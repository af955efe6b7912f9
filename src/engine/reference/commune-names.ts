/**
 * Communes by the names that adverts, searches and users use. Intake, completion and the list of cities share one table
 * (decisions, section 5). A commune has its own name, earlier names, the names of communes merged into it, and the
 * names of localities. An arrondissement also has the name of its city.
 */

import { foldWords } from '../domain/text.ts';
import type { CommuneRecord, Department } from './commune-records.ts';
import { type PlaceReading, placeKey, readPlaceName, withoutArticle } from './place-names.ts';

/** A name in its canonical spelling, with and without its article. */
interface KeyedName {
  readonly key: string;
  readonly bare: string;
}

export interface OtherName extends KeyedName {
  readonly name: string;
  /** True for an earlier name of the commune or the name of a former commune; false for the name of a locality. */
  readonly isFormer: boolean;
}

export interface NameKeys {
  readonly own: KeyedName;
  readonly others: readonly OtherName[];
  /** The name of the arrondissement's city, because an advert in the 15th arrondissement may only name Paris. */
  readonly parent: KeyedName | null;
}

export interface CommuneNameSource {
  readonly communes: readonly CommuneRecord[];
  readonly departments: readonly Department[];
  /** For the code of a merged commune, returns the commune that it is now part of. */
  readonly communeOf: (insee: string) => CommuneRecord | null;
}

/** The longest name of a department is `Terres australes et antarctiques françaises`. */
const DEPARTMENT_WORDS_MAX = 5;

type CommunesByKey = ReadonlyMap<string, readonly CommuneRecord[]>;

export class CommuneNames {
  readonly #source: CommuneNameSource;
  readonly #departments: ReadonlyMap<string, string>;
  /** The folded names of each commune, computed at the first comparison, because folding is slow. */
  readonly #keysOf = new Map<CommuneRecord, NameKeys>();
  /** Communes by own and former names, by localities, and by own names without article. Created at the first use. */
  #byKey: readonly CommunesByKey[] | null = null;
  readonly #byDepartment = new Map<string, CommuneRecord[]>();

  constructor(source: CommuneNameSource) {
    this.#source = source;
    const names = source.departments.map(({ name, code }) => [placeKey(name), code] as const);
    this.#departments = new Map(names.flatMap(([key, code]) => [key, withoutArticle(key)].map((one) => [one, code])));
  }

  /** The name as written; also the name without a department's name that ends it (`Saint-Denis de la Réunion`). */
  read(text: string): readonly PlaceReading[] {
    const reading = readPlaceName(text);
    const words = reading.key.split(' ');
    for (let at = Math.max(1, words.length - DEPARTMENT_WORDS_MAX); at < words.length; at++) {
      const code = this.#departments.get(words.slice(at).join(' '));
      if (code === undefined) continue;
      const key = words
        .slice(0, at)
        .join(' ')
        .replace(/ (?:de|du|d|en)$/, '');
      return [reading, { key, code }];
    }
    return [reading];
  }

  keys(commune: CommuneRecord): NameKeys {
    const known = this.#keysOf.get(commune);
    if (known !== undefined) return known;
    const parent = commune.parentInsee === null ? null : this.#source.communeOf(commune.parentInsee);
    const own = keyedName(commune.officialName);
    const others = commune.otherNames
      .map((name) => ({ ...keyedName(name), name }))
      .filter(({ key }) => key !== own.key)
      // A part of the own name is a former name: La Poste lists Évry as a locality of Évry-Courcouronnes.
      .map(({ name, key, bare }) => {
        const isFormer = commune.formerNames.includes(name) || ` ${own.key} `.includes(` ${key} `);
        return { name, key, bare, isFormer };
      });
    const keys = { own, others, parent: parent === null ? null : keyedName(parent.officialName) };
    this.#keysOf.set(commune, keys);
    return keys;
  }

  /**
   * The first commune in `communes` with the name `key`; own names precede other names. If there is none, the only
   * commune that `alike` finds (`Saint-Maur` for `Saint-Maur-des-Fossés`).
   */
  pick(communes: readonly CommuneRecord[], key: string): CommuneRecord | null {
    if (communes.length === 0 || key === '') return null;
    const own = communes.find((commune) => this.keys(commune).own.key === key);
    return (
      own ?? communes.find((commune) => this.#hasOther(commune, (one) => one.key === key)) ?? this.#lone(communes, key)
    );
  }

  /** Communes with a name that begins with `key`, or that `key` begins with; whole words without articles. */
  alike(communes: readonly CommuneRecord[], key: string): readonly CommuneRecord[] {
    if (key === '') return [];
    const bare = withoutArticle(key);
    const fits = (one: KeyedName) => isSameBeginning(one.bare, bare);
    return communes.filter((commune) => fits(this.keys(commune).own) || this.#hasOther(commune, fits));
  }

  #lone(communes: readonly CommuneRecord[], key: string): CommuneRecord | null {
    const [only = null, ...more] = this.alike(communes, key);
    return more.length === 0 ? only : null;
  }

  #hasOther(commune: CommuneRecord, fits: (name: KeyedName) => boolean): boolean {
    const { others, parent } = this.keys(commune);
    return others.some(fits) || (parent !== null && fits(parent));
  }

  /**
   * The only commune that has or had the name, in the department of `code` if given. If there is none, the only commune
   * that has a locality with the name, or whose own name without article is the name.
   */
  only({ key, code }: PlaceReading): CommuneRecord | null {
    if (key === '') return null;
    this.#byKey ??= this.#index();
    for (const table of this.#byKey) {
      const [first, ...more] = (table.get(key) ?? []).filter((one) => code === null || isOfDepartment(one, code));
      if (first !== undefined) return more.length === 0 ? first : null;
    }
    return null;
  }

  /** Like `only`, but if it finds none, the only commune in the department that `alike` finds. */
  onlyIn(code: string, key: string): CommuneRecord | null {
    const whole = this.only({ key, code });
    if (whole !== null) return whole;
    if (this.#byDepartment.size === 0) {
      for (const commune of this.#source.communes) add(this.#byDepartment, commune.departmentCode, commune);
    }
    const departments = [...this.#byDepartment.values()].filter(([one]) => isOfDepartment(one as CommuneRecord, code));
    return this.#lone(departments.flat(), key);
  }

  #index(): readonly CommunesByKey[] {
    const [own, localities, bare] = [0, 0, 0].map(() => new Map<string, CommuneRecord[]>()) as [
      Map<string, CommuneRecord[]>,
      Map<string, CommuneRecord[]>,
      Map<string, CommuneRecord[]>,
    ];
    for (const commune of this.#source.communes) {
      const keys = this.keys(commune);
      add(own, keys.own.key, commune);
      if (keys.own.bare !== keys.own.key) add(bare, keys.own.bare, commune);
      for (const { key, isFormer } of keys.others) add(isFormer ? own : localities, key, commune);
    }
    return [own, localities, bare];
  }
}

/** `code` is a department code, or a zip code of the department. Corsica's zip codes begin with 20. */
export function isOfDepartment({ departmentCode }: CommuneRecord, code: string): boolean {
  return code === departmentCode || code.startsWith(departmentCode.replace(/^2[AB]$/, '20'));
}

/** Whether a name, with or without its article, is the typed text (`whole`) or begins with its words (`begun`). */
export type NameFit = 'whole' | 'begun' | 'none';

export function nameFit({ key, bare }: KeyedName, typed: readonly string[]): NameFit {
  let fit: NameFit = 'none';
  for (const text of typed) {
    const name = key.startsWith(text) ? key : bare;
    if (text === '' || !name.startsWith(text)) continue;
    if (name.length === text.length) return 'whole';
    if (name[text.length] === ' ') fit = 'begun';
  }
  return fit;
}

/** A place that was found by one of its names. */
export interface NameMatch {
  readonly fit: NameFit;
  /** Null if the place is not a commune. */
  readonly population: number | null;
  /** Whether the name is the place's own name, a former name, or the name of a locality. */
  readonly kind: 'own' | 'former' | 'locality';
  /** True if the place once had the whole name and its own name begins with it (Évry and Évry-Courcouronnes). */
  readonly isRenamed: boolean;
}

/** A commune this many times larger precedes the commune whose whole name was typed (decisions, section 7). */
const MUCH_LARGER = 20;
const LARGER = 0;
const WHOLE = 1;
const OTHER_WHOLE = 2;
const REST = 3;

/**
 * Returns a function for the sort position of a match. Whole names precede others, and own names precede other whole
 * names. A larger commune that begins with the name and had it precedes all of them. A much larger commune needs only
 * one of the two. If no commune has the name today, a larger commune need only begin with it.
 */
export function relevanceAmong(matches: Iterable<NameMatch>): (match: NameMatch) => number {
  let [own, other] = [-1, -1];
  for (const { fit, kind, population } of matches) {
    if (fit !== 'whole' || population === null) continue;
    if (kind === 'own') own = Math.max(own, population);
    else other = Math.max(other, population);
  }
  const bar = own >= 0 ? own * MUCH_LARGER : other;
  return ({ fit, kind, population, isRenamed }) => {
    const mayLead = kind === 'own' ? fit === 'begun' : kind === 'former' && fit === 'whole' && own >= 0;
    if (mayLead && bar >= 0 && population !== null && (population >= bar || (isRenamed && population > own))) {
      return LARGER;
    }
    if (fit !== 'whole') return REST;
    return kind === 'own' ? WHOLE : OTHER_WHOLE;
  };
}

/** The canonical and the typed spelling, because the last typed word may be an abbreviation or incomplete. */
export function spellingsOf(text: string, { key }: PlaceReading): readonly string[] {
  const typed = foldWords(text).join(' ');
  return typed === key ? [key] : [key, typed];
}

function add(table: Map<string, CommuneRecord[]>, key: string, commune: CommuneRecord): void {
  const communes = table.get(key);
  if (communes === undefined) table.set(key, [commune]);
  // All names of a commune are added before the names of the next commune.
  else if (communes.at(-1) !== commune) communes.push(commune);
}

export function keyedName(name: string): KeyedName {
  const key = placeKey(name);
  return { key, bare: withoutArticle(key) };
}

/** Whether one text begins with the other, in whole words. */
function isSameBeginning(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return long.startsWith(short) && (long.length === short.length || long[short.length] === ' ');
}
