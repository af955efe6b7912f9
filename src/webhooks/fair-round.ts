/**
 * Who gets the next slot. Slots are the attempts that may run at once; endpoints that have something to send take turns
 * for them, one attempt a turn. Three reserves keep one kind of trouble from becoming everybody's:
 *
 * - retries never hold more than three quarters of the slots, so the due retries of an outage leave room for what is
 *   new;
 * - endpoints known to be slow never start an attempt while slow ones hold a quarter of the slots;
 * - those and endpoints that have not answered yet together never start one while they hold half of them.
 *
 * Pure state: no timers, and time is an argument.
 */

import type { AttemptOutcome } from '../domain/delivery.ts';
import { EndpointLane, type LaneClass, type LaneSettings } from './endpoint-lane.ts';

export interface FairRoundOptions extends LaneSettings {
  readonly slots: number;
  /** Entries that wait in all lanes together, at most. */
  readonly waitingMax: number;
}

/** A slot given to an endpoint. It must be ended by `withdraw`, or by `answered` and then `finish`. */
export interface Turn<T> {
  readonly lane: EndpointLane<T>;
  /** Null: to be drawn from what is parked for this endpoint. */
  readonly entry: T | null;
  readonly isRetry: boolean;
}

interface OpenTurn<T> extends Turn<T> {
  readonly started: { readonly at: number };
}

const LANES_MAX = 20_000;
const RETRY_SHARE = 3 / 4;
const SLOW_SHARE = 1 / 4;
const UNSURE_SHARE = 1 / 2;

export class FairRound<T> {
  readonly #options: FairRoundOptions;
  readonly #lanes = new Map<string, EndpointLane<T>>();
  /** Lanes that may be able to send something, in the order of their turns. */
  readonly #ring = new Set<EndpointLane<T>>();
  /** Lanes that hold slots. */
  readonly #active = new Set<EndpointLane<T>>();
  readonly #open = new Set<OpenTurn<T>>();
  #retries = 0;
  #waiting = 0;

  constructor(options: FairRoundOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get inFlight(): number {
    return this.#open.size;
  }

  get free(): number {
    return this.#options.slots - this.#open.size;
  }

  lanes(): Iterable<EndpointLane<T>> {
    return this.#lanes.values();
  }

  lane(key: string): EndpointLane<T> {
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = new EndpointLane(key, this.#options);
      this.#lanes.set(key, lane);
    }
    return lane;
  }

  /** False when the entry must be parked instead: its endpoint is paused, or too much waits for it, or for all. */
  add(key: string, entry: T, isRetry: boolean): boolean {
    const lane = this.lane(key);
    if (lane.isPaused || lane.isFull || this.#waiting >= this.#options.waitingMax) return false;
    lane.add(entry, isRetry);
    this.#waiting += 1;
    this.#ring.add(lane);
    return true;
  }

  /** PostgreSQL holds parked deliveries for this endpoint, or may do so. */
  noteParked(key: string): void {
    const lane = this.lane(key);
    lane.mayHaveParked = true;
    this.#ring.add(lane);
  }

  /** What waits in the lane, taken out of it. */
  empty(lane: EndpointLane<T>): T[] {
    const entries = lane.empty();
    this.#waiting -= entries.length;
    return entries;
  }

  /** Pausing keeps what waits; take it out with `empty`. */
  setPaused(key: string, isPaused: boolean): void {
    const lane = this.lane(key);
    lane.isPaused = isPaused;
    this.#ring.add(lane);
  }

  /** Gives out up to `max` free slots, one to each endpoint before any gets a second one. */
  take(max: number, now: number): Turn<T>[] {
    const turns: Turn<T>[] = [];
    const held = this.#slotsHeld(now);
    const wanted = Math.min(max, this.free);
    if (wanted <= 0) return turns;
    // A lane that is served goes to the end of the ring, where this loop meets it again.
    for (const lane of this.#ring) {
      const turn = this.#serve(lane, held, now);
      if (turn !== null && turns.push(turn) === wanted) break;
    }
    return turns;
  }

  #serve(lane: EndpointLane<T>, held: Record<LaneClass, number>, now: number): Turn<T> | null {
    const { slots } = this.#options;
    // It comes back into the ring with the event that unblocks it.
    if (!lane.hasWork(true) || lane.isBlocked(now)) {
      this.#ring.delete(lane);
      return null;
    }
    const withRetries = this.#retries < Math.floor(slots * RETRY_SHARE);
    if (!lane.hasWork(withRetries)) return null;
    const laneClass = lane.classAt(now);
    if (laneClass === 'slow' && held.slow >= Math.ceil(slots * SLOW_SHARE)) return null;
    if (laneClass !== 'proven' && held.slow + held.unproven >= Math.ceil(slots * UNSURE_SHARE)) return null;
    held[laneClass] += 1;
    return this.#start(lane, withRetries, now);
  }

  #start(lane: EndpointLane<T>, withRetries: boolean, now: number): Turn<T> {
    const { entry, isRetry } = lane.take(withRetries);
    if (entry !== null) this.#waiting -= 1;
    const turn: OpenTurn<T> = { lane, entry, isRetry, started: lane.start(now) };
    this.#open.add(turn);
    this.#active.add(lane);
    if (isRetry) this.#retries += 1;
    this.#ring.delete(lane);
    this.#ring.add(lane);
    return turn;
  }

  /** Slots by what their endpoints are at this moment: one that has begun to hang counts as slow at once. */
  #slotsHeld(now: number): Record<LaneClass, number> {
    const held = { proven: 0, unproven: 0, slow: 0 };
    for (const lane of this.#active) held[lane.classAt(now)] += lane.inFlight;
    return held;
  }

  /** The attempt was not made: the row refused it, or nothing was parked any more. */
  withdraw(turn: Turn<T>): void {
    turn.lane.withdraw((turn as OpenTurn<T>).started);
    this.#noteEnd(turn.lane);
    this.finish(turn);
  }

  /** The endpoint has answered, or never will. The slot stays taken until the outcome is recorded. */
  answered(turn: Turn<T>, url: string, outcome: AttemptOutcome): void {
    turn.lane.answered((turn as OpenTurn<T>).started, url, outcome);
    this.#noteEnd(turn.lane);
  }

  finish(turn: Turn<T>): void {
    if (this.#open.delete(turn as OpenTurn<T>) && turn.isRetry) this.#retries -= 1;
  }

  #noteEnd(lane: EndpointLane<T>): void {
    if (lane.inFlight === 0) this.#active.delete(lane);
    this.#ring.add(lane);
  }

  /** Beyond `LANES_MAX` endpoints, forgets those without open work; they are met again as unproven ones. */
  forgetIdle(): void {
    if (this.#lanes.size <= LANES_MAX) return;
    for (const lane of this.#lanes.values()) {
      if (!lane.isIdle) continue;
      this.#lanes.delete(lane.key);
      this.#ring.delete(lane);
    }
  }
}
