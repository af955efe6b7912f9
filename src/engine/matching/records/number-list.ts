/** A list of numbers in a reused typed array. It is read by position, or copied to a new array of its length. */

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

  /** All numbers; valid until the list changes. */
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
    // Usually some tens of numbers, for which a view of the array would cost more than the loop.
    for (let i = start; i < end; i++) numbers[count++] = from[i] as number;
    this.#count = count;
  }

  toArray(): Kind[] {
    const count = this.#count;
    const array: Kind[] = [];
    // The length is set once, because pushing takes four times as long.
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
