/**
 * Records a batch of intake messages in one transaction: locks the properties, compares, matches, and writes the new
 * states with their events, matches and deliveries. Nothing is announced before the commit. A failed batch changes
 * nothing and can be recorded again, unless the commit's outcome is unknown. The statements of one `Promise.all` take
 * one round trip, and PostgreSQL executes them in list order. The last statements are sent together with the commit.
 */

import type { ChangeOutcome, StoredProperty } from '../domain/change.ts';
import type { Uuid } from '../domain/ids.ts';
import { isLive } from '../domain/property.ts';
import {
  type Database,
  type LastStatements,
  pipelinedTransaction,
  type Queryable,
  type Statement,
} from '../store/database.ts';
import { type DeadLetter, insertDeadLetters } from '../store/dead-letters.ts';
import { insertDeliveries } from '../store/deliveries.ts';
import { insertEvents, type PropertyEvent } from '../store/events.ts';
import { insertFeedBatches, insertFeedItems } from '../store/feed-batches.ts';
import { holdTerm, type Term } from '../store/intake-leader.ts';
import { recordHighWaterMark } from '../store/intake-position.ts';
import { writeNotices } from '../store/match-notices.ts';
import { beginMatches, insertMatches, readMatches, updateMatches } from '../store/matches.ts';
import {
  insertProperties,
  type LockedProperty,
  lockProperties,
  type PropertyWrite,
  READ_AT_ONCE_BYTES,
  readLocked,
  updateCrawls,
  updateProperties,
} from '../store/properties.ts';
import { insertSummaries, updateSummaries } from '../store/property-summaries.ts';
import { insertPublishers } from '../store/publishers.ts';
import { readRoutes } from '../store/search-routes.ts';
import { insertSnapshots } from '../store/snapshots.ts';
import { type Alerts, deriveAlerts, type PairFeature, touchedBy } from './alerts.ts';
import type { RecordOptions, Rest } from './batch-pipeline.ts';
import {
  type EvaluatedBatch,
  type EvaluationDependencies,
  evaluateBatch,
  type IntakeEntry,
  type RecordBounds,
  unreadStates,
} from './evaluation.ts';
import { readNotifiedBefore } from './notified-values.ts';
import { createPublisherNames } from './publisher-names.ts';

export interface RecorderDependencies extends EvaluationDependencies {
  readonly database: Database;
  readonly clock: () => Date;
  readonly features?: readonly PairFeature[];
}

export interface Recorded extends Pick<Alerts, 'deliveries' | 'featurePairs' | 'snapshots' | 'began'> {
  /** Clients whose feeds have new entries. */
  readonly fedClients: ReadonlySet<Uuid>;
  readonly outcomes: Readonly<Record<ChangeOutcome, number>>;
  readonly events: readonly PropertyEvent[];
  /** Why entries were rejected and became dead letters, by position. */
  readonly rejected: ReadonlyMap<number, string>;
  /** Positions of the entries that are not recorded yet; never all entries, unless large states were left out. */
  readonly rest: Rest<number>;
}

/** A message, and its dead letter without the reason, which is known only if the message is rejected. */
export type RecordedEntry = IntakeEntry & { readonly letter: Omit<DeadLetter, 'reason' | 'failedKey'> };

/** Thrown if messages with `wasAcknowledged` change the database: it was restored, or had rejected these messages. */
export class RestoredError extends Error {
  readonly code = 'FORGOTTEN';
  readonly sequences: readonly number[];

  constructor(sequences: readonly number[]) {
    super('the database lacks a message that was acknowledged');
    this.sequences = sequences;
  }
}

/** Rejects with `TermOverError` if the term is over, with `RestoredError`, and with errors of PostgreSQL. */
export type Recorder = (
  term: Term,
  entries: readonly RecordedEntry[],
  deadLetters: readonly DeadLetter[],
  options?: RecordOptions<number>,
) => Promise<Recorded>;

export function createRecorder(dependencies: RecorderDependencies): Recorder {
  const publisherNames = createPublisherNames();
  return async (term, entries, deadLetters, { onEvaluated, leavesLarge = false } = {}) => {
    // Messages with large states are left out on purpose, so none of them is rejected because too many wait.
    const bounds = leavesLarge ? { ...dependencies.bounds, waitingMax: Number.POSITIVE_INFINITY } : dependencies.bounds;
    const messages = entries.map(({ message }) => message);
    const today = dependencies.clock().toISOString().slice(0, 10);
    const publishers = publisherNames.newOn(today, messages);
    const { result } = await pipelinedTransaction(dependencies.database, async (client) => {
      const [sequenceFloor, locked] = await Promise.all([holdTerm(client, term), lockProperties(client, messages)]);
      const bytesOf = (uuid: Uuid): number => locked.get(uuid)?.bytes ?? 0;
      const needed = [...unreadStates(locked, entries, bounds)].filter((uuid) => {
        return !leavesLarge || bytesOf(uuid) <= READ_AT_ONCE_BYTES;
      });
      const known = await withUnread(client, locked, needed, bounds);
      const { last: statements, result } = await recordEntries(client, known, entries, {
        ...dependencies,
        bounds,
        sequenceFloor,
        onEvaluated,
      });
      const rejected = [...result.rejected].map(([position, reason]) => {
        return { ...(entries[position] as RecordedEntry).letter, reason, failedKey: null };
      });
      const last = [
        ...statements,
        ...insertPublishers(publishers),
        ...insertDeadLetters([...deadLetters, ...rejected]),
      ];
      return { last, result };
    });
    publisherNames.noteRecorded(today, publishers);
    return result;
  };
}

