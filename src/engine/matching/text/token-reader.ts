/**
 * Reads the words of adverts as codes of searched words and terms. Adverts use some ten thousand words, so each is
 * folded and looked up once and then found again by its letters, without creating a string and in one cache line: the
 * kernel of `text-source` does it, and asks back about unknown words. A text with characters outside plain Latin is
 * read by `foldWords`.
 */

import {
  foldWords,
  IRREGULAR,
  isSeparatorPair,
  LIGATURE,
  letterOf,
  lettersOf,
  SEPARATOR,
  SILENT,
} from '../../domain/text.ts';
import type { CodeTable } from '../code-table.ts';
import { TEXT_BASE64 } from '../kernel/bytes.ts';
import {
  CODE_COUNT,
  CODES_AT,
  ENDS_WORD,
  GENERATION,
  LEAVES_TEXT,
  LETTERS,
  NEAR_LETTERS,
  PLACES_AT,
  REVISION,
  SLOTS,
  SLOTS_COUNT,
  START_COUNT,
  START_INTEGERS,
  STARTS_AT,
  TAIL_BYTES,
  TAILS,
  TERM_COUNT,
  TERMS_AT,
  TERMS_MAX,
  TERMS_SEEN_AT,
  TEXT_BYTES,
  TOKEN_BYTES,
  TOKEN_LENGTH,
  TOKEN_LETTERS,
  TOKEN_PHRASE,
  TOKEN_REVISION,
  TOKEN_TERM_COUNT,
  TOKEN_TERMS,
  TOKEN_WORD,
  TOKENS,
  TOKENS_MAX,
  UNITS,
  UNITS_MAX,
  WORD_LENGTH_MAX,
} from '../kernel/layout.ts';
import { compileKernel, SharedMemory } from '../rows/shared-memory.ts';
import type { PhraseTable } from './phrase-table.ts';
import type { TermTable } from './term-table.ts';

const REVISION_MAX = 2 ** 31 - 1;
const GENERATION_MAX = 2 ** 31 - 1;
/** Among the tokens of words. */
const TEXT_END = 0;

interface TextKernel {
  readonly spell: (unitCount: number) => number;
  readonly find: (wordCount: number, tokenCount: number) => number;
  readonly collectTerms: (wordCount: number) => void;
  readonly addTerm: (term: number) => void;
}

const compiled = compileKernel(TEXT_BASE64);

export class TokenReader {
  readonly #words: CodeTable;
  readonly #phrases: PhraseTable;
  readonly #terms: TermTable;
  readonly #memory = new SharedMemory(TEXT_BYTES);
  readonly #units = Buffer.from(this.#memory.memory.buffer, UNITS, 2 * UNITS_MAX);
  readonly #kernel: TextKernel;
  #tokenCount = 0;
  /** By token, of those with more terms than there is room for. */
  readonly #longLists = new Map<number, readonly number[]>();
  /** The terms of words without a token. */
  #tokenless: (readonly number[])[] = [];
  /** The revision of the tables at the last text; tokens keep it in `REVISION`. */
  #tablesRevision = -1;
  /** Codes for which there is room. */
  #codesMax = 0;
  /** By term the generation in which it was last seen, a view of the kernel's memory that its growth leaves as it is. */
  #termSeenIn: Int32Array = new Int32Array(0);
  #generation = 0;

