/**
 * The expressions of all searches, each distinct one once, compiled to codes. Their verdict on a property is
 * worked out when the first candidate asks and kept for the others: "balcon" is wanted by thousands of searches.
 */

import type { ExpressionEntry, Expressions } from '../../domain/expressions.ts';
import { lemmasOf } from '../../domain/inflection/lemmas.ts';
import { foldWords } from '../../domain/text.ts';
import { CodeTable } from '../code-table.ts';
import { RecordArena } from '../records/arena.ts';
import { AdvertText } from './advert-text.ts';
import { PhraseTable } from './phrase-table.ts';
import { TermTable } from './term-table.ts';

/** `codes`: of one phrase, or of terms. */
interface CompiledEntry {
  readonly includes: boolean;
  readonly strict: boolean;
  readonly codes: readonly number[];
}

/**
 * A program: the number of required terms and their codes; the number of groups; for each the number of entries; for
 * each the number of codes times four, plus `IS_STRICT`, plus `INCLUDES`, then the codes.
 */
const INCLUDES = 1;
const IS_STRICT = 2;

/** Words that most adverts contain say little: any other required one is rarer. */
const COMMON_LEMMAS: ReadonlySet<string> = new Set(
  foldWords(
    `appartement maison villa immeuble terrain pièce pièces chambre chambres cuisine salon séjour salle bain bains
     eau douche entrée surface prix vente vendre location louer bien situé proche centre ville quartier rue étage
     commerces écoles transports jardin balcon terrasse cave parking garage calme lumineux beau grand avec sans pour
     une des les dans sur est et de la le du en au`,
  ).flatMap(lemmasOf),
);

