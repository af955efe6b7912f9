/**
 * Applies a batch of messages to their properties, one message after the other. Computes the new states, and the
 * searches that each property satisfies before and after each change. One transaction has limits for the bytes of large
 * properties and for pairs with searches, so some messages are deferred to the next batch. If the messages of a very
 * large property arrive faster than they can be recorded, the surplus is rejected, except expiries.
 */

import { yieldToOthers } from '../actor/waiting.ts';
import {
  applyMessage,
  type Change,
  type ChangeOutcome,
  type MessageOrigin,
  recrawlUnread,
  type StoredProperty,
} from '../domain/change.ts';
import type { ResolvePlace } from '../domain/city.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { IntakeMessage } from '../domain/intake-message.ts';
import type { Medians } from '../domain/market-prices.ts';
import { areSameDistances, type NearestPoints, NO_COMBINATIONS } from '../domain/point-distances.ts';
import { type Crawls, isLive } from '../domain/property.ts';
import { type Compared, type PropertyReading, propertyFacts, readingOf } from '../domain/property-document.ts';
import type { PropertyFacts } from '../domain/property-facts.ts';
import { excessOf, excessOfAnother, type PropertyBounds, sizeOf, stateBytes } from '../domain/stored-property.ts';
import type { LockedProperty } from '../store/properties.ts';
import type { EvaluatedChange } from './evaluated-change.ts';
import type { Matcher } from './matcher.ts';

export interface RecordBounds extends PropertyBounds {
  /** Maximum bytes of the states that a transaction reads after the lock, and of large states that satisfy searches. */
  readonly batchBytesMax: number;
  /** Maximum number of messages of one very large property that a batch may defer. */
  readonly waitingMax: number;
}

export interface IntakeEntry {
  readonly message: IntakeMessage;
  readonly origin: MessageOrigin;
  /** When the stream stored the message. */
  readonly storedAtMs?: number | undefined;
  /** Size of the received message in bytes. */
  readonly bytes: number;
  /** The trace context of the message; null if there is none. */
  readonly traceparent: string | null;
  /** True if the message must already be recorded or rejected, unless the database was restored. */
  readonly wasAcknowledged?: boolean;
}

export interface EvaluatedBatch {
  /** The last state of every property that a message affects, if its state was read. */
  readonly latest: ReadonlyMap<Uuid, StoredProperty>;
  /** The last crawls of properties that were crawled again and whose state was not read. */
  readonly unread: ReadonlyMap<Uuid, Crawls>;
  /** Properties whose adverts or their order by crawl changed. Other affected properties were only crawled again. */
  readonly readings: ReadonlyMap<Uuid, PropertyReading>;
  readonly changes: readonly EvaluatedChange[];
  readonly outcomes: Record<ChangeOutcome, number>;
  /** Reasons of rejections, by the position of the message. */
  readonly rejected: ReadonlyMap<number, string>;
  /** Positions of messages that are deferred to the next batch. */
  readonly deferred: readonly number[];
  /** Positions of messages that need a state that was not read, and of later messages of their properties. */
  readonly stateless: readonly number[];
  /** Sequences of messages with `wasAcknowledged` that nevertheless change a property or its crawls. */
  readonly news: readonly number[];
}

export interface EvaluationDependencies {
  readonly matcher: Pick<Matcher, 'match' | 'notifying'>;
  /** The medians as they are stored now. */
  readonly medians: () => Medians;
  /** The points of the combinations that searches name; none by default. */
  readonly nearest?: () => NearestPoints;
  readonly resolvePlace: ResolvePlace;
  readonly bounds: RecordBounds;
}

