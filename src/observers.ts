/** Turns the reports of the stages into metrics, log lines and activities. Each fact is reported once. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Activity } from './engine/domain/activity.ts';
import { createdAtOf } from './engine/domain/ids.ts';
import { nearestName } from './engine/domain/nearest-name.ts';
import type { Matcher } from './engine/intake/matcher.ts';
import type { DeadLetteredMessage, RecordedBatch } from './engine/intake/recorded-batch.ts';
import type { Recorded } from './engine/intake/recorder.ts';
import type { IntakeDependencies } from './engine/intake/recording.ts';
import type { ActivityFeed } from './engine/maintenance/activity.ts';
import type { Sweep } from './engine/maintenance/retention.ts';
import type { SettledAttempt } from './engine/store/attempts.ts';
import type { DeadEndpoint, FailureSeries } from './engine/store/endpoints.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

export type Observers = ReturnType<typeof createObservers>;

/** Maximum number of dead letters that are logged per batch. */
const DEAD_LETTERS_SHOWN = 10;

export function createObservers(metrics: Metrics, log: Log, feed: ActivityFeed) {
  return {
    onRecorded(recorded: Recorded, { understood, deadLettered }: RecordedBatch, seconds: number): void {
      for (const [outcome, count] of Object.entries(recorded.outcomes)) metrics.changes.inc({ outcome }, count);
      metrics.events.inc(recorded.events.length);
      metrics.matches.inc(recorded.began.length);
      metrics.deliveries.inc(recorded.deliveries.length);
      for (const { failedKey } of deadLettered)
        metrics.deadLetters.inc({ cause: failedKey === null ? 'rejected' : 'bug' });
      metrics.recordSeconds.observe(seconds);
      const nowMs = Date.now();
      for (const { storedAtMs } of understood) {
        metrics.intakeSeconds.observe(Math.max(0, nowMs - storedAtMs) / 1_000);
      }
      logDeadLetters(log, deadLettered);
      log.debug(summaryOf(recorded, deadLettered.length, seconds), 'recorded');
      feed.publish(() => activitiesOf(recorded, new Date(nowMs).toISOString()));
    },
    onAttempt(settled: SettledAttempt): void {
      countAttempt(metrics, settled);
      logAttempt(log, settled);
      feed.publish(() => [attemptActivity(settled)]);
    },
    onMissing(count: number): void {
      metrics.repairs.inc({ kind: 'missing' }, count);
      log.warn({ count }, 'NATS has no message for some due retries. These retries are made from the database.');
    },
    onAborted(count: number): void {
      metrics.repairs.inc({ kind: 'aborted' }, count);
      log.warn({ count }, 'Attempts of processes that ended early were recorded as aborted.');
    },
    onEndpointDead({ key, failingSince, failureCount }: DeadEndpoint): void {
      log.warn({ endpoint: key, failingSince, failures: failureCount }, 'A dead endpoint was paused.');
    },
    onFailureSeries({ key, since, error, endedAfter }: FailureSeries): void {
      const line = { endpoint: key, since, error };
      if (endedAfter === null) log.info(line, 'An endpoint fails.');
      else log.info({ ...line, failures: endedAfter }, 'An endpoint answers again.');
    },
    onSwept({ removed, durationMs }: Sweep): void {
      for (const [table, count] of Object.entries(removed)) metrics.removed.inc({ table }, count);
      if (Object.keys(removed).length > 0) log.info({ ...removed, durationMs }, 'Expired data was removed.');
    },
    crawlers: observeCrawlers(metrics, log),
    /** Wraps the matcher to time each match. */
    timed: (matcher: Matcher) => timedMatcher(matcher, metrics),
    observeRequests(server: Server): void {
      server.on('request', ({ method = '' }: IncomingMessage, response: ServerResponse) => {
        const startedAt = performance.now();
        response.once('close', () => {
          const known = METHODS.has(method) ? method : 'other';
          const status = response.headersSent ? `${Math.floor(response.statusCode / 100)}xx` : 'none';
          metrics.requests.inc({ method: known, status });
          metrics.requestSeconds.observe({ method: known }, (performance.now() - startedAt) / 1_000);
        });
      });
    },
  };
}

function timedMatcher(matcher: Matcher, metrics: Metrics): Pick<Matcher, 'match' | 'notifying'> {
  return {
    notifying: matcher.notifying,
    match(facts) {
      const startedAt = performance.now();
      const matched = matcher.match(facts);
      metrics.matchSeconds.observe((performance.now() - startedAt) / 1_000);
      return matched;
    },
  };
}