  constructor(words: CodeTable, phrases: PhraseTable, terms: TermTable) {
    this.#words = words;
    this.#phrases = phrases;
    this.#terms = terms;
    const { exports } = new WebAssembly.Instance(compiled, {
      vigie: {
        memory: this.#memory.memory,
        special: createLetterReader(this.#memory),
        resolve: this.#resolve,
        collectMany: this.#collectMany,
      },
    });
    this.#kernel = exports as unknown as TextKernel;
  }

  /** The revision of the tables; none of theirs ever decreases. */
  get revision(): number {
    return this.#words.revision + this.#phrases.revision + this.#terms.revision;
  }

  /** Codes of the searched words in order, 0 for others, and what `endText` left. */
  get codes(): Int32Array {
    return this.#listAt(CODES_AT, CODE_COUNT);
  }

  /** For each word that starts a phrase: its position among the codes, then that phrase. */
  get starts(): Int32Array {
    return this.#listAt(STARTS_AT, START_COUNT);
  }

  /** Codes of the searched terms that occur, each once. */
  get terms(): Int32Array {
    return this.#listAt(TERMS_AT, TERM_COUNT);
  }

  hasTerm(code: number): boolean {
    return this.#termSeenIn[code] === this.#generation;
  }

  /** Reports each term with the place of its word, in order; behind each text, `between` places are left out. */
  reportPlaces(between: number, report: (term: number, place: number) => void): void {
    const { integers } = this.#memory;
    const places = (integers[PLACES_AT >> 2] as number) >> 2;
    const end = places + (integers[CODE_COUNT >> 2] as number);
    for (let at = places, skipped = 0; at < end; at++) {
      const token = integers[at] as number;
      const place = at - places + skipped;
      if (token === TEXT_END) {
        skipped += between;
        continue;
      }
      const line = (TOKENS + TOKEN_BYTES * token) >> 2;
      const count = token < 0 ? TERMS_MAX + 1 : (integers[line + (TOKEN_TERM_COUNT >> 2)] as number);
      if (count <= TERMS_MAX) {
        const first = line + (TOKEN_TERMS >> 2);
        for (let i = first; i < first + count; i++) report(integers[i] as number, place);
      } else {
        const terms = (token < 0 ? this.#tokenless[~token] : this.#longLists.get(token)) as readonly number[];
        for (const term of terms) report(term, place);
      }
    }
  }

  /** Forgets what it has read. */
  restart(): void {
    this.#countRevision();
    if (this.#terms.end > this.#termSeenIn.length) this.#makeRoomForTerms(2 * this.#terms.end);
    if (this.#generation === GENERATION_MAX) {
      this.#termSeenIn.fill(0);
      this.#generation = 0;
    }
    this.#generation += 1;
    const { integers } = this.#memory;
    integers[GENERATION >> 2] = this.#generation;
    integers[CODE_COUNT >> 2] = 0;
    integers[START_COUNT >> 2] = 0;
    integers[TERM_COUNT >> 2] = 0;
    if (this.#tokenless.length > 0) this.#tokenless = [];
  }

  /** Adds the words of one text, then `end`, which is no code of a word. */
  read(text: string, end: number): void {
    const count = this.#find(text);
    if (count === null) {
      for (const word of foldWords(text)) this.#addWord(word);
    } else if (count > 0) {
      this.#makeRoom(count);
      this.#kernel.collectTerms(count);
    }
    this.#makeRoom(1);
    this.#appendCode(end, TEXT_END);
  }

  /** Has the kernel find the words' tokens; null when it takes `foldWords` to read its words. */
  #find(text: string): number | null {
    if (text.length > UNITS_MAX) return null;
    this.#units.write(text, 'utf16le');
    const count = this.#kernel.spell(text.length);
    if (count <= 0) return count === 0 ? 0 : null;
    if (this.#tokenCount + count > TOKENS_MAX) this.#clear();
    this.#tokenCount = this.#kernel.find(count, this.#tokenCount);
    return count;
  }

  #listAt(listAt: number, listCount: number): Int32Array {
    const { integers } = this.#memory;
    const first = (integers[listAt >> 2] as number) >> 2;
    return integers.subarray(first, first + (integers[listCount >> 2] as number));
  }

  #makeRoomForTerms(count: number): void {
    const seenAt = this.#memory.carve(64 * Math.ceil(count / 16));
    const termsAt = this.#memory.carve(64 * Math.ceil(count / 16));
    this.#memory.integers[TERMS_SEEN_AT >> 2] = seenAt;
    this.#memory.integers[TERMS_AT >> 2] = termsAt;
    this.#termSeenIn = this.#memory.integers.subarray(seenAt >> 2, (seenAt >> 2) + count);
  }

  /** For so many words. */
  #makeRoom(more: number): void {
    const needed = (this.#memory.integers[CODE_COUNT >> 2] as number) + more;
    if (needed <= this.#codesMax) return;
    this.#codesMax = 2 * needed + 1024;
    this.#move(CODES_AT, this.codes, 1);
    this.#move(PLACES_AT, this.#listAt(PLACES_AT, CODE_COUNT), 1);
    this.#move(STARTS_AT, this.starts, START_INTEGERS);
  }

  /** To where there is room for `#codesMax` entries of so many integers. */
  #move(listAt: number, list: Int32Array, integers: number): void {
    const address = this.#memory.carve(64 * Math.ceil((this.#codesMax * integers) / 16));
    this.#memory.integers.set(list, address >> 2);
    this.#memory.integers[listAt >> 2] = address;
  }

  #append(listAt: number, listCount: number, entry: number): void {
    const { integers } = this.#memory;
    const count = integers[listCount >> 2] as number;
    integers[((integers[listAt >> 2] as number) >> 2) + count] = entry;
    integers[listCount >> 2] = count + 1;
  }

  #appendCode(code: number, token: number): void {
    const { integers } = this.#memory;
    integers[((integers[PLACES_AT >> 2] as number) >> 2) + (integers[CODE_COUNT >> 2] as number)] = token;
    this.#append(CODES_AT, CODE_COUNT, code);
  }

