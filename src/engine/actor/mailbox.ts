/**
 * A limited first-in, first-out queue between senders and one receiver. A full mailbox makes its senders wait, in
 * order, instead of growing or dropping messages. This is the back-pressure between actors.
 */

import { Signal } from './waiting.ts';

interface Waiting<T> {
  readonly message: T;
  readonly admit: () => void;
  readonly refuse: (reason: Error) => void;
}

/** The weight of a message, for example its bytes, and the maximum weight of the mailbox and of a batch. */
export interface Weighing<T> {
  readonly weigh: (message: T) => number;
  readonly weightMax: number;
}

const WEIGHTLESS: Weighing<unknown> = { weigh: () => 0, weightMax: 0 };

export class Mailbox<T> {
  readonly #max: number;
  readonly #weighing: Weighing<T>;
  readonly #admitted: T[] = [];
  readonly #waiting: Waiting<T>[] = [];
  #weight = 0;
  readonly #wakeUp = new Signal();
  #closed: Error | null = null;

  /** At most `max` messages are admitted; `max` is at least 1. A message above the weight limit is admitted alone. */
  constructor(max: number, weighing: Weighing<T> = WEIGHTLESS) {
    this.#max = max;
    this.#weighing = weighing;
  }

  /** Number of messages that are admitted but not yet taken. */
  get depth(): number {
    return this.#admitted.length;
  }

  /** Resolves when the message is admitted; rejects if the mailbox is closed before that. */
  put(message: T): Promise<void> {
    if (this.#closed !== null) return Promise.reject(this.#closed);
    if (this.#waiting.length === 0 && this.#hasRoomFor(message)) {
      this.#admit(message);
      return Promise.resolve();
    }
    return new Promise((admit, refuse) => this.#waiting.push({ message, admit, refuse }));
  }

  /** Resolves when there is a message to take, or the mailbox is closed. */
  async arrival(): Promise<void> {
    while (this.#admitted.length === 0 && this.#closed === null) await this.#wakeUp.wait();
  }

  /** Takes up to `max` admitted messages within the weight limit, but at least one if there is any. */
  nextAdmitted(max: number): T[] {
    const { weigh, weightMax } = this.#weighing;
    let count = 0;
    let weight = 0;
    for (const message of this.#admitted) {
      if (count === max || (count > 0 && weight + weigh(message) > weightMax)) break;
      count += 1;
      weight += weigh(message);
    }
    this.#weight -= weight;
    const next = this.#admitted.splice(0, count);
    for (let next = this.#waiting[0]; next !== undefined && this.#hasRoomFor(next.message); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#admit(next.message);
      next.admit();
    }
    return next;
  }

  /** Refuses new and waiting senders with `reason`; admitted messages can still be taken. */
  close(reason: Error): void {
    if (this.#closed !== null) return;
    this.#closed = reason;
    for (const { refuse } of this.#waiting.splice(0)) refuse(reason);
    this.#wakeUp.notify();
  }

  #hasRoomFor(message: T): boolean {
    const { weigh, weightMax } = this.#weighing;
    if (this.#admitted.length === 0) return true;
    return this.#admitted.length < this.#max && this.#weight + weigh(message) <= weightMax;
  }

  #admit(message: T): void {
    this.#admitted.push(message);
    this.#weight += this.#weighing.weigh(message);
    this.#wakeUp.notify();
  }
}