/** Reads the states of `needed` in this order: as many as `bounds` allows, and at least one. */
async function withUnread(
  client: Queryable,
  locked: ReadonlyMap<Uuid, LockedProperty>,
  needed: readonly Uuid[],
  bounds: RecordBounds,
): Promise<ReadonlyMap<Uuid, LockedProperty>> {
  const chosen: Uuid[] = [];
  let bytes = 0;
  for (const uuid of needed) {
    bytes += locked.get(uuid)?.bytes ?? 0;
    if (chosen.length > 0 && bytes > bounds.batchBytesMax) break;
    chosen.push(uuid);
  }
  if (chosen.length === 0) return locked;
  const read = await readLocked(client, chosen);
  return new Map(
    [...locked].map(([uuid, property]) => [uuid, { ...property, stored: read.get(uuid) ?? property.stored }]),
  );
}

async function recordEntries(
  client: Queryable,
  known: ReadonlyMap<Uuid, LockedProperty>,
  entries: readonly RecordedEntry[],
  dependencies: RecorderDependencies & {
    readonly sequenceFloor: number;
    readonly onEvaluated: RecordOptions<number>['onEvaluated'];
  },
): Promise<LastStatements<Recorded>> {
  const { features = [] } = dependencies;
  const batch = await evaluateBatch(known, entries, dependencies);
  const { changes, outcomes, rejected, deferred, stateless } = batch;
  const rest = { deferred, stateless };
  if (batch.news.length > 0) throw new RestoredError(batch.news);
  dependencies.onEvaluated?.(rest);
  const { notifying } = dependencies.matcher;
  const touched = touchedBy(changes, (number) => notifying.has(number));
  const [routes, matches] = await Promise.all([
    readRoutes(client, {
      numbers: [...touched.searchNumbers],
      horizon: notifying.horizon,
      withMail: features.length > 0,
    }),
    // A new property has no pairs, because pairs are removed together with their property.
    readMatches(
      client,
      [...touched.propertyUuids].filter((uuid) => known.has(uuid)),
    ),
  ]);
  const notifiedBefore = await readNotifiedBefore(client, changes, routes, matches);
  const now = dependencies.clock();
  const { resolvePlace, sequenceFloor } = dependencies;
  const alerts = deriveAlerts(changes, routes, matches, resolvePlace, now, { sequenceFloor, features, notifiedBefore });
  const events = changes.flatMap(({ propertyUuid, events }) => events.map((event) => ({ propertyUuid, event })));
  const { deliveries, snapshots, began, featurePairs } = alerts;
  return {
    last: [
      ...writeAlerts(alerts, sequenceFloor),
      ...features.flatMap(({ record }, at) => record(featurePairs[at] ?? [], now)),
      ...writeProperties(known, batch),
      ...insertEvents(events),
      ...highWaterMarkOf(entries),
    ],
    result: {
      deliveries,
      fedClients: new Set(alerts.feedEntries.map(({ clientId }) => clientId)),
      featurePairs,
      outcomes,
      events,
      snapshots,
      began,
      rejected,
      rest,
    },
  };
}

/** Includes deferred messages, because the mark is an upper limit of the messages that may be recorded. */
function highWaterMarkOf(entries: readonly RecordedEntry[]): readonly Statement[] {
  const [first, ...rest] = entries;
  if (first === undefined) return [];
  const { origin, storedAtMs = 0 } = rest.reduce((a, b) => (a.origin.sequence > b.origin.sequence ? a : b), first);
  return [recordHighWaterMark(origin.stream, { sequence: origin.sequence, storedAtMs })];
}

function writeProperties(
  known: ReadonlyMap<Uuid, LockedProperty>,
  { latest, readings, unread }: EvaluatedBatch,
): readonly Statement[] {
  const writes = [...readings].map(([uuid, reading]) => {
    const stored = latest.get(uuid) as StoredProperty;
    return { stored, reading, crawls: stored.crawls, expiredAt: expiredAtOf(stored) };
  });
  const isKnown = ({ stored }: PropertyWrite): boolean => known.has(stored.state.uuid);
  const [present, fresh] = [writes.filter(isKnown), writes.filter((write) => !isKnown(write))];
  const crawls = new Map(unread);
  for (const [uuid, stored] of latest) {
    if (known.get(uuid)?.stored?.state === stored.state) crawls.set(uuid, stored.crawls);
  }
  return [
    ...insertProperties(fresh),
    ...updateProperties(present.filter(({ stored }) => !crawls.has(stored.state.uuid))),
    ...insertSummaries(fresh),
    ...updateSummaries(present),
    ...updateCrawls(crawls),
  ];
}

function expiredAtOf({ state }: StoredProperty): string | null {
  if (state.adverts.some(isLive)) return null;
  return (
    state.adverts
      .flatMap((advert) => advert.expiredAt ?? [])
      .sort()
      .at(-1) ?? null
  );
}

function writeAlerts(alerts: Alerts, sequenceFloor: number): readonly Statement[] {
  return [
    ...insertMatches(alerts.newMatches),
    ...updateMatches(alerts.changedMatches),
    ...beginMatches(alerts.changedMatches.filter(({ cause }) => cause !== null)),
    ...writeNotices(alerts.notices),
    ...insertSnapshots(alerts.snapshots),
    ...insertDeliveries(alerts.deliveries),
    ...insertFeedItems(alerts.feedItems),
    ...insertFeedBatches(alerts.feedEntries, sequenceFloor),
  ];
}
