/**
 * Records a batch of intake messages in one transaction: lock the properties, compare, match, and write the new state
 * with its events, matches and deliveries. Nothing is signalled before the commit. A batch that fails leaves no trace,
 * in memory included, and can simply be recorded again. What one `Promise.all` names is one round trip: PostgreSQL runs
 * it in that order. What the transaction ends with is sent together with the commit, once all of it is built.
 */

import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { applyMessage, type ChangeOutcome, type HeldProperty } from '../domain/change.ts';
import type { ResolvePlace } from '../domain/city.ts';
import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { IntakeMessage } from '../domain/intake-message.ts';
import { comparablePrice, marketOf, type PricedProperty } from '../domain/price-coherence.ts';
import { isLive } from '../domain/property.ts';
import { type PropertyReading, propertyFacts, readingOf } from '../domain/property-document.ts';
import type { MarketMedians } from '../matching/market-medians.ts';
import { type Database, type Ending, pipelinedTransaction, type Queryable, type Statement } from '../store/database.ts';
import { type DeadLetter, insertDeadLetters } from '../store/dead-letters.ts';
import { insertDeliveries } from '../store/deliveries.ts';
import { insertEvents, type PropertyEvent } from '../store/events.ts';
import { holdTerm, type Term } from '../store/intake-leader.ts';
import { insertMatches, type Match, readMatches, updateMatches } from '../store/matches.ts';
import { insertOutboxEntry, type OutboxEntry, outboxEntryOf } from '../store/outbox.ts';
import {
  insertProperties,
  lockProperties,
  type PropertyWrite,
  updateCrawls,
  updateProperties,
} from '../store/properties.ts';
import { readRoutes } from '../store/search-routes.ts';
import { insertSnapshots, type Snapshot } from '../store/snapshots.ts';
import { type Consequences, consequencesOf, type JudgedChange, touchedBy } from './consequences.ts';
import type { Matcher } from './matcher.ts';

export interface RecorderDependencies {
  readonly database: Database;
  readonly matcher: Pick<Matcher, 'match' | 'medians'>;
  readonly resolvePlace: ResolvePlace;
  readonly clock: () => Date;
}

export interface Recorded {
  /** Null when the batch led to no delivery. */
  readonly outbox: OutboxEntry | null;
  readonly deliveries: readonly { readonly id: Uuid; readonly endpointKey: string }[];
  readonly outcomes: Readonly<Record<ChangeOutcome, number>>;
  readonly events: readonly PropertyEvent[];
  readonly snapshots: readonly Snapshot[];
  /** Matches that began. */
  readonly began: readonly Match[];
}

/** Changes judged before timers and sockets get their turn. */
const CHANGES_PER_TURN = 16;

/**
 * `traceparents[i]`: the trace that `messages[i]` belongs to, as its sender wrote it. Rejects with `TermOverError` when
 * another instance leads.
 */
export type RecordBatch = (
  term: Term,
  messages: readonly IntakeMessage[],
  poison: readonly DeadLetter[],
  traceparents?: readonly (string | null)[],
) => Promise<Recorded>;

export function createRecorder(dependencies: RecorderDependencies): RecordBatch {
  return async (term, messages, poison, traceparents = []) => {
    const medians = undoable(dependencies.matcher.medians);
    try {
      const { result, answers } = await pipelinedTransaction(dependencies.database, async (client) => {
        const [, known] = await Promise.all([
          holdTerm(client, term),
          lockProperties(client, [...new Set(messages.map((message) => message.propertyUuid))]),
        ]);
        const recorded = await recordMessages(client, known, messages, traceparents, medians, dependencies);
        return { ...recorded, last: [...recorded.last, ...insertDeadLetters(poison)] };
      });
      const { deliveries } = result;
      const ids = deliveries.map(({ id }) => id);
      const outbox = ids.length === 0 ? null : outboxEntryOf(answers[0], ids);
      return { ...result, outbox };
    } catch (error) {
      medians.undo();
      throw error;
    }
  };
}

/** The outbox entry is the first of the last statements, when there are deliveries. */
async function recordMessages(
  client: Queryable,
  known: ReadonlyMap<Uuid, HeldProperty>,
  messages: readonly IntakeMessage[],
  traceparents: readonly (string | null)[],
  medians: MarketLedger,
  dependencies: RecorderDependencies,
): Promise<Ending<Omit<Recorded, 'outbox'>>> {
  const batch = await judgeBatch(known, messages, traceparents, medians, dependencies);
  const touched = touchedBy(batch.changes);
  const [routes, matches] = await Promise.all([
    readRoutes(client, [...touched.searchNumbers]),
    // A new property is in no pair: pairs are written with it, and go with it.
    readMatches(
      client,
      [...touched.propertyUuids].filter((uuid) => known.has(uuid)),
    ),
  ]);
  const now = dependencies.clock();
  const consequences = consequencesOf(batch.changes, routes, matches, dependencies.resolvePlace, now);
  const events = batch.changes.flatMap(({ propertyUuid, events }) => events.map((event) => ({ propertyUuid, event })));
  return {
    last: [...writeConsequences(consequences, now), ...writeProperties(known, batch), ...insertEvents(events)],
    result: {
      deliveries: consequences.deliveries,
      outcomes: batch.outcomes,
      events,
      snapshots: consequences.snapshots,
      began: consequences.began,
    },
  };
}

