/**
 * Decides which delivery gets the next slot. Slots bound the concurrent attempts; clients with something to send take
 * turns, one attempt per turn (actor/turn-ring.ts). Reserves keep one kind of slowness from affecting all:
 *
 * - retries hold at most three quarters of the slots, so that an outage's retries leave room for new deliveries;
 * - endpoints known to be slow start no attempt while slow ones hold a quarter of the slots;
 * - those and unknown endpoints together start none while they hold half of the slots;
 * - a client holds at most seven times the number of free slots, and may always try one such endpoint;
 * - an endpoint that has never answered gets two attempts a second.
 *
 * Pure state: no timers, and time is an argument.
 */

import { LRUCache } from 'lru-cache';
import { type Member, TurnRing } from '../actor/turn-ring.ts';
import type { AttemptOutcome, Lane } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';
import { type EndpointHealth, EndpointQueue, type EndpointQueueSettings } from './endpoint-queue.ts';

export interface FairSchedulerOptions extends EndpointQueueSettings {
  readonly slots: number;
  /** Entries that wait in all queues together, at most. */
  readonly waitingMax: number;
}

/** A slot given to an endpoint. End it by `withdraw` or `answered`. */
export interface Turn<T> {
  readonly queue: EndpointQueue<T>;
  readonly entry: T;
  readonly isRetry: boolean;
  readonly started: { readonly at: number };
}

const QUEUES_MAX = 20_000;
const RETRY_SHARE = 3 / 4;
const SLOW_SHARE = 1 / 4;
const UNSURE_SHARE = 1 / 2;
/** For the first attempt under way of each client, beyond those two. */
const FIRSTS_SHARE = 15 / 16;
/** One client holds at most seven eighths of the slots, two hold seven fifteenths each: some are always free. */
const CLIENT_SHARE_OF_FREE = 7;

/** The kinds of a queue: its class, and from `RETRIES_ONLY` on the same without a first attempt. */
const CLASSES: readonly EndpointHealth[] = ['healthy', 'unknown', 'slow'];
const RETRIES_ONLY = CLASSES.length;

interface SlotsHeld {
  slow: number;
  /** By slow and unknown endpoints. */
  unsure: number;
  readonly byClient: Map<string, { all: number; unsure: number }>;
}

const NOTHING_HELD = { all: 0, unsure: 0 } as const;

function hold(held: SlotsHeld, client: string, endpointHealth: EndpointHealth, count: number): void {
  const own = held.byClient.get(client) ?? { ...NOTHING_HELD };
  held.byClient.set(client, own);
  own.all += count;
  if (endpointHealth === 'healthy') return;
  own.unsure += count;
  held.unsure += count;
  if (endpointHealth === 'slow') held.slow += count;
}

export class FairScheduler<T> {
  readonly #options: FairSchedulerOptions;
  readonly #queues = new Map<string, EndpointQueue<T>>();
  /** Queues that may be able to send. */
  readonly #ring = new TurnRing<EndpointQueue<T>>(2 * RETRIES_ONLY);
  readonly #unanswered = new UnansweredLimit<EndpointQueue<T>>();
  /** Queues whose backlog may be fetched. */
  readonly #refillable = new Set<EndpointQueue<T>>();
  /** Queues that hold slots. */
  readonly #active = new Set<EndpointQueue<T>>();
  readonly #open = new Set<Turn<T>>();
  #retries = 0;
  #waiting = 0;

