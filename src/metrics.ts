/**
 * What the service counts, for Prometheus: stage by stage, in the order of an advert's journey. Few labels, each with a
 * known set of values, and no identifiers. `measures.ts` adds what is read from PostgreSQL and NATS at each scrape.
 */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { ATTEMPT_ERRORS } from './engine/domain/delivery.ts';
import { FORGETFUL_TABLES } from './engine/domain/retention.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** These defaults of prom-client are gauges named like counters, which `promtool check metrics` refuses. */
const MISNAMED_DEFAULTS = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
] as const;

/** Seconds, round the targets of 25 and 150 ms and up to the attempt deadline of 15 s. */
const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 15];
/** Seconds from the stream to the transaction's end: milliseconds when quiet, minutes after an outage. */
const INTAKE_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 10, 60, 300];
const BATCH_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const BATCH_MESSAGES = [1, 4, 16, 64, 128, 256, 512];
/** Seconds, round the measured mean of 60 to 260 µs for a million searches. */
const MATCH_SECONDS = [0.000_01, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.005, 0.025, 0.1];
/** Seconds from a change to its delivery: the first attempt within a second, the retries an hour apart. */
const ALERT_SECONDS = [0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 10, 60, 3_700, 7_300, 18_500];
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 5];

export function createMetrics(version = '') {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED_DEFAULTS) registry.removeSingleMetric(name);
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name, help, buckets, registers });
  new Gauge({ name: 'vigie_build_info', help: 'Always 1', labelNames: ['version'], registers }).set({ version }, 1);
  const stageInFlight = new Map<string, () => number>();
  const stagePaused = new Map<string, () => number>();
  byStage('vigie_stage_in_flight', 'Messages or attempts under way', stageInFlight, registers);
  byStage('vigie_stage_paused', '1 while an operator has paused the stage', stagePaused, registers);
  return {
    registry,
    /** Readings by stage; a stage adds its own when it opens. */
    stageInFlight,
    stagePaused,
    ...intakeMetrics(registers, counter, histogram),
    ...deliveryMetrics(registers, counter, histogram),
    ...mailMetrics(registers, counter),
    ...callMetrics(registers),
    /** A value read at each scrape; a read that fails leaves it out. */
    gauge: (name: string, help: string, read: () => number | Promise<number>) =>
      new Gauge({
        name,
        help,
        registers,
        async collect() {
          try {
            this.set(await read());
          } catch {
            this.remove();
          }
        },
      }),
    /** Values by one label, likewise. */
    labelledGauge: (
      name: string,
      help: string,
      label: string,
      read: () => Promise<Iterable<readonly [string, number]>>,
    ) =>
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          this.reset();
          const values = await read().catch(() => []);
          for (const [value, number] of values) this.set({ [label]: value }, number);
        },
      }),
  };
}

type Registers = Registry[];

function byStage(name: string, help: string, readings: ReadonlyMap<string, () => number>, registers: Registers): void {
  const gauge = new Gauge({
    name,
    help,
    labelNames: ['stage'],
    registers: [],
    collect() {
      for (const [stage, read] of readings) this.set({ stage }, read());
    },
  });
  for (const registry of registers) registry.registerMetric(gauge);
}

type MakeCounter = (name: string, help: string) => Counter;
type MakeHistogram = (name: string, help: string, buckets: number[]) => Histogram;

