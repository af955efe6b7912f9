/**
 * A bounded first-in, first-out queue between senders and one receiver. A full mailbox makes its senders wait, in
 * order, instead of growing or dropping: that is the whole back-pressure of the service.
 */

interface Waiting<T> {
  readonly message: T;
  readonly admit: () => void;
  readonly refuse: (reason: Error) => void;
}

export class Mailbox<T> {
  readonly #max: number;
  readonly #admitted: T[] = [];
  readonly #waiting: Waiting<T>[] = [];
  #wake: (() => void) | null = null;
  #closed: Error | null = null;

  /** `max`: admitted messages held at most, at least 1. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Admitted messages not yet taken. */
  get depth(): number {
    return this.#admitted.length;
  }

  /** Resolves once the message is admitted; rejects when the mailbox is closed before that. */
  put(message: T): Promise<void> {
    if (this.#closed !== null) return Promise.reject(this.#closed);
    if (this.#admitted.length < this.#max) {
      this.#admit(message);
      return Promise.resolve();
    }
    return new Promise((admit, refuse) => this.#waiting.push({ message, admit, refuse }));
  }

  /** Resolves when there is a message to take, or when there will never be one again. */
  async arrival(): Promise<void> {
    while (this.#admitted.length === 0 && this.#closed === null) {
      await new Promise<void>((wake) => {
        this.#wake = wake;
      });
    }
  }

  /** Waits for one message and takes up to `max` of them; empty only when closed and emptied. */
  async take(max: number): Promise<T[]> {
    await this.arrival();
    const taken = this.#admitted.splice(0, max);
    while (this.#waiting.length > 0 && this.#admitted.length < this.#max) {
      const next = this.#waiting.shift() as Waiting<T>;
      this.#admit(next.message);
      next.admit();
    }
    return taken;
  }

  /** Refuses new and waiting senders with `reason`; what was admitted can still be taken. */
  close(reason: Error): void {
    if (this.#closed !== null) return;
    this.#closed = reason;
    for (const { refuse } of this.#waiting.splice(0)) refuse(reason);
    this.#wakeReceiver();
  }

  #admit(message: T): void {
    this.#admitted.push(message);
    this.#wakeReceiver();
  }

  #wakeReceiver(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}