/** Number of messages to evaluate before timers and sockets are served. */
const CHANGES_PER_SLICE = 16;
/** A larger property that satisfies searches counts towards `batchBytesMax`. */
const LIGHT_BYTES = 64 * 1_024;
/** The size above which a batch defers at most `waitingMax` messages of a property. */
const VERY_LARGE_BYTES = 1_024 * 1_024;
/** The most by which a message may grow in a state: numbers may become longer, and absent members become null. */
const GROWTH_FACTOR = 3;
const GROWTH_BYTES = 8 * 1_024;
/** Approximate maxima per transaction: pairs of a change and a search, notified pairs. One change may exceed them. */
const PAIRS_MAX = 50_000;
const NOTIFIED_PAIRS_MAX = 2_000;

/** The properties whose state is needed but was not read with the lock, in the order of their messages. */
export function unreadStates(
  locked: ReadonlyMap<Uuid, LockedProperty>,
  entries: readonly IntakeEntry[],
  bounds: PropertyBounds,
): ReadonlySet<Uuid> {
  const needed = new Set<Uuid>();
  const latest = new Map<Uuid, Crawls>();
  for (const entry of entries) {
    const uuid = entry.message.propertyUuid;
    const property = locked.get(uuid);
    if (property === undefined || property.stored !== null || needed.has(uuid)) continue;
    if (excessUnread(property, entry, bounds) !== null) continue;
    const recrawl = recrawlUnread(latest.get(uuid) ?? property.crawls, entry.message, entry.origin);
    if (recrawl === null) needed.add(uuid);
    else latest.set(uuid, recrawl.crawls);
  }
  return needed;
}

/** Why the message must be rejected, if the size of the property shows this; null if the state may be needed. */
function excessUnread(
  { crawls, bytes }: LockedProperty,
  { message, origin }: IntakeEntry,
  bounds: PropertyBounds,
): string | null {
  if (message.kind === 'expire' || message.advertUuid in crawls) return null;
  const [advert] = applyMessage(null, message, origin).stored?.state.adverts ?? [];
  if (advert === undefined) return null;
  return excessOfAnother({ adverts: Object.keys(crawls).length, bytes }, advert, bounds);
}

/**
 * `known` contains the stored properties. If the state of a property was not read, its crawls and size decide most
 * messages. The first message that needs the state, and all later messages of the property, wait for another batch.
 */
export async function evaluateBatch(
  known: ReadonlyMap<Uuid, LockedProperty>,
  entries: readonly IntakeEntry[],
  dependencies: EvaluationDependencies,
): Promise<EvaluatedBatch> {
  const evaluation = new Evaluation(known, dependencies);
  for (const [position, entry] of entries.entries()) {
    if (position % CHANGES_PER_SLICE === CHANGES_PER_SLICE - 1) await yieldToOthers();
    if (evaluation.apply(position, entry) > LIGHT_BYTES) await yieldToOthers();
  }
  return evaluation;
}

class Evaluation implements EvaluatedBatch {
  readonly latest = new Map<Uuid, StoredProperty>();
  readonly unread = new Map<Uuid, Crawls>();
  readonly readings = new Map<Uuid, PropertyReading>();
  readonly changes: EvaluatedChange[] = [];
  readonly outcomes = { created: 0, changed: 0, recrawled: 0, stale: 0, unknown: 0 };
  readonly rejected = new Map<number, string>();
  readonly deferred: number[] = [];
  readonly stateless: number[] = [];
  readonly news: number[] = [];
  readonly #known: ReadonlyMap<Uuid, LockedProperty>;
  readonly #dependencies: EvaluationDependencies;
  /** Upper limits for the bytes of the latest states. */
  readonly #bytes = new Map<Uuid, number>();
  /** Number of deferred messages, by property. Later messages of the same property must wait too. */
  readonly #deferredOf = new Map<Uuid, number>();
  readonly #unreadable = new Set<Uuid>();
  #heldBytes = 0;
  #pairs = 0;
  #notifiedPairs = 0;

  constructor(known: ReadonlyMap<Uuid, LockedProperty>, dependencies: EvaluationDependencies) {
    this.#known = known;
    this.#dependencies = dependencies;
  }

