/**
 * A hash table of the records in an arena. Chains link the records themselves. The table grows by one chain at a time,
 * which is split off an older chain (W. Litwin, "Linear hashing", 1980), so no insertion waits for a full rehash.
 */

import type { RecordArena } from './arena.ts';

const CHAINS_MIN = 64;
const NONE = -1;

export class RecordChains {
  readonly #arena: RecordArena;
  /** The positions of two integers in a record: its hash, and the address of the next record in the chain. */
  readonly #hash: number;
  readonly #next: number;
  #firsts = new Int32Array(CHAINS_MIN).fill(NONE);
  #chains = CHAINS_MIN;
  /** The largest power of two that is at most `#chains`. */
  #undivided = CHAINS_MIN;
  #size = 0;

  constructor(arena: RecordArena, hash: number, next: number) {
    this.#arena = arena;
    this.#hash = hash;
    this.#next = next;
  }

  get size(): number {
    return this.#size;
  }

  /** The first record with this hash that `isWanted` accepts; null if there is none. */
  find(hash: number, isWanted: (address: number) => boolean): number | null {
    let address = this.#firsts[this.#chainOf(hash)] as number;
    for (; address !== NONE; address = this.#read(address, this.#next)) {
      if (this.#read(address, this.#hash) === hash && isWanted(address)) return address;
    }
    return null;
  }

  add(address: number, hash: number): void {
    this.#write(address, this.#hash, hash);
    this.#push(this.#chainOf(hash), address);
    this.#size += 1;
    if (this.#size > this.#chains) this.#divide();
  }

  /** `address` must be in the table. */
  remove(address: number): void {
    const chain = this.#chainOf(this.#read(address, this.#hash));
    const after = this.#read(address, this.#next);
    this.#size -= 1;
    let before = this.#firsts[chain] as number;
    if (before === address) {
      this.#firsts[chain] = after;
      return;
    }
    while (this.#read(before, this.#next) !== address) before = this.#read(before, this.#next);
    this.#write(before, this.#next, after);
  }

  #chainOf(hash: number): number {
    const chain = hash & (2 * this.#undivided - 1);
    return chain < this.#chains ? chain : chain & (this.#undivided - 1);
  }

  #push(chain: number, address: number): void {
    this.#write(address, this.#next, this.#firsts[chain] as number);
    this.#firsts[chain] = address;
  }

  #divide(): void {
    if (this.#chains === this.#firsts.length) {
      const longer = new Int32Array(2 * this.#chains);
      longer.set(this.#firsts);
      this.#firsts = longer;
    }
    const divided = this.#chains - this.#undivided;
    let address = this.#firsts[divided] as number;
    this.#firsts[divided] = this.#firsts[this.#chains] = NONE;
    this.#chains += 1;
    while (address !== NONE) {
      const next = this.#read(address, this.#next);
      this.#push(this.#chainOf(this.#read(address, this.#hash)), address);
      address = next;
    }
    if (this.#chains === 2 * this.#undivided) this.#undivided = this.#chains;
  }

  #read(address: number, integer: number): number {
    return this.#arena.integersAt(address)[this.#arena.integerOffset(address) + integer] as number;
  }

  #write(address: number, integer: number, value: number): void {
    this.#arena.integersAt(address)[this.#arena.integerOffset(address) + integer] = value;
  }
}
