/**
 * The expressions of all searches, each distinct one once, compiled to term codes. Their verdict on a property is
 * worked out when the first candidate asks and kept for the others: "balcon" is wanted by thousands of searches.
 */

import { type ExpressionEntry, type Expressions, expressionsHold } from '../domain/expressions.ts';
import { foldTexts, foldWords, stem } from '../domain/text.ts';
import { AdvertText } from './advert-text.ts';
import { CodeTable } from './code-table.ts';

interface CompiledEntry {
  readonly includes: boolean;
  readonly strict: boolean;
  /** Words of a phrase in order, or stems. */
  readonly codes: readonly number[];
}

interface Compiled {
  readonly key: string;
  readonly expressions: Expressions;
  readonly groups: readonly (readonly CompiledEntry[])[];
  /** Codes of `requiredStems`. */
  readonly required: readonly number[] | null;
  uses: number;
}

/** Words that most adverts contain say little: any other required stem is rarer. */
const COMMON_STEMS: ReadonlySet<string> = new Set(
  foldWords(
    `appartement maison villa immeuble terrain pièce pièces chambre chambres cuisine salon séjour salle bain bains
     eau douche entrée surface prix vente vendre location louer bien situé proche centre ville quartier rue étage
     commerces écoles transports jardin balcon terrasse cave parking garage calme lumineux beau grand avec sans pour
     une des les dans sur est et de la le du en au`,
  ).map(stem),
);

export class ExpressionTable {
  readonly terms = new CodeTable();
  readonly text: AdvertText;
  readonly #ids = new Map<string, number>();
  readonly #compiled: (Compiled | null)[] = [null];
  readonly #free: number[] = [];
  /** By id: twice the generation of the verdict, plus one when it holds. */
  #verdicts = new Float64Array(1024);
  #generation = 0;

  constructor() {
    this.text = new AdvertText(this.terms);
  }

  get size(): number {
    return this.#ids.size;
  }

  /** The id of these expressions, with one more use; 0 for none. */
  use(expressions: Expressions): number {
    if (expressions.length === 0) return 0;
    const key = JSON.stringify(expressions);
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = this.#free.pop() ?? this.#compiled.length;
      const groups = expressions.map((group) => group.flatMap((entry) => this.#compile(entry)));
      const required = requiredStems(expressions)?.map((required) => this.terms.use(required)) ?? null;
      this.#compiled[id] = { key, expressions, groups, required, uses: 0 };
      this.#ids.set(key, id);
      if (id >= this.#verdicts.length) this.#verdicts = new Float64Array(2 * id);
      this.#verdicts[id] = 0;
    }
    (this.#compiled[id] as Compiled).uses += 1;
    return id;
  }

  release(id: number): void {
    if (id === 0) return;
    const compiled = this.#compiled[id] as Compiled;
    compiled.uses -= 1;
    if (compiled.uses > 0) return;
    for (const group of compiled.groups) {
      for (const { codes } of group) for (const code of codes) this.terms.release(code);
    }
    for (const code of compiled.required ?? []) this.terms.release(code);
    this.#ids.delete(compiled.key);
    this.#compiled[id] = null;
    this.#free.push(id);
  }

  expressionsOf(id: number): Expressions {
    return id === 0 ? [] : (this.#compiled[id] as Compiled).expressions;
  }

  /**
   * Codes of stems of which every text that satisfies the expressions has at least one; null when some group requires
   * no word, or there is no expression.
   */
  requiredOf(id: number): readonly number[] | null {
    return id === 0 ? null : (this.#compiled[id] as Compiled).required;
  }

  /** Starts on another property. */
  read(texts: readonly string[]): void {
    this.#generation += 1;
    this.text.read(texts);
  }

  /** On the texts last read. */
  holds(id: number): boolean {
    if (id === 0) return true;
    const known = this.#verdicts[id] as number;
    if (known >= 2 * this.#generation) return known !== 2 * this.#generation;
    const { groups } = this.#compiled[id] as Compiled;
    const holds = groups.some((group) => group.every((entry) => this.#occurs(entry) === entry.includes));
    this.#verdicts[id] = 2 * this.#generation + (holds ? 1 : 0);
    return holds;
  }

  /** On other texts than those last read. */
  holdsIn(id: number, texts: readonly string[]): boolean {
    return expressionsHold(this.expressionsOf(id), foldTexts(texts));
  }

  #compile({ word, includes, strict }: ExpressionEntry): CompiledEntry[] {
    const words = foldWords(word);
    if (words.length === 0) return [];
    return [{ includes, strict, codes: (strict ? words : words.map(stem)).map((term) => this.terms.use(term)) }];
  }

  #occurs({ strict, codes }: CompiledEntry): boolean {
    return strict ? this.text.hasPhrase(codes) : codes.every((code) => this.text.hasStem(code));
  }
}

/** One stem a group, as rare as can be told; null when some group requires no word. */
function requiredStems(expressions: Expressions): readonly string[] | null {
  const required = new Set<string>();
  for (const group of expressions) {
    const stems = group.filter((entry) => entry.includes).flatMap((entry) => foldWords(entry.word).map(stem));
    const [rarest] = stems.sort(byRarity);
    if (rarest === undefined) return null;
    required.add(rarest);
  }
  return required.size === 0 ? null : [...required];
}

/** Uncommon first, then the longest: the longer a word, the rarer (G. K. Zipf, 1935). */
function byRarity(a: string, b: string): number {
  const common = Number(COMMON_STEMS.has(a)) - Number(COMMON_STEMS.has(b));
  if (common !== 0) return common;
  return b.length - a.length || (a < b ? -1 : 1);
}