interface JudgedBatch {
  /** The last state of every property that a message touched. */
  readonly latest: ReadonlyMap<Uuid, HeldProperty>;
  /** That of the properties that may read differently; the other touched ones were only seen again. */
  readonly readings: ReadonlyMap<Uuid, PropertyReading>;
  readonly changes: readonly JudgedChange[];
  readonly outcomes: Record<ChangeOutcome, number>;
}

async function judgeBatch(
  known: ReadonlyMap<Uuid, HeldProperty>,
  messages: readonly IntakeMessage[],
  traceparents: readonly (string | null)[],
  medians: MarketLedger,
  dependencies: RecorderDependencies,
): Promise<JudgedBatch> {
  const latest = new Map<Uuid, HeldProperty>();
  const readings = new Map<Uuid, PropertyReading>();
  const read = ({ state, crawls }: HeldProperty) => readingOf(state, crawls, dependencies.resolvePlace);
  const changes: JudgedChange[] = [];
  const outcomes = { created: 0, changed: 0, recrawled: 0, stale: 0, unknown: 0 };
  for (const [position, message] of messages.entries()) {
    if (position % CHANGES_PER_TURN === CHANGES_PER_TURN - 1) await yieldToOthers();
    const uuid = message.propertyUuid;
    const held = latest.get(uuid) ?? known.get(uuid) ?? null;
    const change = applyMessage(held, message);
    outcomes[change.outcome] += 1;
    if (change.held === null || change.outcome === 'stale' || change.outcome === 'unknown') continue;
    latest.set(uuid, change.held);
    if (!change.mayAffectMatches) continue;
    const before = readings.get(uuid) ?? (held === null ? null : read(held));
    const after = read(change.held);
    readings.set(uuid, after);
    changes.push({
      propertyUuid: uuid,
      held: change.held,
      events: change.events,
      ...judge(before, after, medians, dependencies.matcher),
      traceparent: traceparents[position] ?? null,
    });
  }
  return { latest, readings, changes, outcomes };
}

/** The medians that judge a change are those of the properties known before it. */
function judge(
  before: PropertyReading | null,
  after: PropertyReading,
  medians: MarketLedger,
  matcher: RecorderDependencies['matcher'],
): Pick<JudgedChange, 'before' | 'after'> {
  const matchesOf = (reading: PropertyReading): readonly SearchNumber[] =>
    reading.state.adverts.some(isLive) ? matcher.match(propertyFacts(reading, medians.median)) : [];
  const judged = { before: before === null ? [] : matchesOf(before), after: matchesOf(after) };
  medians.replace(before?.priced ?? null, after.priced);
  return judged;
}

function writeProperties(
  known: ReadonlyMap<Uuid, HeldProperty>,
  { latest, readings }: JudgedBatch,
): readonly Statement[] {
  const writes = [...readings].map(([uuid, { priced }]) => {
    const held = latest.get(uuid) as HeldProperty;
    return { held, priced, expiredAt: expiredAtOf(held) };
  });
  const isKnown = ({ held }: PropertyWrite): boolean => known.has(held.state.uuid);
  const seenAgain = [...latest.values()].filter(({ state }) => !readings.has(state.uuid));
  return [
    ...insertProperties(writes.filter((write) => !isKnown(write))),
    ...updateProperties(writes.filter(isKnown)),
    ...updateCrawls(seenAgain),
  ];
}

function expiredAtOf({ state }: HeldProperty): string | null {
  if (state.adverts.some(isLive)) return null;
  return (
    state.adverts
      .flatMap((advert) => advert.expiredAt ?? [])
      .sort()
      .at(-1) ?? null
  );
}

function writeConsequences(consequences: Consequences, now: Date): readonly Statement[] {
  const deliveryIds = consequences.deliveries.map(({ id }) => id);
  return [
    ...(deliveryIds.length === 0 ? [] : [insertOutboxEntry(deliveryIds)]),
    ...insertMatches(consequences.newMatches, now),
    ...updateMatches(consequences.changedMatches, now),
    ...insertSnapshots(consequences.snapshots),
    ...insertDeliveries(consequences.deliveries),
  ];
}

interface MarketLedger {
  median: MarketMedians['median'];
  replace(before: PricedProperty | null, after: PricedProperty): void;
  undo(): void;
}

/** Medians move with each change of a batch, so that the batch's size makes no difference; `undo` takes it all back. */
function undoable(medians: MarketMedians): MarketLedger {
  const undo: (() => void)[] = [];
  const move = (property: PricedProperty, isKnown: boolean): void => {
    const market = marketOf(property);
    const price = comparablePrice(property);
    if (market === null || price === null) return;
    if (isKnown) {
      medians.add(market, price);
      undo.push(() => void medians.remove(market, price));
    } else if (medians.remove(market, price)) {
      undo.push(() => medians.add(market, price));
    }
  };
  return {
    median: (market) => medians.median(market),
    replace(before, after) {
      if (before !== null) move(before, false);
      move(after, true);
    },
    undo() {
      for (const step of undo.reverse()) step();
    },
  };
}