/** Logs only the first dead letters of a batch, because all of them are in the table. */
function logDeadLetters(log: Log, deadLettered: readonly DeadLetteredMessage[]): void {
  const shown = deadLettered.slice(0, DEAD_LETTERS_SHOWN);
  for (const { subject, sequence, reason } of shown)
    log.warn({ subject, sequence, reason }, 'A message became a dead letter.');
  if (deadLettered.length > shown.length)
    log.warn({ count: deadLettered.length - shown.length }, 'More messages became dead letters.');
}

/** Node.js accepts many more methods, which must not become label values. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

function summaryOf({ outcomes, events, began, deliveries }: Recorded, deadLettered: number, seconds: number) {
  const durationMs = Math.round(seconds * 1_000);
  return {
    ...outcomes,
    events: events.length,
    matches: began.length,
    deliveries: deliveries.length,
    deadLettered,
    durationMs,
  };
}

function countAttempt(metrics: Metrics, { id, outcome, after }: SettledAttempt): void {
  metrics.attempts.inc({ result: outcome.error ?? 'delivered' });
  metrics.attemptSeconds.observe(outcome.durationMs / 1_000);
  if (after.state === 'failed') metrics.exhausted.inc();
  if (after.state !== 'delivered') return;
  const endedAtMs = outcome.startedAt.getTime() + outcome.durationMs;
  metrics.alertSeconds.observe(Math.max(0, endedAtMs - createdAtOf(id).getTime()) / 1_000);
}

/** The response body is not logged, because the endpoint controls its content. */
function logAttempt(log: Log, { id, endpointKey, attemptCount, outcome, after, traceparent }: SettledAttempt): void {
  const { statusCode, error, reason } = outcome;
  const line = {
    delivery: id,
    endpoint: endpointKey,
    attempt: attemptCount,
    state: after.state,
    statusCode,
    error,
    reason,
    durationMs: Math.round(outcome.durationMs),
    traceId: traceparent?.slice(3, 35) ?? null,
  };
  log.debug(line, 'attempt');
}

function activitiesOf({ events, began }: Recorded, at: string): readonly Activity[] {
  return [
    ...events.map(({ propertyUuid, event }) => ({
      type: 'change' as const,
      at,
      propertyUuid,
      advertUuid: event.advertUuid,
      kind: event.kind,
      field: event.field?.fieldName ?? null,
      oldValue: event.field?.fieldOldValue ?? null,
      newValue: event.field?.fieldNewValue ?? null,
    })),
    ...began.map(({ id, searchNumber, propertyUuid }) => ({
      type: 'match' as const,
      at,
      matchId: id,
      searchNumber,
      propertyUuid,
    })),
  ];
}

function attemptActivity({ id, searchNumber, endpointKey, attemptCount, outcome, after }: SettledAttempt): Activity {
  return {
    type: 'attempt',
    at: new Date(outcome.startedAt.getTime() + outcome.durationMs).toISOString(),
    deliveryId: id,
    searchNumber,
    endpointKey,
    number: attemptCount,
    statusCode: outcome.statusCode,
    error: outcome.error,
    durationMs: Math.round(outcome.durationMs),
    state: after.state,
  };
}

/** Reports about crawlers: rejected messages and unknown members. */
type CrawlerObservers = Pick<IntakeDependencies, 'onUnknownMember' | 'onPublished' | 'onUnpublished'>;

/** Crawlers can invent names, so the number of label values is limited. */
const NAMES_MAX = 50;
const NAME = /^[\w.@:-]{1,80}$/;
const OTHER = 'other';

function observeCrawlers(metrics: Pick<Metrics, 'rejections' | 'unknownMembers'>, log: Log): CrawlerObservers {
  const names = new Set<string>();

  /** True if `path` has a label value of its own, or may get one. */
  function isNamed(path: string): boolean {
    return names.has(path) || (names.size < NAMES_MAX && NAME.test(path));
  }

  return {
    onUnknownMember({ path, name, known }) {
      const member = isNamed(path) ? path : OTHER;
      metrics.unknownMembers.inc({ member });
      if (member === OTHER || names.has(path)) return;
      names.add(path);
      log.warn({ member, nearest: nearestName(name, known) }, 'Crawlers send an unknown member, which has no effect.');
    },
    onPublished: (count) => metrics.rejections.inc({ result: 'published' }, count),
    onUnpublished: (count) => metrics.rejections.inc({ result: 'unpublished' }, count),
  };
}
