/** A list of numbers in a typed array that is reused. It can be read by position, or copied to an array. */

export class NumberList<Kind extends number = number> {
  #numbers = new Int32Array(4096);
  #count = 0;

  get length(): number {
    return this.#count;
  }

  at(position: number): Kind {
    return this.#numbers[position] as Kind;
  }

  /** Takes linear time. */
  includes(number: Kind): boolean {
    for (let i = 0; i < this.#count; i++) if (this.#numbers[i] === number) return true;
    return false;
  }

  /** A view of all numbers, valid until the list changes. */
  view(): Int32Array {
    return this.#numbers.subarray(0, this.#count);
  }

  clear(): void {
    this.#count = 0;
  }

  add(number: Kind): void {
    if (this.#count === this.#numbers.length) this.#makeRoom(1);
    this.#numbers[this.#count++] = number;
  }

  addAll(from: Int32Array, start: number, end: number): void {
    if (this.#count + end - start > this.#numbers.length) this.#makeRoom(end - start);
    const numbers = this.#numbers;
    let count = this.#count;
    // There are usually tens of numbers, for which creating a view would cost more than this loop.
    for (let i = start; i < end; i++) numbers[count++] = from[i] as number;
    this.#count = count;
  }

  toArray(): Kind[] {
    const count = this.#count;
    const array: Kind[] = [];
    // Sets the length once, because pushing takes four times as long.
    array.length = count;
    for (let i = 0; i < count; i++) array[i] = this.#numbers[i] as Kind;
    return array;
  }

  #makeRoom(more: number): void {
    const longer = new Int32Array(2 * (this.#count + more));
    longer.set(this.#numbers);
    this.#numbers = longer;
  }
}
