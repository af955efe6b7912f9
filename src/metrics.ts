/** What the service counts, for Prometheus. Few labels, no identifiers. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

/** These defaults of prom-client are gauges named like counters, which `promtool check metrics` refuses. */
const MISNAMED_DEFAULTS = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
] as const;

/** Seconds, round the targets of 25 and 150 ms and up to the attempt deadline of 15 s. */
const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 15];

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED_DEFAULTS) registry.removeSingleMetric(name);
  return {
    registry,
    changes: new Counter({
      name: 'vigie_changes_total',
      help: 'Intake messages recorded, by what they did to the held state',
      labelNames: ['outcome'],
      registers,
    }),
    poison: new Counter({
      name: 'vigie_dead_letters_total',
      help: 'Intake messages that could not be understood',
      registers,
    }),
    events: new Counter({ name: 'vigie_events_total', help: 'Events recorded', registers }),
    matches: new Counter({ name: 'vigie_matches_total', help: 'Matches that began', registers }),
    deliveries: new Counter({ name: 'vigie_deliveries_total', help: 'Deliveries created', registers }),
    attempts: new Counter({
      name: 'vigie_delivery_attempts_total',
      help: 'Attempts made, by result: delivered or the class of the error',
      labelNames: ['result'],
      registers,
    }),
    attemptSeconds: new Histogram({
      name: 'vigie_delivery_attempt_seconds',
      help: 'Duration of attempts',
      buckets: ATTEMPT_SECONDS,
      registers,
    }),
    repairs: new Counter({
      name: 'vigie_sweeper_repairs_total',
      help: 'Losses that the sweeper made good; above zero something has gone wrong',
      labelNames: ['kind'],
      registers,
    }),
    failures: new Counter({
      name: 'vigie_actor_failures_total',
      help: 'Failures of actors, most of them of a server that was away',
      labelNames: ['actor'],
      registers,
    }),
    /** A value read at each scrape. */
    gauge: (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      }),
  };
}
