/**
 * At most two attempts a second at an endpoint that has never answered 200, so that no client aims a flood at a stranger.
 * The endpoints of one client on a host where none has answered yet share the two: ten thousand URLs are no way around.
 */

import { LRUCache } from 'lru-cache';
import type { Member } from '../actor/turn-ring.ts';

export interface LimitedLane extends Member {
  readonly key: string;
  /** 200, at least once. */
  readonly hasAnswered: boolean;
}

interface Budget<T> {
  /** When the last attempts began, at most `ATTEMPTS_MAX`. */
  readonly startedAt: number[];
  /** Refused lanes, in their order. */
  readonly waiting: Set<T>;
}

const WINDOW_MS = 1_000;
const ATTEMPTS_MAX = 2;
/** How exactly refused lanes are looked at again. */
const LOOK_EVERY_MS = 50;
const HOSTS_MAX = 20_000;

/** Times are monotonic milliseconds. */
export class UnansweredLimit<T extends LimitedLane> {
  readonly #answeredHosts = new LRUCache<string, true>({ max: HOSTS_MAX });
  /** Of lanes and of hosts, in the order of their last attempts. */
  readonly #budgets = new Map<string, Budget<T>>();
  readonly #waiting = new Set<Budget<T>>();
  /** Refused by a host that has answered since. */
  readonly #released: T[] = [];
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** Whether an attempt may begin now; it is counted then. `takeDue` returns a lane that was refused when its time has come. */
  admit(lane: T, now: number): boolean {
    if (lane.hasAnswered) return true;
    this.#forgetQuiet(now);
    const [own, ofHost] = [this.#budget(lane.key), this.#budget(hostOf(lane))];
    const spent = [own, this.#answeredHosts.has(hostOf(lane)) ? null : ofHost].find(
      (each) => each && isSpent(each, now),
    );
    if (spent) {
      spent.waiting.add(lane);
      this.#waiting.add(spent);
      return false;
    }
    for (const { startedAt } of [own, ofHost]) {
      startedAt.push(now);
      if (startedAt.length > ATTEMPTS_MAX) startedAt.shift();
    }
    return true;
  }

  /** The attempt that was admitted at `startedAt` was not made. */
  withdraw(lane: T, startedAt: number): void {
    for (const name of [lane.key, hostOf(lane)]) {
      const times = this.#budgets.get(name)?.startedAt ?? [];
      const position = times.indexOf(startedAt);
      if (position >= 0) times.splice(position, 1);
    }
  }

  /** With 200. */
  noteAnswered(lane: T): void {
    const host = hostOf(lane);
    this.#answeredHosts.set(host, true);
    const { waiting } = this.#budgets.get(host) ?? {};
    if (waiting === undefined || waiting.size === 0) return;
    for (const each of waiting) this.#released.push(each);
    waiting.clear();
  }

  /** Lanes that may be admitted now, no more of a budget than it admits; looked for every `LOOK_EVERY_MS`. */
  takeDue(now: number): readonly T[] {
    const due = this.#released.splice(0);
    if (now - this.#lookedAt < LOOK_EVERY_MS) return due;
    this.#lookedAt = now;
    for (const budget of this.#waiting) {
      if (isSpent(budget, now)) continue;
      for (const lane of [...budget.waiting].slice(0, ATTEMPTS_MAX)) {
        budget.waiting.delete(lane);
        due.push(lane);
      }
      if (budget.waiting.size === 0) this.#waiting.delete(budget);
    }
    return due;
  }

  /** The last one of all from now on. */
  #budget(name: string): Budget<T> {
    const budget = this.#budgets.get(name) ?? { startedAt: [], waiting: new Set() };
    this.#budgets.delete(name);
    this.#budgets.set(name, budget);
    return budget;
  }

  /** A budget without an attempt in the last second is as good as a new one. */
  #forgetQuiet(now: number): void {
    for (const [name, { startedAt, waiting }] of this.#budgets) {
      if (waiting.size > 0 || now - (startedAt.at(-1) ?? Number.NEGATIVE_INFINITY) < WINDOW_MS) return;
      this.#budgets.delete(name);
    }
  }
}

function isSpent({ startedAt }: Budget<unknown>, now: number): boolean {
  return startedAt.length === ATTEMPTS_MAX && now - (startedAt[0] as number) < WINDOW_MS;
}

function hostOf({ client, host }: Member): string {
  return `${client} ${host}`;
}
