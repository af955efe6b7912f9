/**
 * Applies a batch of messages to their properties, one message after the other: computes the new states, and the
 * searches that each property satisfies before and after its change. Small properties are evaluated all at once. The
 * bytes of large properties in one transaction are bounded, so some of their messages are deferred to the next batch;
 * if the messages of one property come faster than they can be recorded, the surplus is rejected.
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
import { type Crawls, isLive } from '../domain/property.ts';
import { type PropertyReading, propertyFacts, readingOf } from '../domain/property-document.ts';
import type { PropertyFacts } from '../domain/property-facts.ts';
import { excessOf, excessOfAnother, type PropertyBounds, sizeOf, stateBytes } from '../domain/stored-property.ts';
import type { LockedProperty } from '../store/properties.ts';
import type { EvaluatedChange } from './evaluated-change.ts';
import type { Matcher } from './matcher.ts';

export interface RecordBounds extends PropertyBounds {
  /** Bounds the large properties that one transaction reads and reports. */
  readonly batchBytesMax: number;
  /** Messages of one very large property that may wait. */
  readonly waitingMax: number;
}

export interface IntakeEntry {
  readonly message: IntakeMessage;
  readonly origin: MessageOrigin;
  /** When the stream stored it. */
  readonly storedAtMs?: number | undefined;
  /** Bytes of the message as received. */
  readonly bytes: number;
  /** The trace context, as its sender wrote it. */
  readonly traceparent: string | null;
  /** True if it was acknowledged before: it was then recorded or refused, unless the database was restored. */
  readonly wasAcknowledged?: boolean;
}

export interface EvaluatedBatch {
  /** The last state of every property that a message touched, unless it was not read. */
  readonly latest: ReadonlyMap<Uuid, StoredProperty>;
  /** The last crawls of properties that were crawled again and whose state was not read. */
  readonly unread: ReadonlyMap<Uuid, Crawls>;
  /** Properties whose document may have changed; the other affected ones were only crawled again. */
  readonly readings: ReadonlyMap<Uuid, PropertyReading>;
  readonly changes: readonly EvaluatedChange[];
  readonly outcomes: Record<ChangeOutcome, number>;
  /** Reasons of rejections, by the position of the message. */
  readonly rejected: ReadonlyMap<number, string>;
  /** Positions of messages that are deferred to the next batch. */
  readonly deferred: readonly number[];
  /** Positions of messages whose property has a state that they need and that was not read. */
  readonly stateless: readonly number[];
  /** Sequences of messages that were acknowledged before and change the state. */
  readonly news: readonly number[];
}

export interface EvaluationDependencies {
  readonly matcher: Pick<Matcher, 'match' | 'notifying'>;
  /** The medians as they are stored now. */
  readonly medians: () => Medians;
  readonly resolvePlace: ResolvePlace;
  readonly bounds: RecordBounds;
}

/** Changes evaluated before timers and sockets are served. */
const CHANGES_PER_SLICE = 16;
/** A larger property counts towards the bytes that a transaction may hold. */
const LIGHT_BYTES = 64 * 1_024;
/** A property above this may be the only one in its transaction. */
const VERY_LARGE_BYTES = 1_024 * 1_024;
/** The most by which a message's bytes grow in a state: numbers may grow, absent members become null. */
const GROWTH_FACTOR = 3;
const GROWTH_BYTES = 8 * 1_024;
/** Approximate maxima per transaction: (change, search) pairs, then notified pairs. One change may exceed them. */
const PAIRS_MAX = 50_000;
const NOTIFIED_PAIRS_MAX = 2_000;

/** The properties whose state was not read with the lock but is needed, in the order of their messages. */
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

/** Why the message must be rejected, if the size of the property shows it; null if the state may be needed. */
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
 * `known`: the known properties. If the state of one is null, a message that its crawls and its size do not decide waits
 * for another batch, with all later ones of the property.
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
  /** Upper bounds for the bytes of the latest states. */
  readonly #bytes = new Map<Uuid, number>();
  /** Number of deferred messages, by property: later messages of the same property must wait as well. */
  readonly #deferredOf = new Map<Uuid, number>();
  readonly #unreadable = new Set<Uuid>();
  #heldBytes = 0;
  #pairs = 0;
  #notifiedPairs = 0;

  constructor(known: ReadonlyMap<Uuid, LockedProperty>, dependencies: EvaluationDependencies) {
    this.#known = known;
    this.#dependencies = dependencies;
  }

  /** Returns the approximate number of bytes read. */
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

  /** False when the message needs the state. */
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
    if (change.mayAffectMatches && !this.#evaluateMatches(entry, stored, change, bytes)) {
      this.#defer(position, entry);
      return bytes;
    }
    this.#count(entry, outcome);
    this.latest.set(uuid, change.stored);
    this.#bytes.set(uuid, bytes);
    return bytes;
  }

  /** False when the transaction has no room for all notifications. */
  #evaluateMatches(entry: IntakeEntry, stored: StoredProperty | null, change: Change, bytes: number): boolean {
    const uuid = entry.message.propertyUuid;
    const after = this.#read(change.stored as StoredProperty);
    const before = this.readings.get(uuid) ?? (stored === null ? null : this.#read(stored));
    // The same medians evaluate both sides of a change.
    const medians = this.#dependencies.medians();
    const facts = { before: before && factsOf(before, medians), after: factsOf(after, medians) };
    const satisfied = { before: this.#match(facts.before), after: this.#match(facts.after) };
    const pairs = satisfied.before.length + satisfied.after.length;
    const weight = bytes <= LIGHT_BYTES || pairs === 0 ? 0 : bytes;
    if (weight > 0 && this.#heldBytes > 0 && this.#heldBytes + weight > this.#dependencies.bounds.batchBytesMax) {
      return false;
    }
    this.#heldBytes += weight;
    this.#pairs += pairs;
    this.#notifiedPairs += this.#countNotified(satisfied.after, satisfied.before);
    this.readings.set(uuid, after);
    this.changes.push({
      propertyUuid: uuid,
      stored: change.stored as StoredProperty,
      former: stored,
      events: change.events,
      ...satisfied,
      facts,
      traceparent: entry.traceparent,
    });
    return true;
  }

  get #isFull(): boolean {
    return this.#pairs > PAIRS_MAX || this.#notifiedPairs >= NOTIFIED_PAIRS_MAX;
  }

  /** Estimates by the larger count: most searches that a change affects match both before and after it. */
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

  /** A cheap upper bound, used while it suffices to classify the property as small. */
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

  /** An expiry is never rejected: no other message would expire the advert. */
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

/** Null without a live advert. */
function factsOf(reading: PropertyReading, medians: Medians): PropertyFacts | null {
  return reading.state.adverts.some(isLive) ? propertyFacts(reading, medians) : null;
}