  #addWord(word: string): void {
    const code = this.#words.codeOf(word);
    const phrase = this.#phrases.startOf(code);
    this.#makeRoom(1);
    if (phrase !== 0) {
      this.#append(STARTS_AT, START_COUNT, this.#memory.integers[CODE_COUNT >> 2] as number);
      this.#append(STARTS_AT, START_COUNT, phrase);
    }
    const terms = this.#terms.codesOf(word);
    this.#appendCode(code, ~(this.#tokenless.push(terms) - 1));
    for (const term of terms) this.#kernel.addTerm(term);
  }

  /** Tokens whose codes were looked up before a change of the tables have another number than this from now on. */
  #countRevision(): void {
    const { revision } = this;
    if (revision === this.#tablesRevision) return;
    this.#tablesRevision = revision;
    const { integers } = this.#memory;
    if (integers[REVISION >> 2] === REVISION_MAX) {
      this.#clear();
      integers[REVISION >> 2] = 0;
    }
    integers[REVISION >> 2] = (integers[REVISION >> 2] as number) + 1;
  }

  readonly #resolve = (token: number): void => {
    const { bytes, integers } = this.#memory;
    const line = TOKENS + TOKEN_BYTES * token;
    const length = integers[(line + TOKEN_LENGTH) >> 2] as number;
    const tail = TAILS + TAIL_BYTES * token;
    const near = bytes.subarray(line + TOKEN_LETTERS, line + TOKEN_LETTERS + Math.min(length, NEAR_LETTERS));
    const far = bytes.subarray(tail, tail + Math.max(0, length - NEAR_LETTERS));
    const word = String.fromCharCode(...near, ...far);
    const terms = this.#terms.codesOf(word);
    const code = this.#words.codeOf(word);
    integers[(line + TOKEN_WORD) >> 2] = code;
    integers[(line + TOKEN_PHRASE) >> 2] = this.#phrases.startOf(code);
    integers[(line + TOKEN_TERM_COUNT) >> 2] = terms.length;
    if (terms.length > TERMS_MAX) this.#longLists.set(token, terms);
    else integers.set(terms, (line + TOKEN_TERMS) >> 2);
    integers[(line + TOKEN_REVISION) >> 2] = integers[REVISION >> 2] as number;
  };

  readonly #collectMany = (token: number): void => {
    for (const term of this.#longLists.get(token) ?? []) this.#kernel.addTerm(term);
  };

  #clear(): void {
    this.#memory.integers.fill(0, SLOTS >> 2, (SLOTS >> 2) + SLOTS_COUNT);
    this.#longLists.clear();
    this.#tokenCount = 0;
  }
}

const HIGH_SURROGATES = 0xd800;
const LOW_SURROGATES = 0xdc00;
const SURROGATES_END = 0xe000;

type ReadLetter = (unit: number, next: number, spelling: number, length: number) => number;

/**
 * Answers the kernel of texts about a UTF-16 unit that it has not met, or cannot decide alone: writes the letters that
 * the unit becomes behind those of the word so far.
 */
function createLetterReader(memory: SharedMemory): ReadLetter {
  return (unit, next, spelling, length) => {
    const letter = letterOf(unit);
    const { bytes } = memory;
    bytes[LETTERS + unit] = letter;
    if (letter === SEPARATOR) return ENDS_WORD;
    if (letter === SILENT) return length;
    if (letter === IRREGULAR) {
      // Half a character on its own ends a word like any other sign.
      if (unit < HIGH_SURROGATES || unit >= SURROGATES_END) return LEAVES_TEXT;
      const isPair = unit < LOW_SURROGATES && next >= LOW_SURROGATES && next < SURROGATES_END;
      return isPair && !isSeparatorPair(unit, next) ? LEAVES_TEXT : ENDS_WORD;
    }
    const letters = letter === LIGATURE ? lettersOf(unit) : String.fromCharCode(letter);
    if (length + letters.length > WORD_LENGTH_MAX) return LEAVES_TEXT;
    for (let i = 0; i < letters.length; i++) bytes[spelling + length + i] = letters.charCodeAt(i);
    return length + letters.length;
  };
}
