/**
 * The expressions of all searches, each distinct one once, compiled to codes. The verdict on a property is computed for
 * the first candidate and kept for the others: thousands of searches contain "balcon".
 */

import { randomInt } from 'node:crypto';
import {
  EXPRESSION_ENTRIES_MAX,
  EXPRESSION_GROUPS_MAX,
  EXPRESSION_WORD_LENGTH_MAX,
  type ExpressionEntry,
  type Expressions,
} from '../../domain/expressions.ts';
import { lemmasOf } from '../../domain/inflection/lemmas.ts';
import { foldWords } from '../../domain/text.ts';
import { type Phrase, phrasesOf } from '../../domain/word-phrases.ts';
import { CodeTable } from '../code-table.ts';
import { RecordArena } from '../records/arena.ts';
import { RecordChains } from '../records/record-chains.ts';
import { AdvertText } from './advert-text.ts';
import { LoosePhraseTable, PhraseTable } from './phrase-table.ts';
import { TermTable } from './term-table.ts';

/**
 * The record of an expression. Its first word is twice the generation of the verdict, plus one if it holds. Then
 * integers: the uses, the hash, the next record of its chain, where the spelling begins, and the program.
 */
const VERDICT = 0;
const USES = 2;
const HASH = 3;
const NEXT = 4;
const SPELLING = 5;
const PROGRAM = 6;
/** The largest record: 256 kB hold two hundred entries of a hundred words each. */
const WORDS_MAX = 1 << 15;

/**
 * A program: the number of required terms and their codes; the number of groups; for each the number of entries; for
 * each the number of codes times four, plus `IS_STRICT`, plus `INCLUDES`, then the codes. A strict entry has the code
 * of its phrase. Any other entry has terms and, as complements, loose phrases, one of which must occur.
 */
const INCLUDES = 1;
const IS_STRICT = 2;

/** `codes`: terms and complements of loose phrases, one of which must occur; for a strict entry, its phrase. */
interface CompiledEntry {
  readonly includes: boolean;
  readonly strict: boolean;
  readonly codes: readonly number[];
}

