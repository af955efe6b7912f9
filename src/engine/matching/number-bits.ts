/** A set of search numbers as an array of bits. Numbers come from a sequence, so they are dense. */

import type { SearchNumber } from '../domain/ids.ts';

const BYTES_MIN = 1_024;

export class NumberBits {
  #bits = new Uint8Array(BYTES_MIN);

  has(number: SearchNumber): boolean {
    return ((this.#bits[number >>> 3] ?? 0) & (1 << (number & 7))) !== 0;
  }

  set(number: SearchNumber, isIn: boolean): void {
    const at = number >>> 3;
    if (at >= this.#bits.length) {
      if (!isIn) return;
      const former = this.#bits;
      this.#bits = new Uint8Array(2 * at);
      this.#bits.set(former);
    }
    const bit = 1 << (number & 7);
    const byte = this.#bits[at] as number;
    this.#bits[at] = isIn ? byte | bit : byte & ~bit;
  }
}
