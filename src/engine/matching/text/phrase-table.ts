/**
 * The phrases that searches look for. They are paths in one tree of words, with use counts. A text is compared with all
 * phrases at once. From each word of the text, the following words lead down the tree while a phrase continues.
 */

const ROOT = 0;
const HASH_PARENT = 0x9e3779b1 | 0;
const HASH_WORD = 0x85ebca77 | 0;

export class PhraseTable {
  /** A hash table of nodes by parent and word. It uses open addressing and is at most half full. */
  #slots = new Int32Array(1024);
  /** By node, its parent; node 0 is the root. The parent of a free node is the next free node. */
  #parents = new Int32Array(512);
  #words = new Int32Array(512);
  /** By node, the use count of the phrase that ends there, plus the number of children. */
  #uses = new Int32Array(512);
  #end = 1;
  #free = ROOT;
  #revision = 0;

  /** One more than the largest code. */
  get end(): number {
    return this.#end;
  }

  /** Changes whenever a phrase is added that is not the beginning of an existing phrase. */
  get revision(): number {
    return this.#revision;
  }

  /** Returns the code of the phrase of these words, which is positive, and increments its use count. */
  use(wordCodes: readonly number[]): number {
    let node = ROOT;
    for (const word of wordCodes) node = this.childOf(node, word) || this.#addChild(node, word);
    this.#uses[node] = (this.#uses[node] as number) + 1;
    return node;
  }

  /** Decrements the use count. If it becomes 0, another phrase may get the code. */
  release(code: number): void {
    let node = code;
    while (node !== ROOT) {
      const uses = (this.#uses[node] as number) - 1;
      this.#uses[node] = uses;
      if (uses > 0) return;
      const parent = this.#parents[node] as number;
      this.#removeSlot(this.#slotOf(parent, this.#words[node] as number));
      this.#parents[node] = this.#free;
      this.#free = node;
      node = parent;
    }
  }

  /** The codes of the words in the phrase. */
  wordsOf(code: number): readonly number[] {
    const words: number[] = [];
    for (let node = code; node !== ROOT; node = this.#parents[node] as number) words.push(this.#words[node] as number);
    return words.reverse();
  }

  /** The code of the phrase that continues `parent` with the word; 0 if no phrase begins with these words. */
  childOf(parent: number, word: number): number {
    return this.#slots[this.#slotOf(parent, word)] as number;
  }

  /** The code of the word as a phrase; 0 if no phrase begins with it. Valid until `revision` changes. */
  startOf(wordCode: number): number {
    return this.childOf(ROOT, wordCode);
  }

  /**
   * Finds the phrases that occur in `words`, and marks their codes in `seenIn`. A word code that is not positive is in
   * no phrase. `starts` has, for each word that begins a phrase, its position and its `startOf`.
   */
  read(words: Int32Array, starts: Int32Array, generation: number, seenIn: Int32Array): void {
    for (let i = 0; i < starts.length; i += 2) {
      let node = starts[i + 1] as number;
      for (let at = (starts[i] as number) + 1; node !== ROOT; at++) {
        seenIn[node] = generation;
        const word = words[at] ?? 0;
        node = word > 0 ? this.childOf(node, word) : ROOT;
      }
    }
  }

  /** The slot of a child, or the empty slot where it would be. */
  #slotOf(parent: number, word: number): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(parent, word) & mask;
    for (let node = this.#slots[slot] as number; node !== 0; node = this.#slots[slot] as number) {
      if (this.#parents[node] === parent && this.#words[node] === word) return slot;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #addChild(parent: number, word: number): number {
    const node = this.#free === ROOT ? this.#end++ : this.#free;
    if (node === this.#free) this.#free = this.#parents[node] as number;
    if (node === this.#parents.length) this.#makeRoom();
    this.#parents[node] = parent;
    this.#words[node] = word;
    this.#uses[node] = 0;
    this.#slots[this.#slotOf(parent, word)] = node;
    if (parent !== ROOT) this.#uses[parent] = (this.#uses[parent] as number) + 1;
    this.#revision += 1;
    return node;
  }

  /** Empties a slot, and moves later entries so that no lookup ends there (D. E. Knuth, TAOCP 6.4, algorithm R). */
  #removeSlot(removed: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let gap = removed;
    for (let slot = (gap + 1) & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const node = slots[slot] as number;
      const home = hashOf(this.#parents[node] as number, this.#words[node] as number) & mask;
      if (((slot - home) & mask) < ((slot - gap) & mask)) continue;
      slots[gap] = node;
      gap = slot;
    }
    slots[gap] = 0;
  }

  #makeRoom(): void {
    const length = 2 * this.#parents.length;
    const longer = (integers: Int32Array): Int32Array<ArrayBuffer> => {
      const copy = new Int32Array(length);
      copy.set(integers);
      return copy;
    };
    const nodes = this.#slots.filter((node) => node !== 0);
    this.#parents = longer(this.#parents);
    this.#words = longer(this.#words);
    this.#uses = longer(this.#uses);
    this.#slots = new Int32Array(2 * length);
    for (const node of nodes) {
      this.#slots[this.#slotOf(this.#parents[node] as number, this.#words[node] as number)] = node;
    }
  }
}

function hashOf(parent: number, word: number): number {
  const hash = Math.imul(parent, HASH_PARENT) ^ Math.imul(word, HASH_WORD);
  return hash ^ (hash >>> 15);
}
