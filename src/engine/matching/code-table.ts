/**
 * Assigns small integer codes, with use counts, to strings that many searches share, such as zip codes, words, or the
 * contents of lists and expressions.
 */

export class CodeTable {
  readonly #codes = new Map<string, number>();
  readonly #texts: (string | null)[] = [null];
  readonly #uses: number[] = [0];
  readonly #free: number[] = [];
  #revision = 0;

  /** Changes whenever a text gets or loses a code. */
  get revision(): number {
    return this.#revision;
  }

  /** Returns the code of `text`, which is positive, and increments its use count. */
  use(text: string): number {
    const known = this.#codes.get(text);
    if (known !== undefined) {
      this.#uses[known] = (this.#uses[known] as number) + 1;
      return known;
    }
    const code = this.#free.pop() ?? this.#texts.length;
    this.#texts[code] = text;
    this.#uses[code] = 1;
    this.#codes.set(text, code);
    this.#revision += 1;
    return code;
  }

  /** Decrements the use count. True if it becomes 0; another text may then get the code. */
  release(code: number): boolean {
    const uses = (this.#uses[code] as number) - 1;
    this.#uses[code] = uses;
    if (uses > 0) return false;
    this.#codes.delete(this.#texts[code] as string);
    this.#texts[code] = null;
    this.#free.push(code);
    this.#revision += 1;
    return true;
  }

  /** Number of texts in use. */
  get size(): number {
    return this.#codes.size;
  }

  /** One more than the largest code. */
  get end(): number {
    return this.#texts.length;
  }

  /** The code of `text`; 0 if nothing uses it. */
  codeOf(text: string): number {
    return this.#codes.get(text) ?? 0;
  }

  textOf(code: number): string {
    return this.#texts[code] as string;
  }
}
