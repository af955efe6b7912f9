/**
 * Decides which delivery gets the next slot. The number of slots limits the concurrent attempts. Clients with something
 * to send take turns, one attempt per turn (actor/turn-ring.ts). Limits keep one kind of slowness from affecting all:
 * - retries and recoveries use at most three quarters of the slots, so that an outage leaves slots for new deliveries;
 * - endpoints known to be slow start no attempt while slow endpoints use a quarter of the slots;
 * - slow and unknown endpoints start no attempt while they use half of the slots together;
 * - a client with no attempt at such endpoints may still start one while they use less than 15/16 of the slots;
 * - a client starts no attempt while it uses seven times the free slots or more;
 * - an endpoint that has never answered 200 gets at most two attempts a second.
 *
 * The memory for waiting entries is shared in the same way. A client that uses seven times the free memory gets no
 * more. The endpoints of a host that has never answered share the capacity of one endpoint, but each may store one
 * entry. The dead URLs of a client therefore do not displace the entries of another. The limit of unrecorded outcomes
 * is shared too: a client whose endpoints fail faster than PostgreSQL records failures delays only itself. The state is
 * pure: it has no timers, and the time is an argument.
 */

import { LRUCache } from 'lru-cache';
import { SHARE_OF_FREE, SharedRoom } from '../actor/shared-room.ts';
import { TurnRing } from '../actor/turn-ring.ts';
import { type AttemptOutcome, LANES, type Lane } from '../domain/delivery.ts';
import type { RememberedEndpoint } from '../domain/endpoint.ts';
import type { Uuid } from '../domain/ids.ts';
import { type EndpointClass, EndpointQueue, type EndpointQueueSettings } from './endpoint-queue.ts';
import { UnansweredLimit } from './unanswered-limit.ts';

export interface FairSchedulerOptions extends EndpointQueueSettings {
  readonly slots: number;
  /** Maximum number of waiting entries in all queues together. */
  readonly waitingMax: number;
  /** Maximum number of unrecorded outcomes. At this number no attempt starts. */
  readonly unrecordedMax: number;
}

/** A slot assigned to an endpoint. End it with `withdraw` or `answered`. */
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
/** A client with no attempt at a slow or unknown endpoint may start one while all of them use less than this share. */
const FIRSTS_SHARE = 15 / 16;
/** After DNS lookups of a client were refused, its slow and unknown endpoints get few slots for a minute. */
const CROWDED_MS = 60_000;
const CROWDED_UNSURE_MAX = 8;
/** Refusals within this time concern attempts that began before the first refusal, so they count once. */
const CROWD_SETTLES_MS = 2_000;
const CLIENTS_MAX = 10_000;
const FETCHABLE = 0;

/** The kind of a queue is its class, plus `RETRIES_ONLY` if no first attempt waits in it. */
const CLASSES: readonly EndpointClass[] = ['healthy', 'unknown', 'slow'];
const RETRIES_ONLY = CLASSES.length;

/** The next page of an endpoint's backlog in the table. */
export interface BacklogPage<T> {
  readonly queue: EndpointQueue<T>;
  readonly lane: Lane;
  readonly position: Uuid;
  readonly count: number;
}

interface SlotsInUse {
  slow: number;
  /** Slots that slow and unknown endpoints use. */
  unsure: number;
  readonly byClient: Map<string, { all: number; unsure: number }>;
}

const NOTHING_HELD = { all: 0, unsure: 0 } as const;

function hold(inUse: SlotsInUse, client: string, endpointClass: EndpointClass, count: number): void {
  const own = inUse.byClient.get(client) ?? { ...NOTHING_HELD };
  inUse.byClient.set(client, own);
  own.all += count;
  if (endpointClass === 'healthy') return;
  own.unsure += count;
  inUse.unsure += count;
  if (endpointClass === 'slow') inUse.slow += count;
}

export class FairScheduler<T> {
  readonly #options: FairSchedulerOptions;
  readonly #queues = new Map<string, EndpointQueue<T>>();
  /** Queues that may be able to send. */
  readonly #ring = new TurnRing<EndpointQueue<T>>(2 * RETRIES_ONLY);
  readonly #unanswered = new UnansweredLimit<EndpointQueue<T>>();
  /** Queues whose backlog may be fetched. */
  readonly #fetchable = new TurnRing<EndpointQueue<T>>(1);
  /** Queues that use slots. */
  readonly #active = new Set<EndpointQueue<T>>();
  readonly #open = new Set<Turn<T>>();
  readonly #crowds = new LRUCache<string, { readonly at: number; readonly unsureMax: number }>({ max: CLIENTS_MAX });
  readonly #memory: SharedRoom;
  readonly #unrecorded: SharedRoom;
  #retries = 0;