function intakeMetrics(registers: Registers, counter: MakeCounter, histogram: MakeHistogram) {
  const changes = new Counter({
    name: 'vigie_changes_total',
    help: 'Intake messages recorded, by what they did to the held state',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of ['created', 'changed', 'recrawled', 'stale', 'unknown']) changes.inc({ outcome }, 0);
  const rejections = new Counter({
    name: 'vigie_rejections_total',
    help: 'Rejections of intake messages, published for their crawlers or not',
    labelNames: ['result'],
    registers,
  });
  for (const result of ['published', 'unpublished']) rejections.inc({ result }, 0);
  const deadLetters = new Counter({
    name: 'vigie_dead_letters_total',
    help: 'Intake messages kept in the dead letters, rejected by the contract or not recorded because of a bug',
    labelNames: ['cause'],
    registers,
  });
  for (const cause of ['rejected', 'bug']) deadLetters.inc({ cause }, 0);
  return {
    changes,
    deadLetters,
    rejections,
    unknownMembers: new Counter({
      name: 'vigie_unknown_members_total',
      help: 'Members of intake messages that the contract does not know, by name',
      labelNames: ['member'],
      registers,
    }),
    events: counter('vigie_events_total', 'Events recorded'),
    matches: counter('vigie_matches_total', 'Matches that began'),
    deliveries: counter('vigie_deliveries_total', 'Deliveries created'),
    intakeSeconds: histogram(
      'vigie_intake_seconds',
      'From the arrival of a message in the stream to the commit of its record',
      INTAKE_SECONDS,
    ),
    recordSeconds: histogram('vigie_record_batch_seconds', 'Duration of recording one batch', BATCH_SECONDS),
    recordMessages: histogram('vigie_record_batch_messages', 'Messages in a batch', BATCH_MESSAGES),
    matchSeconds: histogram('vigie_match_seconds', 'Matching one property against all searches', MATCH_SECONDS),
  };
}

function deliveryMetrics(registers: Registers, counter: MakeCounter, histogram: MakeHistogram) {
  const attempts = new Counter({
    name: 'vigie_delivery_attempts_total',
    help: 'Attempts made, by result: delivered or the class of the error',
    labelNames: ['result'],
    registers,
  });
  for (const result of ['delivered', ...ATTEMPT_ERRORS]) attempts.inc({ result }, 0);
  const repairs = new Counter({
    name: 'vigie_delivery_repairs_total',
    help: 'Retries whose message was missing, and attempts whose process has died',
    labelNames: ['kind'],
    registers,
  });
  for (const kind of ['missing', 'aborted']) repairs.inc({ kind }, 0);
  const removed = new Counter({
    name: 'vigie_rows_removed_total',
    help: 'Rows that retention has removed',
    labelNames: ['table'],
    registers,
  });
  for (const table of FORGETFUL_TABLES) removed.inc({ table }, 0);
  return {
    attempts,
    repairs,
    removed,
    retries: counter('vigie_delivery_retries_total', 'Attempts that were not the first of their delivery'),
    exhausted: counter('vigie_deliveries_exhausted_total', 'Deliveries whose attempts were used up'),
    resent: counter(
      'vigie_deliveries_resent_total',
      'Final deliveries, failed ones mostly, that operators have resent',
    ),
    attemptSeconds: histogram('vigie_delivery_attempt_seconds', 'Duration of attempts', ATTEMPT_SECONDS),
    alertSeconds: histogram('vigie_alert_seconds', 'From the record of a change to its delivery', ALERT_SECONDS),
  };
}

function mailMetrics(registers: Registers, counter: MakeCounter) {
  const mailAttempts = new Counter({
    name: 'vigie_mail_attempts_total',
    help: 'Attempts at e-mails, by result: delivered or the class of the error',
    labelNames: ['result'],
    registers,
  });
  for (const result of ['delivered', ...ATTEMPT_ERRORS]) mailAttempts.inc({ result }, 0);
  return {
    mailAttempts,
    mailItems: counter('vigie_mail_items_total', 'Deliveries by e-mail created: items of e-mails'),
    mailsFailed: counter('vigie_mails_failed_total', 'E-mails refused for good, or whose attempts were used up'),
  };
}

function callMetrics(registers: Registers) {
  const adminCalls = new Counter({
    name: 'vigie_admin_calls_total',
    help: 'gRPC calls of operators, by code',
    labelNames: ['code'],
    registers,
  });
  adminCalls.inc({ code: 'OK' }, 0);
  return {
    adminCalls,
    failures: new Counter({
      name: 'vigie_actor_failures_total',
      help: 'Failures of actors, most of them of a server that was away',
      labelNames: ['actor'],
      registers,
    }),
    requests: new Counter({
      name: 'vigie_api_requests_total',
      help: 'REST requests answered, by class of status',
      labelNames: ['method', 'status'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'vigie_api_request_seconds',
      help: 'Duration of REST requests',
      labelNames: ['method'],
      buckets: REQUEST_SECONDS,
      registers,
    }),
  };
}

const READING_KEPT_MS = 5_000;

/** One reading at a time; a reading that failed is not kept. */
export function keptFor<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | null = null;
  let readAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    if (reading !== null && nowMs - readAtMs < READING_KEPT_MS) return reading;
    readAtMs = nowMs;
    reading = read();
    reading.catch(() => {
      reading = null;
    });
    return reading;
  };
}
