/**
 * Deliveries whose turn has come too early: the one before them in their match, their leader, has not been answered yet.
 * They wait here and not in the lane of their endpoint, where they would stand before others, until the leader's attempt
 * is recorded by this process, or for a moment: another process may have the leader, or nobody any more. The rows decide
 * each time, so looking too often does no harm.
 */

import type { Uuid } from '../domain/ids.ts';
import type { HeldDelivery } from '../store/delivery-claims.ts';
import type { WaitingDelivery } from './attempts.ts';

interface Follower {
  readonly waiting: WaitingDelivery;
  readonly leaderId: Uuid;
  readonly timer: NodeJS.Timeout;
}

/** In all, and for one endpoint: what is beyond waits better in the table. */
const FOLLOWERS_MAX = 4_096;
const FOLLOWERS_OF_ENDPOINT_MAX = 256;
/** Between two looks a quarter of what has been waited, within these bounds. */
const LOOK_AGAIN_MIN_MS = 25;
const LOOK_AGAIN_MAX_MS = 1_000;
const WAITED_SHARE = 4;
/** The end of a leader that is here is told: looking is only a precaution. */
const LEADER_HERE_MS = 5_000;

export class Followers {
  readonly #byLeader = new Map<Uuid, Set<Follower>>();
  readonly #countByEndpoint = new Map<string, number>();
  readonly #isHere: (id: Uuid) => boolean;
  readonly #goOn: (waiting: WaitingDelivery) => void;
  #count = 0;

  /** `isHere`: whether this process has a delivery in hand. `goOn`: told of each one that may try again. */
  constructor(isHere: (id: Uuid) => boolean, goOn: (waiting: WaitingDelivery) => void) {
    this.#isHere = isHere;
    this.#goOn = goOn;
  }

  get count(): number {
    return this.#count;
  }

  /** False when there is no room. */
  add(waiting: WaitingDelivery, { leaderId, heldForMs }: HeldDelivery): boolean {
    const ofEndpoint = this.#countByEndpoint.get(waiting.endpointKey) ?? 0;
    if (this.#count >= FOLLOWERS_MAX || ofEndpoint >= FOLLOWERS_OF_ENDPOINT_MAX) return false;
    const waitedMs = performance.now() - waiting.admittedAt;
    const soonMs = Math.min(LOOK_AGAIN_MAX_MS, Math.max(LOOK_AGAIN_MIN_MS, waitedMs / WAITED_SHARE));
    const pauseMs = Math.min(heldForMs ?? LEADER_HERE_MS, this.#isHere(leaderId) ? LEADER_HERE_MS : soonMs);
    const timer = setTimeout(
      () => {
        this.#remove(follower);
        this.#goOn(waiting);
      },
      Math.max(1, pauseMs),
    );
    const follower: Follower = { waiting, leaderId, timer };
    const siblings = this.#byLeader.get(leaderId) ?? new Set();
    this.#byLeader.set(leaderId, siblings.add(follower));
    this.#countByEndpoint.set(waiting.endpointKey, ofEndpoint + 1);
    this.#count += 1;
    return true;
  }

  /** The attempt of `leaderId` is recorded. */
  leaderEnded(leaderId: Uuid): void {
    for (const follower of this.#byLeader.get(leaderId) ?? []) {
      this.#remove(follower);
      this.#goOn(follower.waiting);
    }
  }

  /** Those that came before `admittedBefore`, in monotonic milliseconds, taken out. */
  takeOlder(admittedBefore: number): WaitingDelivery[] {
    const older = [...this.#byLeader.values()]
      .flatMap((siblings) => [...siblings])
      .filter(({ waiting }) => waiting.admittedAt < admittedBefore);
    for (const follower of older) this.#remove(follower);
    return older.map(({ waiting }) => waiting);
  }

  /** All of them, taken out. */
  takeAll(): WaitingDelivery[] {
    return this.takeOlder(Number.POSITIVE_INFINITY);
  }

  #remove(follower: Follower): void {
    const { leaderId, timer, waiting } = follower;
    clearTimeout(timer);
    const siblings = this.#byLeader.get(leaderId);
    if (siblings?.delete(follower) !== true) return;
    if (siblings.size === 0) this.#byLeader.delete(leaderId);
    const left = (this.#countByEndpoint.get(waiting.endpointKey) as number) - 1;
    if (left === 0) this.#countByEndpoint.delete(waiting.endpointKey);
    else this.#countByEndpoint.set(waiting.endpointKey, left);
    this.#count -= 1;
  }
}