export class ExpressionTable {
  /** Of phrases, which take them as they are, and those that any form of theirs will do for. */
  readonly #words = new CodeTable();
  readonly #terms = new TermTable();
  readonly #phrases = new PhraseTable();
  readonly text = new AdvertText(this.#words, this.#phrases, this.#terms);
  /** Of some of a property's adverts. */
  readonly #part = new AdvertText(this.#words, this.#phrases, this.#terms);
  readonly #ids = new Map<string, number>();
  /** By id, see `keyOf`; null when it is free. */
  readonly #keys: (string | null)[] = [null];
  readonly #free: number[] = [];
  readonly #programs = new RecordArena();
  /** By id: uses, the address of the program, `rowCodeOf`, and twice the generation of the verdict, plus one when it holds. */
  #uses = new Int32Array(1024);
  #addresses = new Int32Array(1024);
  #rowCodes = new Int32Array(1024);
  #verdicts = new Float64Array(1024);
  #generation = 1;

  get size(): number {
    return this.#ids.size;
  }

  /** The id of these expressions, with one more use; 0 for none. */
  use(expressions: Expressions): number {
    if (expressions.length === 0) return 0;
    const key = keyOf(expressions);
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = this.#free.pop() ?? this.#keys.length;
      if (id >= this.#uses.length) this.#makeRoom(2 * id);
      this.#compile(id, expressions);
      this.#keys[id] = key;
      this.#ids.set(key, id);
      this.#verdicts[id] = 0;
    }
    this.#uses[id] = (this.#uses[id] as number) + 1;
    return id;
  }

  release(id: number): void {
    if (id === 0) return;
    const uses = (this.#uses[id] as number) - 1;
    this.#uses[id] = uses;
    if (uses > 0) return;
    this.#freeProgram(this.#addresses[id] as number);
    this.#ids.delete(this.#keys[id] as string);
    this.#keys[id] = null;
    this.#free.push(id);
  }

  /**
   * Codes of terms of which every text that satisfies the expressions has at least one; null when some group requires
   * no word, or there is no expression.
   */
  requiredOf(id: number): readonly number[] | null {
    if (id === 0) return null;
    const address = this.#addresses[id] as number;
    const program = this.#programs.integersAt(address);
    const start = this.#programs.integerOffset(address);
    const required: number[] = [];
    const end = start + 1 + (program[start] as number);
    // Two groups may require forms of one word.
    for (let at = start + 1; at < end; at++) {
      const code = program[at] as number;
      if (!required.includes(code)) required.push(code);
    }
    return required.length === 0 ? null : required;
  }

  /** Starts on another property. */
  read(texts: readonly string[]): void {
    if (this.text.read(texts)) this.#generation += 1;
  }

  /** On the texts last read. */
  holds(id: number): boolean {
    if (id === 0) return true;
    const known = this.#verdicts[id] as number;
    if (known >= 2 * this.#generation) return known !== 2 * this.#generation;
    const holds = this.#run(this.#addresses[id] as number, this.text);
    this.#verdicts[id] = 2 * this.#generation + (holds ? 1 : 0);
    return holds;
  }

  /** What a row of a search with these expressions holds for `holdsByRow`; 0 for none. */
  rowCodeOf(id: number): number {
    return this.#rowCodes[id] as number;
  }

  /** `holds`, without a look at the table where one term decides. */
  holdsByRow(rowCode: number): boolean {
    if (rowCode >= 0) return this.holds(rowCode);
    return this.text.hasTerm(-rowCode >> 1) === ((-rowCode & 1) === 1);
  }

  /** Reads what `holdsByRow` will, to have it near. */
  touch(rowCode: number): number {
    if (rowCode < 0) return 0;
    const address = this.#addresses[rowCode] as number;
    return (this.#verdicts[rowCode] as number) + this.#programs.touch(address);
  }

  /** On other texts than those last read. */
  holdsIn(id: number, texts: readonly string[]): boolean {
    this.#part.read(texts);
    return this.#run(this.#addresses[id] as number, this.#part);
  }

  #compile(id: number, expressions: Expressions): void {
    const groups = expressions.map((group) => group.flatMap((entry) => this.#compileEntry(entry)));
    const required = requiredWords(expressions).map((word) => this.#terms.use(word));
    const program = [required.length, ...required, groups.length];
    for (const group of groups) {
      program.push(group.length);
      for (const { includes, strict, codes } of group) {
        program.push(4 * codes.length + (strict ? IS_STRICT : 0) + (includes ? INCLUDES : 0), ...codes);
      }
    }
    const programWords = (program.length + 1) >> 1;
    const address = this.#programs.allocate(programWords);
    this.#programs.integersAt(address).set(program, this.#programs.integerOffset(address));
    this.#addresses[id] = address;
    this.#rowCodes[id] = rowCodeOf(id, groups);
  }

  #compileEntry({ word, includes, strict }: ExpressionEntry): CompiledEntry[] {
    const words = foldWords(word);
    if (words.length === 0) return [];
    const codes = words.map((word) => (strict ? this.#words : this.#terms).use(word));
    return [{ includes, strict, codes: strict ? [this.#phrases.use(codes)] : codes }];
  }

  /** Ends the use of its codes as well. */
  #freeProgram(address: number): void {
    const program = this.#programs.integersAt(address);
    const start = this.#programs.integerOffset(address);
    let at = start;
    for (let required = program[at++] as number; required > 0; required--) this.#terms.release(program[at++] as number);
    for (let groups = program[at++] as number; groups > 0; groups--) {
      for (let entries = program[at++] as number; entries > 0; entries--) {
        const head = program[at++] as number;
        const end = at + (head >> 2);
        for (; at < end; at++) {
          if ((head & IS_STRICT) !== 0) this.#releasePhrase(program[at] as number);
          else this.#terms.release(program[at] as number);
        }
      }
    }
    this.#programs.free(address, (at - start + 1) >> 1);
  }

  #releasePhrase(code: number): void {
    for (const word of this.#phrases.wordsOf(code)) this.#words.release(word);
    this.#phrases.release(code);
  }

  #makeRoom(length: number): void {
    const longer = (integers: Int32Array) => {
      const copy = new Int32Array(length);
      copy.set(integers);
      return copy;
    };
    this.#uses = longer(this.#uses);
    this.#addresses = longer(this.#addresses);
    this.#rowCodes = longer(this.#rowCodes);
    const verdicts = new Float64Array(length);
    verdicts.set(this.#verdicts);
    this.#verdicts = verdicts;
  }

  #run(address: number, text: AdvertText): boolean {
    const program = this.#programs.integersAt(address);
    let at = this.#programs.integerOffset(address);
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
  for (let at = start; at < end; at++) if (!text.hasTerm(program[at] as number)) return false;
  return true;
}

/** The same text for equal expressions and no others, as short as can be: JSON of the words, each behind two flags. */
function keyOf(expressions: Expressions): string {
  return JSON.stringify(expressions.map((group) => group.map((entry) => flagsOf(entry) + entry.word)));
}

function flagsOf({ includes, strict }: ExpressionEntry): string {
  return (includes ? '+' : '-') + (strict ? '=' : '~');
}

/** The id; for a single term, negative, twice its code, plus one when it must occur. */
function rowCodeOf(id: number, groups: readonly (readonly CompiledEntry[])[]): number {
  const [entry] = groups[0] ?? [];
  const [code] = entry?.codes ?? [];
  const isSingle = groups.length === 1 && groups[0]?.length === 1 && entry?.codes.length === 1;
  if (!isSingle || entry === undefined || code === undefined || entry.strict) return id;
  return -(2 * code + (entry.includes ? 1 : 0));
}

/** One word a group, as rare as can be told; none when some group requires no word. */
function requiredWords(expressions: Expressions): readonly string[] {
  const required = new Set<string>();
  for (const group of expressions) {
    const words = group.filter((entry) => entry.includes).flatMap((entry) => foldWords(entry.word));
    const [rarest] = words.sort(byRarity);
    if (rarest === undefined) return [];
    required.add(rarest);
  }
  return [...required];
}

/** Uncommon first, then the longest: the longer a word, the rarer (G. K. Zipf, 1935). */
function byRarity(a: string, b: string): number {
  return Number(isCommon(a)) - Number(isCommon(b)) || b.length - a.length || (a < b ? -1 : 1);
}

function isCommon(word: string): boolean {
  return lemmasOf(word).some((lemma) => COMMON_LEMMAS.has(lemma));
}
