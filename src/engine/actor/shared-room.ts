/**
 * Shares a limited capacity among clients. A client that uses seven times the free capacity or more gets no more.
 */

/** One client alone can use about seven eighths of the capacity, and two clients about seven fifteenths each. */
export const SHARE_OF_FREE = 7;

export class SharedRoom {
  readonly #max: number;
  readonly #byClient = new Map<string, number>();
  #claimed = 0;

  /** `max` is the capacity for all clients together. */
  constructor(max: number) {
    this.#max = max;
  }

  get claimed(): number {
    return this.#claimed;
  }

  /** How much more capacity the client may use; zero or less means none. Counts `planned` as used. */
  roomFor(client: string, planned: readonly { readonly client: string; readonly count: number }[] = []): number {
    let [free, own] = [this.#max - this.#claimed, this.#byClient.get(client) ?? 0];
    for (const each of planned) {
      free -= each.count;
      if (each.client === client) own += each.count;
    }
    return Math.min(free, SHARE_OF_FREE * free - own);
  }

  /** `change` is negative when capacity is released. */
  count(client: string, change: number): void {
    this.#claimed += change;
    const own = (this.#byClient.get(client) ?? 0) + change;
    if (own > 0) this.#byClient.set(client, own);
    else this.#byClient.delete(client);
  }
}