  /** Returns the approximate size of the state that was evaluated, in bytes; 0 if there was none. */
  apply(position: number, entry: IntakeEntry): number {
    const uuid = entry.message.propertyUuid;
    const locked = this.#known.get(uuid);
    const isWaiting = this.#deferredOf.has(uuid) || this.#isFull;
    if (isWaiting) {
      this.#defer(position, entry);
      return 0;
    }
    if (locked?.stored === null) {
      if (!this.#decideUnread(position, entry, locked)) {
        this.#unreadable.add(uuid);
        this.#defer(position, entry);
      }
      return 0;
    }
    return this.#evaluate(position, entry, this.latest.get(uuid) ?? locked?.stored ?? null);
  }

  /** Returns false if the message needs the state. */
  #decideUnread(position: number, entry: IntakeEntry, locked: LockedProperty): boolean {
    const excess = excessUnread(locked, entry, this.#dependencies.bounds);
    if (excess !== null) {
      this.rejected.set(position, excess);
      return true;
    }
    const crawls = this.unread.get(entry.message.propertyUuid) ?? locked.crawls;
    const recrawl = recrawlUnread(crawls, entry.message, entry.origin);
    if (recrawl === null) return false;
    if (recrawl.outcome === 'recrawled') this.unread.set(entry.message.propertyUuid, recrawl.crawls);
    this.#count(entry, recrawl.outcome);
    return true;
  }

