/**
 * Messages that an error of unknown cause stands alone with. Anything is tried again, three times over half a minute,
 * before it counts as a bug; nobody else waits for it but the messages of its key, which keep their order. The error that
 * a message of the key was given up for needs no such proof again.
 */

import { pause, Signal } from './waiting.ts';

export interface Suspect<M> {
  readonly key: unknown;
  readonly message: M;
  /** Of its key, in their order. */
  readonly behind: M[];
  failures: number;
  isDue: boolean;
}

/** Keys are forgotten, oldest first. */
const PROVEN_MAX = 1_000;

export class Suspects<M> {
  readonly wakeUp = new Signal();
  readonly #retryPausesMs: readonly number[];
  readonly #keyOf: (message: M) => unknown;
  readonly #byKey = new Map<unknown, Suspect<M>>();
  readonly #proven = new Map<unknown, string>();

  /** Unless said, each message has a key of its own. */
  constructor(retryPausesMs: readonly number[], keyOf: (message: M) => unknown = (message) => ({ message })) {
    this.#retryPausesMs = retryPausesMs;
    this.#keyOf = keyOf;
  }

  /** Messages that wait here. */
  get count(): number {
    let count = 0;
    for (const { behind } of this.#byKey.values()) count += 1 + behind.length;
    return count;
  }

  /** One whose time has come. */
  get due(): Suspect<M> | undefined {
    return [...this.#byKey.values()].find(({ isDue }) => isDue);
  }

  /** Lets those wait that come behind a suspect; answers the others. */
  holdBack(messages: readonly M[]): readonly M[] {
    if (this.#byKey.size === 0) return messages;
    return messages.filter((message) => {
      const suspect = this.#byKey.get(this.#keyOf(message));
      suspect?.behind.push(message);
      return suspect === undefined;
    });
  }

  suspect(message: M): Suspect<M> {
    const suspect = { key: this.#keyOf(message), message, behind: [], failures: 0, isDue: false };
    this.#byKey.set(suspect.key, suspect);
    return suspect;
  }

  /** How long until it is tried again; null when the error counts as a bug. */
  retryInMs({ key, failures }: Suspect<M>, error: Error): number | null {
    if (this.#proven.get(key) === String(error)) return null;
    return this.#retryPausesMs[failures] ?? null;
  }

  tryLater(suspect: Suspect<M>, inMs: number): void {
    suspect.failures += 1;
    suspect.isDue = false;
    void pause(inMs).then(() => this.#makeDue(suspect));
  }

  /** It is done with; answers what waited behind it. `bug`: what it was given up for. */
  release({ key, behind }: Suspect<M>, bug: Error | null): readonly M[] {
    this.#byKey.delete(key);
    this.#proven.delete(key);
    if (bug !== null && typeof key !== 'object') this.#proven.set(key, String(bug));
    const [oldest] = this.#proven.keys();
    if (this.#proven.size > PROVEN_MAX) this.#proven.delete(oldest);
    return behind;
  }

  /** No time is to be lost. */
  hurry(): void {
    for (const suspect of this.#byKey.values()) suspect.isDue = true;
    this.wakeUp.notify();
  }

  #makeDue(suspect: Suspect<M>): void {
    suspect.isDue = true;
    this.wakeUp.notify();
  }
}
