/**
 * The numbers already met in one query: all of them are forgotten at once, without writing to the memory that held
 * them.
 */

const HASH_FACTOR = 0x9e3779b1 | 0;
const GENERATION_MAX = 2 ** 31 - 1;
const SLOTS_MIN = 1024;

export class NumberSet {
  /** Slots, open addressing, no more than half full: a number and the generation in which it was met. */
  #slots = new Int32Array(2 * SLOTS_MIN);
  #generation = 1;
  #size = 0;

  clear(): void {
    this.#size = 0;
    if (this.#generation === GENERATION_MAX) {
      this.#slots.fill(0);
      this.#generation = 0;
    }
    this.#generation += 1;
  }

  /** False when it has been met. */
  add(number: number): boolean {
    const slots = this.#slots;
    const mask = slots.length - 2;
    let at = hashOf(number) & mask;
    for (; slots[at + 1] === this.#generation; at = (at + 2) & mask) if (slots[at] === number) return false;
    slots[at] = number;
    slots[at + 1] = this.#generation;
    this.#size += 1;
    if (4 * this.#size > slots.length) this.#makeRoom();
    return true;
  }

  #makeRoom(): void {
    const former = this.#slots;
    this.#slots = new Int32Array(2 * former.length);
    this.#size = 0;
    for (let at = 0; at < former.length; at += 2) {
      if (former[at + 1] === this.#generation) this.add(former[at] as number);
    }
  }
}

function hashOf(number: number): number {
  const hash = Math.imul(number, HASH_FACTOR);
  return hash ^ (hash >>> 15);
}
