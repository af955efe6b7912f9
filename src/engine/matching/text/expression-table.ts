/**
 * The different expressions of all searches, compiled to codes. The verdict on a property is computed once for all
 * candidates with the same expressions, because thousands of searches have the expression "balcon".
 */

import type { ExpressionEntry, Expressions } from '../../domain/expressions.ts';
import { lemmasOf } from '../../domain/inflection/lemmas.ts';
import { foldWords } from '../../domain/text.ts';
import { type Phrase, phrasesOf } from '../../domain/word-phrases.ts';
import { CodeTable } from '../code-table.ts';
import { RecordArena } from '../records/arena.ts';
import { AdvertText } from './advert-text.ts';
import { LoosePhraseTable } from './loose-phrase-table.ts';
import { PhraseTable } from './phrase-table.ts';
import { TermTable } from './term-table.ts';

/**
 * The record of expressions. Its first word is twice the generation of the verdict, plus one if the expressions hold.
 * Then there are integers: the code of the spelling and the program.
 */
const VERDICT = 0;
const SPELLING = 2;
const PROGRAM = 3;
/** Maximum size of a record: 256 kB, which is enough for two hundred entries of a hundred words each. */
const WORDS_MAX = 1 << 15;

/**
 * A program has the number of required terms and their codes, and then the number of groups. A group has the number of
 * its entries and the entries. An entry has four times the number of its codes, plus `IS_STRICT`, plus `INCLUDES`, and
 * then the codes. The code of a strict entry is that of its phrase. The codes of any other entry are terms, or the
 * complements of loose phrases. The entry occurs if one of these occurs.
 */
const INCLUDES = 1;
const IS_STRICT = 2;

/** An entry with the `codes` that it has in a program. */
interface CompiledEntry {
  readonly includes: boolean;
  readonly strict: boolean;
  readonly codes: readonly number[];
}

