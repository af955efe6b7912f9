/**
 * The service's metrics for Prometheus, by stage, in the order of an advert's journey. They have few labels, each with
 * a limited number of values, and no identifiers. `roles/measures.ts` and features add values that are read from
 * PostgreSQL and NATS at each scrape.
 */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { keptFor } from './engine/actor/waiting.ts';
import { ATTEMPT_ERRORS } from './engine/domain/delivery.ts';
import { RETAINED_TABLES } from './engine/domain/retention.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** These defaults of prom-client are gauges with the names of counters, which `promtool check metrics` refuses. */
const MISNAMED_DEFAULTS = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
] as const;

/** In seconds, around the targets of 25 and 150 ms, and up to the attempt's time limit of 15 s. */
const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 15];
/** In seconds, from arrival in the stream to commit: milliseconds in normal operation, minutes after an outage. */
const INTAKE_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 10, 60, 300];
const BATCH_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5];
/** In seconds, around the measured mean of 60 to 260 µs for a million searches. */
const MATCH_SECONDS = [0.000_01, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.005, 0.025, 0.1];
/** In seconds, from a change to its delivery. First attempts are made within a second, retries an hour apart. */
const ALERT_SECONDS = [0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 10, 60, 3_700, 7_300, 18_500];
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 5];

export function createMetrics(version = '') {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED_DEFAULTS) registry.removeSingleMetric(name);
  const make = makerOf(registry);
  const { gauge, labelledGauge } = make;
  /** Functions that read a value, by stage. Each stage adds its own when it opens. */
  const stageInFlight = new Map<string, () => number>();
  const stagePaused = new Map<string, () => number>();
  const read = async (readings: typeof stagePaused) => [...readings].map(([stage, value]) => [stage, value()] as const);
  labelledGauge('vigie_build_info', 'Always 1', 'version', async () => [[version, 1]]);
  labelledGauge('vigie_stage_in_flight', 'Messages or attempts in progress', 'stage', () => read(stageInFlight));
  labelledGauge('vigie_stage_paused', '1 while an operator has paused the stage', 'stage', () => read(stagePaused));
  return {
    registry,
    stageInFlight,
    stagePaused,
    gauge,
    labelledGauge,
    ...intakeMetrics(make),
    ...deliveryMetrics(make),
    ...callMetrics(make),
  };
}

type Maker = ReturnType<typeof makerOf>;

function makerOf(registry: Registry) {
  const registers = [registry];
  return {
    /** `values` are the known values of the first label, which are exported as 0 from the start. */
    counter<Label extends string>(name: string, help: string, labels: Label[] = [], values: readonly string[] = []) {
      const counter = new Counter({ name, help: `${help}.`, labelNames: labels, registers });
      const [label = ''] = labels;
      for (const value of values) counter.inc({ [label]: value } as Record<Label, string>, 0);
      return counter;
    },
    histogram<Label extends string>(name: string, help: string, buckets: number[], labels: Label[] = []) {
      return new Histogram({ name, help: `${help}.`, buckets, labelNames: labels, registers });
    },
    /** A value that is read at each scrape, and omitted if the read fails. */
    gauge: (name: string, help: string, read: () => number | Promise<number>) =>
      new Gauge({
        name,
        help: `${help}.`,
        registers,
        async collect() {
          try {
            this.set(await read());
          } catch {
            this.remove();
          }
        },
      }),
    /** Like `gauge`, with one or more labels. */
    labelledGauge(
      name: string,
      help: string,
      label: string | readonly string[],
      read: () => Promise<Iterable<readonly [string | readonly string[], number]>>,
    ) {
      const labels = [label].flat();
      return new Gauge({
        name,
        help: `${help}.`,
        labelNames: labels,
        registers,
        async collect() {
          this.reset();
          const values = await read().catch(() => []);
          for (const [value, number] of values) {
            const all = [value].flat();
            this.set(Object.fromEntries(labels.map((each, at) => [each, all[at] ?? ''])), number);
          }
        },
      });
    },
  };
}

function intakeMetrics({ counter, histogram }: Maker) {
  return {
    changes: counter(
      'vigie_changes_total',
      'Intake messages recorded, by their effect on the stored state',
      ['outcome'],
      ['created', 'changed', 'recrawled', 'stale', 'unknown'],
    ),
    rejections: counter(
      'vigie_rejections_total',
      'Rejections of intake messages, by whether they were published for their crawlers',
      ['result'],
      ['published', 'unpublished'],
    ),
    deadLetters: counter(
      'vigie_dead_letters_total',
      'Intake messages stored as dead letters: rejected by the contract, or not recorded because of a bug',
      ['cause'],
      ['rejected', 'bug'],
    ),
    unknownMembers: counter(
      'vigie_unknown_members_total',
      'Members of intake messages that are not in the contract, by name',
      ['member'],
    ),
    events: counter('vigie_events_total', 'Events recorded'),
    matches: counter('vigie_matches_total', 'Matches that began'),
    deliveries: counter('vigie_deliveries_total', 'Webhook deliveries created'),
    intakeSeconds: histogram(
      'vigie_intake_seconds',
      'Time from the arrival of a message in the stream to its commit in PostgreSQL',
      INTAKE_SECONDS,
    ),
    recordSeconds: histogram('vigie_record_batch_seconds', 'Duration of recording one batch', BATCH_SECONDS),
    matchSeconds: histogram('vigie_match_seconds', 'Duration of matching one property', MATCH_SECONDS),
  };
}

const RESULTS = ['delivered', ...ATTEMPT_ERRORS];

function deliveryMetrics({ counter, histogram }: Maker) {
  return {
    attempts: counter(
      'vigie_delivery_attempts_total',
      'Attempts at webhooks, by result: delivered or the class of the error',
      ['result'],
      RESULTS,
    ),
    repairs: counter(
      'vigie_delivery_repairs_total',
      'Retries whose NATS message was missing, and attempts aborted because their process had died',
      ['kind'],
      ['missing', 'aborted'],
    ),
    removed: counter('vigie_rows_removed_total', 'Rows that retention has removed', ['table'], RETAINED_TABLES),
    exhausted: counter('vigie_deliveries_exhausted_total', 'Webhooks that failed with their last attempt'),
    attemptSeconds: histogram('vigie_delivery_attempt_seconds', 'Duration of attempts at webhooks', ATTEMPT_SECONDS),
    alertSeconds: histogram('vigie_alert_seconds', 'Time from recording a change to its webhook', ALERT_SECONDS),
    mailAttempts: counter(
      'vigie_mail_attempts_total',
      'Attempts at e-mails, by result: delivered or the class of the error',
      ['result'],
      RESULTS,
    ),
    mailItems: counter('vigie_mail_items_total', 'E-mail deliveries created, one for each item of an e-mail'),
  };
}

function callMetrics({ counter, histogram }: Maker) {
  return {
    adminCalls: counter('vigie_admin_calls_total', 'gRPC calls of operators, by code', ['code'], ['OK']),
    failures: counter('vigie_actor_failures_total', 'Failures of actors, mostly outages of a server', ['actor']),
    requests: counter('vigie_api_requests_total', 'REST requests answered, by class of status', ['method', 'status']),
    requestSeconds: histogram('vigie_api_request_seconds', 'Duration of REST requests', REQUEST_SECONDS, ['method']),
  };
}

const READING_KEPT_MS = 5_000;

/** Caches a value that is read at each scrape, so that several scrapers cost no more than one. */
export function keptForScrapes<T>(read: () => Promise<T>): () => Promise<T> {
  return keptFor(READING_KEPT_MS, read);
}