export class ExpressionTable {
  /** Words of strict phrases, which match as written, and of lenient ones, which match in any form. */
  readonly #words = new CodeTable();
  readonly #terms = new TermTable();
  readonly #phrases = new PhraseTable();
  readonly #loosePhrases = new LoosePhraseTable();
  readonly text = new AdvertText(this.#words, this.#phrases, this.#terms, this.#loosePhrases);
  /** The text of some of a property's adverts. */
  readonly #part = new AdvertText(this.#words, this.#phrases, this.#terms, this.#loosePhrases);
  /** The one of `text` and `#part` that was read last. */
  #current = this.text;
  readonly #records = new RecordArena(WORDS_MAX);
  readonly #chains = new RecordChains(this.#records, HASH, NEXT);
  /** The spelling of the expressions that are being added. */
  readonly #spelling = new ExpressionSpelling();
  #generation = 1;

  get size(): number {
    return this.#chains.size;
  }

  get bytes(): number {
    return this.#records.bytes;
  }

  /** Returns the id of these expressions and counts one more use; 0 for none. */
  use(expressions: Expressions): number {
    if (expressions.length === 0) return 0;
    this.#spelling.write(expressions);
    const id = idOf(this.#chains.find(this.#spelling.hash, this.#isSpelled) ?? this.#create(expressions));
    this.#integersOf(id)[this.#startOf(id) + USES] = this.#usesOf(id) + 1;
    return id;
  }

  release(id: number): void {
    if (id === 0) return;
    const uses = this.#usesOf(id) - 1;
    this.#integersOf(id)[this.#startOf(id) + USES] = uses;
    if (uses > 0) return;
    const address = addressOf(id);
    this.#chains.remove(address);
    this.#releaseCodes(id);
    const spelling = this.#spellingAt(address);
    const units = spelling + spellingLengthAt(this.#records.shortsAt(address), spelling);
    this.#records.free(address, wordsFor(units - 2 * this.#startOf(id)));
  }

  /**
   * Codes of terms of which every text that satisfies the expressions has at least one; null when some group requires
   * no word, or there is no expression.
   */
  requiredOf(id: number): readonly number[] | null {
    if (id === 0) return null;
    const program = this.#integersOf(id);
    const start = this.#startOf(id) + PROGRAM;
    const required: number[] = [];
    const end = start + 1 + (program[start] as number);
    // Two groups may require forms of the same word.
    for (let at = start + 1; at < end; at++) {
      const code = program[at] as number;
      if (!required.includes(code)) required.push(code);
    }
    return required.length === 0 ? null : required;
  }

  /** Reads the texts of another property. */
  read(texts: readonly string[]): void {
    this.#read(this.text, texts);
  }

  /** Reads the texts of some adverts of that property. */
  readPart(texts: readonly string[]): void {
    this.#read(this.#part, texts);
  }

  #read(text: AdvertText, texts: readonly string[]): void {
    if (text.read(texts) || text !== this.#current) this.#generation += 1;
    this.#current = text;
  }

  /** Whether the texts last read satisfy the expressions. */
  holds(id: number): boolean {
    if (id === 0) return true;
    const address = addressOf(id);
    const numbers = this.#records.numbersAt(address);
    const verdict = this.#records.numberOffset(address) + VERDICT;
    const known = numbers[verdict] as number;
    if (known >= 2 * this.#generation) return known !== 2 * this.#generation;
    const holds = this.#run(id, this.#current);
    numbers[verdict] = 2 * this.#generation + (holds ? 1 : 0);
    return holds;
  }

  /** Prefetches what `holds` will read. */
  touch(id: number): number {
    return this.#records.touch(addressOf(id));
  }

  readonly #isSpelled = (address: number): boolean =>
    this.#spelling.isAt(this.#records.shortsAt(address), this.#spellingAt(address));

  /** Writes a record, without a use, of the expressions in `#spelling`; returns its address. */
  #create(expressions: Expressions): number {
    const groups = expressions.map((group) => group.flatMap((entry) => this.#compileEntry(entry)));
    const required = requiredWords(expressions).map((word) => this.#terms.use(word));
    const program = [required.length, ...required, groups.length];
    for (const group of groups) {
      program.push(group.length);
      for (const { includes, strict, codes } of group) {
        program.push(4 * codes.length + (strict ? IS_STRICT : 0) + (includes ? INCLUDES : 0), ...codes);
      }
    }
    const spelling = PROGRAM + program.length;
    const address = this.#records.allocate(wordsFor(2 * spelling + this.#spelling.length));
    const integers = this.#records.integersAt(address);
    const start = this.#records.integerOffset(address);
    this.#records.numbersAt(address)[this.#records.numberOffset(address) + VERDICT] = 0;
    integers[start + USES] = 0;
    integers[start + SPELLING] = spelling;
    integers.set(program, start + PROGRAM);
    this.#spelling.copyTo(this.#records.shortsAt(address), 2 * (start + spelling));
    this.#chains.add(address, this.#spelling.hash);
    return address;
  }

  #compileEntry({ word, includes, strict }: ExpressionEntry): CompiledEntry[] {
    const phrases = phrasesOf(word);
    if (phrases.length === 0) return [];
    if (!strict) return [{ includes, strict, codes: phrases.map((phrase) => this.#useLoosely(phrase)) }];
    const codes = foldWords(word).map((exact) => this.#words.use(exact));
    return [{ includes, strict, codes: [this.#phrases.use(codes)] }];
  }

  #useLoosely(phrase: Phrase): number {
    const steps = phrase.words.map(({ word, gapMax }) => ({ term: this.#terms.use(word), gapMax }));
    const [first] = steps;
    const isTerm = steps.length === 1 && !phrase.isNegation;
    return isTerm && first !== undefined
      ? first.term
      : ~this.#loosePhrases.use({ steps, isNegation: phrase.isNegation });
  }

  /** Ends the use of the codes of its program. */
  #releaseCodes(id: number): void {
    const program = this.#integersOf(id);
    let at = this.#startOf(id) + PROGRAM;
    for (let required = program[at++] as number; required > 0; required--) this.#terms.release(program[at++] as number);
    for (let groups = program[at++] as number; groups > 0; groups--) {
      for (let entries = program[at++] as number; entries > 0; entries--) {
        const head = program[at++] as number;
        const end = at + (head >> 2);
        for (; at < end; at++) {
          const code = program[at] as number;
          if ((head & IS_STRICT) !== 0) this.#releasePhrase(code);
          else if (code < 0) this.#releaseLoosePhrase(~code);
          else this.#terms.release(code);
        }
      }
    }
  }

  #releasePhrase(code: number): void {
    for (const word of this.#phrases.wordsOf(code)) this.#words.release(word);
    this.#phrases.release(code);
  }

  #releaseLoosePhrase(code: number): void {
    const { steps } = this.#loosePhrases.phraseOf(code);
    this.#loosePhrases.release(code);
    for (const { term } of steps) this.#terms.release(term);
  }

  #integersOf(id: number): Int32Array {
    return this.#records.integersAt(addressOf(id));
  }

  /** Where the record begins in `#integersOf`. */
  #startOf(id: number): number {
    return this.#records.integerOffset(addressOf(id));
  }

  #usesOf(id: number): number {
    return this.#integersOf(id)[this.#startOf(id) + USES] as number;
  }

  /** Where the spelling begins among the shorts of the record's page. */
  #spellingAt(address: number): number {
    const start = this.#records.integerOffset(address);
    return 2 * (start + (this.#records.integersAt(address)[start + SPELLING] as number));
  }

  #run(id: number, text: AdvertText): boolean {
    const program = this.#integersOf(id);
    let at = this.#startOf(id) + PROGRAM;
    at += 1 + (program[at] as number);
    for (let groups = program[at++] as number; groups > 0; groups--) {
      let holds = true;
      for (let entries = program[at++] as number; entries > 0; entries--) {
        const head = program[at++] as number;
        const end = at + (head >> 2);
        if (holds) holds = occurs(text, program, at, end, (head & IS_STRICT) !== 0) === ((head & INCLUDES) !== 0);
        at = end;
      }
      if (holds) return true;
    }
    return false;
  }
}

function occurs(text: AdvertText, program: Int32Array, start: number, end: number, strict: boolean): boolean {
  if (strict) return text.hasPhrase(program[start] as number);
  for (let at = start; at < end; at++) {
    const code = program[at] as number;
    if (code < 0 ? text.hasLoosePhrase(~code) : text.hasTerm(code)) return true;
  }
  return false;
}

/** Ids are positive. */
function idOf(address: number): number {
  return address + 1;
}

function addressOf(id: number): number {
  return id - 1;
}

/** Words that hold this number of 16-bit units. */
function wordsFor(units: number): number {
  return Math.ceil(units / 4);
}

/** Words that most adverts contain, and that select little: any other required word is rarer. */
const COMMON_WORDS = `appartement maison villa immeuble terrain pièce pièces chambre chambres cuisine salon séjour salle bain bains
  eau douche entrée surface prix vente vendre location louer bien situé proche centre ville quartier rue étage
  commerces écoles transports jardin balcon terrasse cave parking garage calme lumineux beau grand avec sans pour
  une des les dans sur est et de la le du en au`;
/** Computed at the first use: a program that only imports this module does not load the table of forms. */
let commonLemmas: ReadonlySet<string> | null = null;

/**
 * Words by which searches are found: a text that satisfies the expressions contains at least one of them. They are the
 * rarest known choice of each group; empty if some group requires none.
 */
function requiredWords(expressions: Expressions): readonly string[] {
  const required = new Set<string>();
  for (const group of expressions) {
    const choices = group.filter((entry) => entry.includes).flatMap(requiredChoices);
    const [rarest] = choices.sort(([a = ''], [b = '']) => byRarity(a, b));
    if (rarest === undefined) return [];
    for (const word of rarest) required.add(word);
  }
  return [...required];
}

/** Lists of words: a text with the entry contains a word of each list. The most common word of a list is first. */
function requiredChoices({ word, strict }: ExpressionEntry): string[][] {
  if (strict) return foldWords(word).map((one) => [one]);
  const phrases = phrasesOf(word).map(({ words }) => words.map((step) => step.word));
  const [first = [], ...others] = phrases;
  if (others.length === 0) return first.map((one) => [one]);
  const rarest = phrases.map((words) => words.sort(byRarity)[0] as string);
  return [rarest.sort(byRarity).reverse()];
}

const NUMBER = /^\d{2,}$/;

/** Numbers first, common words last; of others the longest first: the longer a word, the rarer (G. K. Zipf, 1935). */
function byRarity(a: string, b: string): number {
  return commonness(a) - commonness(b) || b.length - a.length || (a < b ? -1 : 1);
}

function commonness(word: string): number {
  return NUMBER.test(word) ? -1 : Number(isCommon(word));
}

function isCommon(word: string): boolean {
  const common = (commonLemmas ??= new Set(foldWords(COMMON_WORDS).flatMap(lemmasOf)));
  return lemmasOf(word).some((lemma) => common.has(lemma));
}

const UNITS_MAX = 1 + EXPRESSION_GROUPS_MAX + EXPRESSION_ENTRIES_MAX * (1 + EXPRESSION_WORD_LENGTH_MAX);
/** Random in this process: an attacker who knew them could create thousands of expressions that share one chain. */
const HASH_START = randomInt(2 ** 32) | 0;
const HASH_FACTOR = (2 * randomInt(2 ** 31) + 1) | 0;

/** Expressions as 16-bit units, the same only for equal expressions, which are thus compared without a string. */
export class ExpressionSpelling {
  /** The number of units; for each group its number of entries; for each entry its length and flags, then its text. */
  readonly #units = new Uint16Array(UNITS_MAX);
  #hash = 0;

  get length(): number {
    return this.#units[0] as number;
  }

  get hash(): number {
    return this.#hash;
  }

  /** `expressions`: within the limits of `parseExpressions`. */
  write(expressions: Expressions): void {
    const units = this.#units;
    let end = 1;
    for (const group of expressions) {
      units[end++] = group.length;
      for (const { word, includes, strict } of group) {
        units[end++] = 4 * word.length + (strict ? 2 : 0) + (includes ? 1 : 0);
        for (let i = 0; i < word.length; i++) units[end++] = word.charCodeAt(i);
      }
    }
    units[0] = end;
    let hash = HASH_START;
    for (let i = 0; i < end; i++) hash = Math.imul(hash ^ (units[i] as number), HASH_FACTOR);
    this.#hash = hash ^ (hash >>> 15);
  }

  copyTo(units: Uint16Array, start: number): void {
    for (let i = 0; i < this.length; i++) units[start + i] = this.#units[i] as number;
  }

  /** Whether these expressions were copied there. */
  isAt(units: Uint16Array, start: number): boolean {
    for (let i = 0; i < this.length; i++) if (units[start + i] !== this.#units[i]) return false;
    return true;
  }
}

/** The length of the spelling there, in units. */
function spellingLengthAt(units: Uint16Array, start: number): number {
  return units[start] as number;
}