export class ExpressionTable {
  /** The words of strict entries, as written. `#terms` has all other words, and the required words, in any form. */
  readonly #words = new CodeTable();
  readonly #terms = new TermTable();
  readonly #phrases = new PhraseTable();
  readonly #loosePhrases = new LoosePhraseTable();
  readonly text = new AdvertText(this.#words, this.#phrases, this.#terms, this.#loosePhrases);
  /** The texts of only some of the property's adverts. */
  readonly #part = new AdvertText(this.#words, this.#phrases, this.#terms, this.#loosePhrases);
  /** `text` or `#part`, whichever was read last. */
  #current = this.text;
  readonly #records = new RecordArena(WORDS_MAX);
  readonly #spellings = new CodeTable();
  /** Ids by the code of the spelling. */
  readonly #ids: number[] = [];
  #generation = 1;

  get size(): number {
    return this.#spellings.size;
  }

  get bytes(): number {
    return this.#records.bytes;
  }

  /** Returns the id of the expressions and increments their use count. 0 if there are none. */
  use(expressions: Expressions): number {
    if (expressions.length === 0) return 0;
    const spelling = this.#spellings.use(JSON.stringify(expressions));
    this.#ids[spelling] ||= this.#create(expressions, spelling);
    return this.#ids[spelling];
  }

  release(id: number): void {
    if (id === 0) return;
    const start = this.#records.integerOffset(id);
    const spelling = this.#records.integersAt(id)[start + SPELLING] as number;
    if (!this.#spellings.release(spelling)) return;
    this.#ids[spelling] = 0;
    const end = this.#releaseCodes(id);
    this.#records.free(id, wordsFor(end - start));
  }

  /**
   * Codes of terms, of which every text that satisfies the expressions has at least one. Null if some group requires no
   * word or if there are no expressions.
   */
  requiredOf(id: number): readonly number[] | null {
    if (id === 0) return null;
    const program = this.#records.integersAt(id);
    const start = this.#records.integerOffset(id) + PROGRAM;
    const required: number[] = [];
    const end = start + 1 + (program[start] as number);
    // Omits duplicates, because two groups may require forms of the same word.
    for (let at = start + 1; at < end; at++) {
      const code = program[at] as number;
      if (!required.includes(code)) required.push(code);
    }
    return required.length === 0 ? null : required;
  }

  /** Reads the texts of the next property. */
  read(texts: readonly string[]): void {
    this.#read(this.text, texts);
  }

  /** Reads the texts of only some adverts of that property. */
  readPart(texts: readonly string[]): void {
    this.#read(this.#part, texts);
  }

  #read(text: AdvertText, texts: readonly string[]): void {
    if (text.read(texts) || text !== this.#current) this.#generation += 1;
    this.#current = text;
  }

  /** Whether the last read texts satisfy the expressions. */
  holds(id: number): boolean {
    if (id === 0) return true;
    const numbers = this.#records.numbersAt(id);
    const verdict = this.#records.numberOffset(id) + VERDICT;
    const known = numbers[verdict] as number;
    if (known >= 2 * this.#generation) return known !== 2 * this.#generation;
    const holds = this.#run(id, this.#current);
    numbers[verdict] = 2 * this.#generation + (holds ? 1 : 0);
    return holds;
  }

  /** Writes a record of the expressions and returns its id, which is its address. */
  #create(expressions: Expressions, spelling: number): number {
    const groups = expressions.map((group) => group.flatMap((entry) => this.#compileEntry(entry)));
    const required = requiredWords(expressions).map((word) => this.#terms.use(word));
    const program = [required.length, ...required, groups.length];
    for (const group of groups) {
      program.push(group.length);
      for (const { includes, strict, codes } of group) {
        program.push(4 * codes.length + (strict ? IS_STRICT : 0) + (includes ? INCLUDES : 0), ...codes);
      }
    }
    const address = this.#records.allocate(wordsFor(PROGRAM + program.length));
    const integers = this.#records.integersAt(address);
    const start = this.#records.integerOffset(address);
    this.#records.numbersAt(address)[this.#records.numberOffset(address) + VERDICT] = 0;
    integers[start + SPELLING] = spelling;
    integers.set(program, start + PROGRAM);
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

  /** Decrements the use counts of the codes in the program. Returns where the program ends. */
  #releaseCodes(id: number): number {
    const program = this.#records.integersAt(id);
    let at = this.#records.integerOffset(id) + PROGRAM;
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
    return at;
  }

  #releasePhrase(code: number): void {
    for (const word of this.#phrases.wordsOf(code)) this.#words.release(word);
    this.#phrases.release(code);
  }

  #releaseLoosePhrase(code: number): void {
    for (const term of this.#loosePhrases.termsOf(code)) this.#terms.release(term);
    this.#loosePhrases.release(code);
  }

  #run(id: number, text: AdvertText): boolean {
    const program = this.#records.integersAt(id);
    let at = this.#records.integerOffset(id) + PROGRAM;
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

function wordsFor(integers: number): number {
  return Math.ceil(integers / 2);
}

/** Words that many adverts contain. Any other required word counts as rarer, because it excludes more adverts. */
const COMMON_WORDS = `appartement maison villa immeuble terrain pièce pièces chambre chambres cuisine salon séjour salle bain bains
  eau douche entrée surface prix vente vendre location louer bien situé proche centre ville quartier rue étage
  commerces écoles transports jardin balcon terrasse cave parking garage calme lumineux beau grand avec sans pour
  une des les dans sur est et de la le du en au`;
/** Computed at the first use, so that importing this module does not load the table of word forms. */
let commonLemmas: ReadonlySet<string> | null = null;

/**
 * Words by which a search is found: every text that satisfies the expressions contains at least one of them. They are
 * the rarest choice of each group. Empty if some group requires no word.
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

/** Lists of words. A text with the entry contains a word of each list. A list begins with its most common word. */
function requiredChoices({ word, strict }: ExpressionEntry): string[][] {
  if (strict) return foldWords(word).map((one) => [one]);
  const phrases = phrasesOf(word).map(({ words }) => words.map((step) => step.word));
  const [first = [], ...others] = phrases;
  if (others.length === 0) return first.map((one) => [one]);
  const rarest = phrases.map((words) => words.sort(byRarity)[0] as string);
  return [rarest.sort(byRarity).reverse()];
}

const NUMBER = /^\d{2,}$/;

/** Orders numbers first, then other words by length (longer words are rarer: G. K. Zipf, 1935), common words last. */
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
