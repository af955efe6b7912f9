/**
 * Limits an endpoint that has never answered 200 to two attempts a second, so that no client can flood a third party.
 * Until one of a client's endpoints on a host has answered in this process, they share this limit. Ten thousand URLs
 * thus do not raise the rate. They also share the memory of one endpoint, but each may store one delivery. All such
 * hosts of a client share 64 attempts a second: a failed attempt uses a millisecond of CPU. Times are monotonic.
 */

import { LRUCache } from 'lru-cache';
import type { Member } from '../actor/turn-ring.ts';

interface LimitedQueue extends Member {
  readonly key: string;
  /** True once the endpoint has answered 200. */
  readonly hasAnswered: boolean;
}

interface Budget<T> {
  /** Attempts per second. */
  readonly max: number;
  /** Times of the last attempts, at most `max`. */
  readonly startedAt: number[];
  /** Refused queues, in the order of their refusals. */
  readonly waiting: Set<T>;
}

const WINDOW_MS = 1_000;
const ATTEMPTS_MAX = 2;
const CLIENT_ATTEMPTS_MAX = 64;
/** The interval at which refused queues are checked again. */
const CHECK_EVERY_MS = 50;
const HOSTS_MAX = 20_000;
/** Limits the deliveries in memory for a client's endpoints on a host that never answered: half a minute's attempts. */
const WAITING_MAX = 64;

export class UnansweredLimit<T extends LimitedQueue> {
  readonly #answeredHosts = new LRUCache<string, true>({ max: HOSTS_MAX });
  /** Budgets of queues, hosts and clients, in the order of their last uses. */
  readonly #budgets = new Map<string, Budget<T>>();
  readonly #waiting = new Set<Budget<T>>();
  /** Queues that were refused by the limit of a host that has answered since. */
  readonly #released: T[] = [];
  /** Number of endpoints that have never answered 200, by client and host. */
  readonly #sharing = new Map<string, number>();
  #checkedAt = Number.NEGATIVE_INFINITY;

  /** Counts an endpoint until `leave`, unless it has answered 200. */
  join(queue: T): void {
    if (!queue.hasAnswered) this.#sharing.set(hostOf(queue), (this.#sharing.get(hostOf(queue)) ?? 0) + 1);
  }

  leave(queue: T): void {
    if (queue.hasAnswered) return;
    const left = (this.#sharing.get(hostOf(queue)) ?? 0) - 1;
    if (left > 0) this.#sharing.set(hostOf(queue), left);
    else this.#sharing.delete(hostOf(queue));
  }

  /** How many deliveries may wait in memory for this endpoint: `WAITING_MAX`, shared on a host that never answered. */
  waitingMax(queue: T): number {
    const sharing = this.#isAnswered(hostOf(queue)) ? 1 : (this.#sharing.get(hostOf(queue)) ?? 1);
    return Math.max(1, Math.floor(WAITING_MAX / sharing));
  }

  /** Whether an attempt may begin now; if so, counts it. `nextDue` returns a refused queue when it may try again. */
  admit(queue: T, now: number): boolean {
    if (queue.hasAnswered) return true;
    this.#forgetQuiet(now);
    const own = this.#budget(queue.key, ATTEMPTS_MAX);
    const ofHost = this.#budget(hostOf(queue), ATTEMPTS_MAX);
    const ofClient = this.#budget(queue.client, CLIENT_ATTEMPTS_MAX);
    const isAnswered = this.#isAnswered(hostOf(queue));
    const spent = (isAnswered ? [own] : [own, ofHost, ofClient]).find((each) => isSpent(each, now));
    if (spent) {
      spent.waiting.add(queue);
      this.#waiting.add(spent);
      return false;
    }
    for (const { startedAt, max } of isAnswered ? [own, ofHost] : [own, ofHost, ofClient]) {
      startedAt.push(now);
      if (startedAt.length > max) startedAt.shift();
    }
    return true;
  }

  /** Uncounts the attempt that was admitted at `startedAt`, because it was not made. */
  withdraw(queue: T, startedAt: number): void {
    for (const name of [queue.key, hostOf(queue), queue.client]) {
      const times = this.#budgets.get(name)?.startedAt ?? [];
      const position = times.indexOf(startedAt);
      if (position >= 0) times.splice(position, 1);
    }
  }

  /** Call this when the endpoint has answered 200. */
  noteAnswered(queue: T): void {
    const host = hostOf(queue);
    this.#answeredHosts.set(host, true);
    const { waiting } = this.#budgets.get(host) ?? {};
    if (waiting === undefined || waiting.size === 0) return;
    for (const each of waiting) this.#released.push(each);
    waiting.clear();
  }

  /** Queues that may try again: released queues at once, others every `CHECK_EVERY_MS`, within their budgets. */
  nextDue(now: number): readonly T[] {
    const due = this.#released.splice(0);
    if (now - this.#checkedAt < CHECK_EVERY_MS) return due;
    this.#checkedAt = now;
    for (const budget of this.#waiting) {
      if (isSpent(budget, now)) continue;
      for (const queue of [...budget.waiting].slice(0, budget.max)) {
        budget.waiting.delete(queue);
        due.push(queue);
      }
      if (budget.waiting.size === 0) this.#waiting.delete(budget);
    }
    return due;
  }

  #isAnswered(host: string): boolean {
    return this.#answeredHosts.has(host);
  }

  /** Returns the budget, creating it if needed, and moves it to the end of the order. */
  #budget(name: string, max: number): Budget<T> {
    const budget = this.#budgets.get(name) ?? { max, startedAt: [], waiting: new Set() };
    this.#budgets.delete(name);
    this.#budgets.set(name, budget);
    return budget;
  }

  /** A budget without an attempt in the last second is equivalent to a new budget. */
  #forgetQuiet(now: number): void {
    for (const [name, { startedAt, waiting }] of this.#budgets) {
      if (waiting.size > 0 || now - (startedAt.at(-1) ?? Number.NEGATIVE_INFINITY) < WINDOW_MS) return;
      this.#budgets.delete(name);
    }
  }
}

function isSpent({ max, startedAt }: Budget<unknown>, now: number): boolean {
  return startedAt.length === max && now - (startedAt[0] as number) < WINDOW_MS;
}

function hostOf({ client, host }: Member): string {
  return `${client} ${host}`;
}
