/** Numbers gathered in a typed array that is kept, and handed out as an array of their exact count. */

export class NumberList {
  #numbers = new Int32Array(4096);
  #count = 0;

  clear(): void {
    this.#count = 0;
  }

  add(number: number): void {
    if (this.#count === this.#numbers.length) this.#makeRoom(1);
    this.#numbers[this.#count++] = number;
  }

  addAll(from: Int32Array, start: number, end: number): void {
    if (this.#count + end - start > this.#numbers.length) this.#makeRoom(end - start);
    this.#numbers.set(from.subarray(start, end), this.#count);
    this.#count += end - start;
  }

  toArray(): number[] {
    const count = this.#count;
    const array: number[] = [];
    // Grown once: pushing takes four times as long.
    array.length = count;
    for (let i = 0; i < count; i++) array[i] = this.#numbers[i] as number;
    return array;
  }

  #makeRoom(more: number): void {
    const longer = new Int32Array(2 * (this.#count + more));
    longer.set(this.#numbers);
    this.#numbers = longer;
  }
}