  #count({ origin, wasAcknowledged }: IntakeEntry, outcome: ChangeOutcome): void {
    this.outcomes[outcome] += 1;
    const isNews = outcome !== 'stale' && outcome !== 'unknown';
    if (isNews && wasAcknowledged === true) this.news.push(origin.sequence);
  }

  #evaluate(position: number, entry: IntakeEntry, stored: StoredProperty | null): number {
    const { message } = entry;
    const { bounds } = this.#dependencies;
    const uuid = message.propertyUuid;
    const change = applyMessage(stored, message, entry.origin);
    const { outcome } = change;
    if (change.stored === null || outcome === 'stale' || outcome === 'unknown') {
      this.#count(entry, outcome);
      return 0;
    }
    const bytes = this.#bytesAfter(entry, change.stored);
    const isBound = message.kind === 'upsert' && outcome !== 'recrawled';
    const isExceeding = isBound && this.#mayExceed(change.stored, bytes);
    const excess = isExceeding ? excessOf(stored && sizeOf(stored.state), sizeOf(change.stored.state), bounds) : null;
    if (excess !== null) {
      this.rejected.set(position, excess);
      return bytes;
    }
    const recorded = change.mayAffectMatches ? this.#evaluateMatches(entry, stored, change, bytes) : change.stored;
    if (recorded === null) {
      this.#defer(position, entry);
      return bytes;
    }
    this.#count(entry, outcome);
    this.latest.set(uuid, recorded);
    this.#bytes.set(uuid, bytes);
    return bytes;
  }

  /** Returns the property to record; null if the large states would exceed `batchBytesMax`. */
  #evaluateMatches(
    entry: IntakeEntry,
    stored: StoredProperty | null,
    change: Change,
    bytes: number,
  ): StoredProperty | null {
    const uuid = entry.message.propertyUuid;
    const { nearest = () => NO_COMBINATIONS } = this.#dependencies;
    // Both sides of a change are compared with the same medians and, for distances not stored, the same points.
    const compared = { ...this.#dependencies.medians(), nearest: nearest() };
    const { crawls } = change.stored as StoredProperty;
    const after = measured(this.#read(change.stored as StoredProperty), compared.nearest);
    const before = this.readings.get(uuid) ?? (stored === null ? null : this.#read(stored));
    const facts = { before: before && factsOf(before, compared), after: factsOf(after, compared) };
    const satisfied = { before: this.#match(facts.before), after: this.#match(facts.after) };
    const pairs = satisfied.before.length + satisfied.after.length;
    const weight = bytes <= LIGHT_BYTES || pairs === 0 ? 0 : bytes;
    if (weight > 0 && this.#heldBytes > 0 && this.#heldBytes + weight > this.#dependencies.bounds.batchBytesMax) {
      return null;
    }
    this.#heldBytes += weight;
    this.#pairs += pairs;
    this.#notifiedPairs += this.#countNotified(satisfied.after, satisfied.before);
    this.readings.set(uuid, after);
    const recorded = { state: after.state, crawls };
    this.changes.push({
      propertyUuid: uuid,
      stored: recorded,
      former: stored,
      events: change.events,
      ...satisfied,
      facts,
      traceparent: entry.traceparent,
    });
    return recorded;
  }

  get #isFull(): boolean {
    return this.#pairs > PAIRS_MAX || this.#notifiedPairs >= NOTIFIED_PAIRS_MAX;
  }

  /** Estimates by the larger count, because most searches that a change affects match both before and after it. */
  #countNotified(...lists: readonly (readonly SearchNumber[])[]): number {
    const { notifying } = this.#dependencies.matcher;
    return Math.max(...lists.map((numbers) => numbers.filter((number) => notifying.has(number)).length));
  }

  #read({ state, crawls }: StoredProperty): PropertyReading {
    return readingOf(state, crawls, this.#dependencies.resolvePlace);
  }

  #match(facts: PropertyFacts | null): readonly SearchNumber[] {
    return facts === null ? [] : this.#dependencies.matcher.match(facts);
  }

  /** Uses a cheap upper limit if this is enough to classify the property as small. */
  #bytesAfter({ message, bytes }: IntakeEntry, after: StoredProperty): number {
    const uuid = message.propertyUuid;
    const before = this.#bytes.get(uuid) ?? this.#known.get(uuid)?.bytes ?? 0;
    const bytesMax = before + GROWTH_FACTOR * bytes + GROWTH_BYTES;
    return bytesMax <= LIGHT_BYTES ? bytesMax : stateBytes(after.state);
  }

  #mayExceed({ state }: StoredProperty, bytes: number): boolean {
    const { advertsMax, bytesMax } = this.#dependencies.bounds;
    return state.adverts.length > advertsMax || bytes > bytesMax;
  }

  /** Never rejects an expiry, because no other message would expire the advert. */
  #defer(position: number, { message }: IntakeEntry): void {
    const uuid = message.propertyUuid;
    const { waitingMax } = this.#dependencies.bounds;
    const waiting = this.#deferredOf.get(uuid) ?? 0;
    const bytes = this.#bytes.get(uuid) ?? this.#known.get(uuid)?.bytes ?? 0;
    if (message.kind === 'upsert' && bytes > VERY_LARGE_BYTES && waiting >= waitingMax) {
      const reason = `the property has ${bytes} bytes, and more than ${waitingMax} of its messages wait`;
      this.rejected.set(position, `${reason}: they arrive faster than they can be recorded`);
      return;
    }
    this.#deferredOf.set(uuid, waiting + 1);
    if (this.#unreadable.has(uuid)) this.stateless.push(position);
    else this.deferred.push(position);
  }
}

function factsOf(reading: PropertyReading, compared: Compared): PropertyFacts | null {
  return reading.state.adverts.some(isLive) ? propertyFacts(reading, compared) : null;
}

/** Returns the reading with the current distances in its state. */
function measured(reading: PropertyReading, nearest: NearestPoints): PropertyReading {
  const { state, values } = reading;
  const distances = values.locations && nearest.complete(null, values.locations.lat, values.locations.lon);
  if (areSameDistances(distances, state.distances ?? null)) return reading;
  const { distances: _, ...others } = state;
  return { ...reading, state: { ...others, ...(distances && { distances }) } };
}