  constructor(options: FairSchedulerOptions) {
    this.#options = options;
    this.#memory = new SharedRoom(options.waitingMax);
    this.#unrecorded = new SharedRoom(options.unrecordedMax);
  }

  get waiting(): number {
    return this.#memory.claimed;
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
      queue = new EndpointQueue(key, this.#options, (own) => this.#unanswered.waitingMax(own));
      this.#queues.set(key, queue);
      this.#unanswered.join(queue);
    }
    return queue;
  }

  /** Restores the state of an endpoint that earlier processes recorded. */
  remember(endpoint: RememberedEndpoint): void {
    const queue = this.queue(endpoint.key);
    this.#unanswered.leave(queue);
    queue.remember(endpoint);
    this.#unanswered.join(queue);
  }

  /** How many more entries of the client fit into memory once `pages` have been fetched. */
  #memoryFor(client: string, pages: readonly BacklogPage<T>[] = []): number {
    return this.#memory.roomFor(
      client,
      pages.map(({ queue, count }) => ({ client: queue.client, count })),
    );
  }

  /** False if the entry must wait in the table: after others, for a paused endpoint, or for lack of capacity here. */
  add(key: string, entry: T, lane: Lane, id: Uuid): boolean {
    const queue = this.queue(key);
    const hasRoom = !queue.isPaused && queue.room > 0 && this.#memoryFor(queue.client) > 0;
    if (hasRoom && !queue.isBehindBacklog(lane, id)) return this.addFetched(key, entry, lane);
    if (queue.hasBacklog(lane)) queue.markArrival(lane, id);
    else this.markBacklog(key, lane);
    return false;
  }

  /** Adds an entry that was fetched from the backlog of its queue. */
  addFetched(key: string, entry: T, lane: Lane): true {
    const queue = this.queue(key);
    queue.add(entry, lane);
    this.#memory.count(queue.client, 1);
    this.#place(queue);
    return true;
  }

  /** Notes that PostgreSQL may have further deliveries for this endpoint; see `EndpointQueue.markBacklog`. */
  markBacklog(key: string, lane: Lane, isKnown = false): void {
    const queue = this.queue(key);
    queue.markBacklog(lane, isKnown);
    this.#place(queue);
  }

  get hasPages(): boolean {
    return !this.#fetchable.isEmpty;
  }

  /** The next pages to fetch, for at most `queuesMax` endpoints. Clients, their hosts and endpoints take turns. */
  pages(queuesMax: number): readonly BacklogPage<T>[] {
    const pages: BacklogPage<T>[] = [];
    const queues: EndpointQueue<T>[] = [];
    while (queues.length < queuesMax) {
      const queue = this.#fetchable.next((client) => this.#memoryFor(client, pages) > 0);
      if (queue === null) break;
      this.#fetchable.place(queue, null);
      queues.push(queue);
      for (const lane of LANES) {
        const page = queue.nextPage(lane);
        const count = Math.min(page?.count ?? 0, this.#memoryFor(queue.client, pages));
        if (page !== null && count > 0) pages.push({ queue, lane, position: page.position, count });
      }
    }
    for (const queue of queues) this.#place(queue);
    return pages;
  }

  /** Notes that the backlog was fetched up to `position`; null means to its end. */
  markFetched(queue: EndpointQueue<T>, lane: Lane, position: Uuid | null): void {
    queue.markFetched(lane, position);
    this.#place(queue);
  }

  /** Removes and returns the entries that wait in the queue. */
  empty(queue: EndpointQueue<T>): T[] {
    const entries = queue.empty();
    this.#memory.count(queue.client, -entries.length);
    this.#place(queue);
    return entries;
  }

  /** Does not remove the waiting entries of a paused endpoint; `empty` does. */
  setPaused(key: string, isPaused: boolean): void {
    const queue = this.queue(key);
    queue.isCatchingUp ||= queue.isPaused && !isPaused;
    queue.isPaused = isPaused;
    this.#place(queue);
  }

  /** Assigns up to `max` free slots. Clients take turns, with at most one slot per turn. */
  nextTurns(max: number, now: number): Turn<T>[] {
    const turns: Turn<T>[] = [];
    const wanted = Math.min(max, this.free);
    if (wanted <= 0) return turns;
    for (const queue of this.#unanswered.nextDue(now)) this.#place(queue);
    const inUse = this.#countSlotsInUse(now);
    const mayServe = (client: string, kind: number): boolean => this.#hasRoom(client, kind, inUse, now);
    while (turns.length < wanted) {
      const queue = this.#ring.next(mayServe);
      if (queue === null) break;
      // The event that unblocks the queue puts it back into the ring.
      if (queue.isBlocked(now) || !this.#unanswered.admit(queue, now)) this.#ring.place(queue, null);
      else turns.push(this.#start(queue, inUse, now));
    }
    return turns;
  }

  /** Whether a queue of this client and kind may start an attempt now. */
  #hasRoom(client: string, kind: number, inUse: SlotsInUse, now: number): boolean {
    const { slots } = this.#options;
    if (kind >= RETRIES_ONLY && !this.#hasRetrySlots) return false;
    if (this.#unrecorded.roomFor(client) <= 0) return false;
    const own = inUse.byClient.get(client) ?? NOTHING_HELD;
    if (own.all >= SHARE_OF_FREE * this.free) return false;
    const endpointClass = CLASSES[kind % RETRIES_ONLY];
    if (endpointClass === 'healthy') return true;
    const crowd = this.#crowds.get(client);
    if (crowd && now - crowd.at < CROWDED_MS && own.unsure >= crowd.unsureMax) return false;
    // A client may try one of its endpoints even if endpoints of other clients hang.
    if (own.unsure === 0 && inUse.unsure < Math.ceil(slots * FIRSTS_SHARE)) return true;
    if (endpointClass === 'slow' && inUse.slow >= Math.ceil(slots * SLOW_SHARE)) return false;
    return inUse.unsure < Math.ceil(slots * UNSURE_SHARE);
  }

  get #hasRetrySlots(): boolean {
    return this.#retries < Math.floor(this.#options.slots * RETRY_SHARE);
  }

  #start(queue: EndpointQueue<T>, inUse: SlotsInUse, now: number): Turn<T> {
    hold(inUse, queue.client, queue.classAt(now), 1);
    const { entry, isRetry } = queue.next(this.#hasRetrySlots);
    this.#memory.count(queue.client, -1);
    const turn: Turn<T> = { queue, entry, isRetry, started: queue.start(now) };
    this.#open.add(turn);
    this.#active.add(queue);
    if (isRetry) this.#retries += 1;
    this.#place(queue);
    return turn;
  }

  /** Counts slots by the current class of their endpoints; an endpoint that begins to hang is slow at once. */
  #countSlotsInUse(now: number): SlotsInUse {
    const inUse: SlotsInUse = { slow: 0, unsure: 0, byClient: new Map() };
    for (const queue of this.#active) hold(inUse, queue.client, queue.classAt(now), queue.inFlight);
    return inUse;
  }

  /** Updates both rings. The queue's kind depends on its waiting entries and its last answers. */
  #place(queue: EndpointQueue<T>): void {
    this.#fetchable.place(queue, LANES.some((lane) => queue.nextPage(lane) !== null) ? FETCHABLE : null);
    if (queue.isPaused || !queue.hasWork(true)) return this.#ring.place(queue, null);
    this.#ring.place(queue, CLASSES.indexOf(queue.endpointClass) + (queue.hasWork(false) ? 0 : RETRIES_ONLY));
  }

  /** Ends a turn in which no attempt was made. */
  withdraw(turn: Turn<T>): void {
    turn.queue.withdraw(turn.started);
    this.#unanswered.withdraw(turn.queue, turn.started.at);
    this.#noteEnd(turn);
  }

  /**
   * Limits the slots of a client whose DNS lookups are refused, because each further claim would be given back. If more
   * lookups are refused, halves the limit: other clients may be using the lookups.
   */
  noteCrowded({ queue: { client } }: Turn<T>, now: number): void {
    const crowd = this.#crowds.get(client);
    if (crowd && now - crowd.at < CROWD_SETTLES_MS) return;
    const isNew = !crowd || now - crowd.at >= CROWDED_MS;
    this.#crowds.set(client, { at: now, unsureMax: isNew ? CROWDED_UNSURE_MAX : Math.max(1, crowd.unsureMax >> 1) });
  }

  /** Call this when the endpoint has answered or will not answer, and `recorded` when the outcome is recorded. */
  answered(turn: Turn<T>, url: string, outcome: AttemptOutcome): void {
    this.#unrecorded.count(turn.queue.client, 1);
    if (outcome.error === null) this.#unanswered.leave(turn.queue);
    turn.queue.answered(turn.started, url, outcome);
    if (outcome.error === null) this.#unanswered.noteAnswered(turn.queue);
    this.#noteEnd(turn);
  }

  recorded({ queue: { client } }: Turn<T>): void {
    this.#unrecorded.count(client, -1);
  }

  #noteEnd(turn: Turn<T>): void {
    const { queue, isRetry } = turn;
    if (this.#open.delete(turn) && isRetry) this.#retries -= 1;
    if (queue.inFlight === 0) this.#active.delete(queue);
    this.#place(queue);
  }

  /** Above `QUEUES_MAX` endpoints, removes those without open work. If they return, they count as unknown. */
  forgetIdle(): void {
    if (this.#queues.size <= QUEUES_MAX) return;
    for (const queue of this.#queues.values()) {
      if (!queue.isIdle) continue;
      this.#queues.delete(queue.key);
      this.#unanswered.leave(queue);
      this.#ring.place(queue, null);
    }
  }
}