  constructor(options: FairSchedulerOptions) {
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

  queues(): Iterable<EndpointQueue<T>> {
    return this.#queues.values();
  }

  queue(key: string): EndpointQueue<T> {
    let queue = this.#queues.get(key);
    if (queue === undefined) {
      queue = new EndpointQueue(key, this.#options);
      this.#queues.set(key, queue);
    }
    return queue;
  }

  /** False when it waits in the table: among others, while its endpoint is paused, or because too many wait here. */
  add(key: string, entry: T, lane: Lane, id: Uuid): boolean {
    const queue = this.queue(key);
    const hasRoom = !queue.isPaused && queue.room > 0 && this.#waiting < this.#options.waitingMax;
    if (hasRoom && !queue.isBehindBacklog(lane, id)) return this.addFetched(key, entry, lane);
    if (queue.hasBacklog(lane)) queue.markArrival(lane, id);
    else this.markBacklog(key, lane);
    return false;
  }

  /** From the backlog of its queue. */
  addFetched(key: string, entry: T, lane: Lane): true {
    const queue = this.queue(key);
    queue.add(entry, lane);
    this.#waiting += 1;
    this.#place(queue);
    return true;
  }

  /** PostgreSQL holds further deliveries for this endpoint, or may do so; see `EndpointQueue`. */
  markBacklog(key: string, lane: Lane, isKnown = false): void {
    const queue = this.queue(key);
    queue.markBacklog(lane, isKnown);
    this.#place(queue);
  }

  /** Queues whose backlog may be fetched now, at most `max` of them. */
  refillable(max: number): readonly EndpointQueue<T>[] {
    const queues: EndpointQueue<T>[] = [];
    if (this.#waiting >= this.#options.waitingMax) return queues;
    for (const queue of this.#refillable) {
      if (queues.length === max) break;
      queues.push(queue);
    }
    return queues;
  }

  /** Its backlog was fetched, up to `position`; null: to the end. */
  markFetched(queue: EndpointQueue<T>, lane: Lane, position: Uuid | null): void {
    queue.markFetched(lane, position);
    // Behind the other queues to fetch.
    this.#refillable.delete(queue);
    this.#place(queue);
  }

  /** Removes and returns what waits in the queue. */
  empty(queue: EndpointQueue<T>): T[] {
    const entries = queue.empty();
    this.#waiting -= entries.length;
    this.#place(queue);
    return entries;
  }

  /** A pause keeps the waiting entries; remove them with `empty`. */
  setPaused(key: string, isPaused: boolean): void {
    const queue = this.queue(key);
    queue.isCatchingUp ||= queue.isPaused && !isPaused;
    queue.isPaused = isPaused;
    this.#place(queue);
  }

  /** Gives out up to `max` free slots, one to each client before any gets a second one. */
  nextTurns(max: number, now: number): Turn<T>[] {
    const turns: Turn<T>[] = [];
    const wanted = Math.min(max, this.free);
    if (wanted <= 0) return turns;
    for (const queue of this.#unanswered.takeDue(now)) this.#place(queue);
    const held = this.#slotsHeld(now);
    const mayServe = (client: string, kind: number): boolean => this.#hasRoom(client, kind, held);
    while (turns.length < wanted) {
      const queue = this.#ring.next(mayServe);
      if (queue === null) break;
      // The event that unblocks it puts it back into the ring.
      if (queue.isBlocked(now) || !this.#unanswered.admit(queue, now)) this.#ring.place(queue, null);
      else turns.push(this.#start(queue, held, now));
    }
    return turns;
  }

  /** Whether an endpoint of `client` that waits in this way may start an attempt now. */
  #hasRoom(client: string, kind: number, held: SlotsHeld): boolean {
    const { slots } = this.#options;
    if (kind >= RETRIES_ONLY && !this.#hasRetrySlots) return false;
    const own = held.byClient.get(client) ?? NOTHING_HELD;
    if (own.all >= CLIENT_SHARE_OF_FREE * this.free) return false;
    const endpointHealth = CLASSES[kind % RETRIES_ONLY];
    if (endpointHealth === 'healthy') return true;
    // Other clients' hanging endpoints do not keep a client from trying its own.
    if (own.unsure === 0 && held.unsure < Math.ceil(slots * FIRSTS_SHARE)) return true;
    if (endpointHealth === 'slow' && held.slow >= Math.ceil(slots * SLOW_SHARE)) return false;
    return held.unsure < Math.ceil(slots * UNSURE_SHARE);
  }

  get #hasRetrySlots(): boolean {
    return this.#retries < Math.floor(this.#options.slots * RETRY_SHARE);
  }

  #start(queue: EndpointQueue<T>, held: SlotsHeld, now: number): Turn<T> {
    hold(held, queue.client, queue.classAt(now), 1);
    const { entry, isRetry } = queue.next(this.#hasRetrySlots);
    this.#waiting -= 1;
    const turn: Turn<T> = { queue, entry, isRetry, started: queue.start(now) };
    this.#open.add(turn);
    this.#active.add(queue);
    if (isRetry) this.#retries += 1;
    this.#place(queue);
    return turn;
  }

  /** Slots by the present class of their endpoints: one that has begun to hang counts as slow at once. */
  #slotsHeld(now: number): SlotsHeld {
    const held: SlotsHeld = { slow: 0, unsure: 0, byClient: new Map() };
    for (const queue of this.#active) hold(held, queue.client, queue.classAt(now), queue.inFlight);
    return held;
  }

  /** The queue's kind, by what it has to send and how it has answered. */
  #place(queue: EndpointQueue<T>): void {
    if (queue.nextPage('first') === null && queue.nextPage('retry') === null) this.#refillable.delete(queue);
    else this.#refillable.add(queue);
    if (queue.isPaused || !queue.hasWork(true)) return this.#ring.place(queue, null);
    this.#ring.place(queue, CLASSES.indexOf(queue.endpointHealth) + (queue.hasWork(false) ? 0 : RETRIES_ONLY));
  }

  /** The attempt was not made: the row refused it. */
  withdraw(turn: Turn<T>): void {
    turn.queue.withdraw(turn.started);
    this.#unanswered.withdraw(turn.queue, turn.started.at);
    this.#noteEnd(turn);
  }

  /** The endpoint has answered, or will not answer. */
  answered(turn: Turn<T>, url: string, outcome: AttemptOutcome): void {
    turn.queue.answered(turn.started, url, outcome);
    if (outcome.error === null) this.#unanswered.noteAnswered(turn.queue);
    this.#noteEnd(turn);
  }

  #noteEnd(turn: Turn<T>): void {
    const { queue, isRetry } = turn;
    if (this.#open.delete(turn) && isRetry) this.#retries -= 1;
    if (queue.inFlight === 0) this.#active.delete(queue);
    this.#place(queue);
  }

  /** Beyond `QUEUES_MAX` endpoints, forgets those without open work; they count as unknown when they return. */
  forgetIdle(): void {
    if (this.#queues.size <= QUEUES_MAX) return;
    for (const queue of this.#queues.values()) {
      if (!queue.isIdle) continue;
      this.#queues.delete(queue.key);
      this.#ring.place(queue, null);
    }
  }
}

interface LimitedQueue extends Member {
  readonly key: string;
  /** 200, at least once. */
  readonly hasAnswered: boolean;
}

interface Budget<T> {
  /** Times of the last attempts, at most `ATTEMPTS_MAX`. */
  readonly startedAt: number[];
  /** Refused queues, in their order. */
  readonly waiting: Set<T>;
}

const WINDOW_MS = 1_000;
const ATTEMPTS_MAX = 2;
/** The interval at which refused queues are checked again. */
const CHECK_EVERY_MS = 50;
const HOSTS_MAX = 20_000;

/**
 * Limits an endpoint that has never answered 200 to two attempts a second, so that no client floods a stranger. The
 * endpoints of one client on a host where none has answered share the limit: ten thousand URLs do not raise it. Times
 * are monotonic milliseconds.
 */
class UnansweredLimit<T extends LimitedQueue> {
  readonly #answeredHosts = new LRUCache<string, true>({ max: HOSTS_MAX });
  /** Budgets of queues and of hosts, in the order of their last attempts. */
  readonly #budgets = new Map<string, Budget<T>>();
  readonly #waiting = new Set<Budget<T>>();
  /** Refused by a host that has answered since. */
  readonly #released: T[] = [];
  #checkedAt = Number.NEGATIVE_INFINITY;

  /** Whether an attempt may begin now; it is counted then. `takeDue` returns a refused queue when its time has come. */
  admit(queue: T, now: number): boolean {
    if (queue.hasAnswered) return true;
    this.#forgetQuiet(now);
    const [own, ofHost] = [this.#budget(queue.key), this.#budget(hostOf(queue))];
    const spent = [own, this.#answeredHosts.has(hostOf(queue)) ? null : ofHost].find(
      (each) => each && isSpent(each, now),
    );
    if (spent) {
      spent.waiting.add(queue);
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
  withdraw(queue: T, startedAt: number): void {
    for (const name of [queue.key, hostOf(queue)]) {
      const times = this.#budgets.get(name)?.startedAt ?? [];
      const position = times.indexOf(startedAt);
      if (position >= 0) times.splice(position, 1);
    }
  }

  /** With 200. */
  noteAnswered(queue: T): void {
    const host = hostOf(queue);
    this.#answeredHosts.set(host, true);
    const { waiting } = this.#budgets.get(host) ?? {};
    if (waiting === undefined || waiting.size === 0) return;
    for (const each of waiting) this.#released.push(each);
    waiting.clear();
  }

  /** Queues that may be admitted now, per budget at most what it admits; computed every `CHECK_EVERY_MS`. */
  takeDue(now: number): readonly T[] {
    const due = this.#released.splice(0);
    if (now - this.#checkedAt < CHECK_EVERY_MS) return due;
    this.#checkedAt = now;
    for (const budget of this.#waiting) {
      if (isSpent(budget, now)) continue;
      for (const queue of [...budget.waiting].slice(0, ATTEMPTS_MAX)) {
        budget.waiting.delete(queue);
        due.push(queue);
      }
      if (budget.waiting.size === 0) this.#waiting.delete(budget);
    }
    return due;
  }

  /** Moves the budget to the end of the order. */
  #budget(name: string): Budget<T> {
    const budget = this.#budgets.get(name) ?? { startedAt: [], waiting: new Set() };
    this.#budgets.delete(name);
    this.#budgets.set(name, budget);
    return budget;
  }

  /** A budget without an attempt in the last second equals a new one. */
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
