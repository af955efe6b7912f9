/** Numbers gathered in a typed array that is kept, read one by one or handed out as an array of their exact count. */

export class NumberList<Kind extends number = number> {
  #numbers = new Int32Array(4096);
  #count = 0;

  get length(): number {
    return this.#count;
  }

  at(position: number): Kind {
    return this.#numbers[position] as Kind;
  }

  /** Looks at all of them. */
  includes(number: Kind): boolean {
    for (let i = 0; i < this.#count; i++) if (this.#numbers[i] === number) return true;
    return false;
  }

  /** All of them, until the next is added. */
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
    // Mostly some tens of numbers: for those a view of the array would cost more than the loop.
    for (let i = start; i < end; i++) numbers[count++] = from[i] as number;
    this.#count = count;
  }

  toArray(): Kind[] {
    const count = this.#count;
    const array: Kind[] = [];
    // Grown once: pushing takes four times as long.
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
