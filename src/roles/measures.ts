/**
 * Metrics that are read from PostgreSQL, NATS, the disks and the process at each scrape. Values that cost a query are
 * cached for a few seconds, so that several scrapers cost no more than one scraper.
 */

import type { Broker } from '../engine/broker/connection.ts';
import type { PauseGate } from '../engine/broker/pause-gate.ts';
import { readStreamFigures } from '../engine/broker/topology-inspection.ts';
import type { TopologyWatch } from '../engine/maintenance/topology-watch.ts';
import type { Database, DatabasePool } from '../engine/store/database.ts';
import { ALL_DEAD_LETTERS, countDeadLetters } from '../engine/store/dead-letter-reads.ts';
import { countFailedDeliveries, countOpenDeliveries } from '../engine/store/delivery-admin.ts';
import { readPausedBacklog } from '../engine/store/endpoints-admin.ts';
import { readIntakeLead } from '../engine/store/intake-leader.ts';
import { readDiskSpace } from '../local/disk-space.ts';
import { keptForScrapes, type Metrics } from '../metrics.ts';

/** `directories` are those of the embedded servers. The disks of external servers cannot be measured. */
export function measureDisks(metrics: Metrics, directories: ReadonlyMap<string, string>): void {
  const read = async (figure: 'freeBytes' | 'sizeBytes') =>
    Promise.all([...directories].map(async ([server, path]) => [server, (await readDiskSpace(path))[figure]] as const));
  const of = 'the disk of an embedded server';
  metrics.labelledGauge('vigie_disk_free_bytes', `Free bytes on ${of}`, 'server', () => read('freeBytes'));
  metrics.labelledGauge('vigie_disk_size_bytes', `Size in bytes of ${of}`, 'server', () => read('sizeBytes'));
}

export function measurePools(metrics: Metrics, pools: readonly DatabasePool[]): void {
  const sum = (count: (pool: DatabasePool) => number): number => pools.reduce((total, pool) => total + count(pool), 0);
  metrics.labelledGauge('vigie_database_connections', 'Connections to PostgreSQL', 'state', async () => [
    ['idle', sum((pool) => pool.idleCount)],
    ['busy', sum((pool) => pool.totalCount - pool.idleCount)],
  ]);
  metrics.gauge('vigie_database_waiting', 'Callers that wait for a connection', () => sum((pool) => pool.waitingCount));
}

export function measureStage(metrics: Metrics, stage: string, gate: PauseGate, inFlight: () => number): void {
  metrics.stageInFlight.set(stage, inFlight);
  metrics.stagePaused.set(stage, () => (gate.isOpen ? 0 : 1));
}

/** Every instance reports the same values, so aggregate them by the maximum over instances. */
export function measureStore(metrics: Metrics, database: Database): void {
  const readOpen = keptForScrapes(() => countOpenDeliveries(database));
  const readFailed = keptForScrapes(() => countFailedDeliveries(database));
  const readLetters = keptForScrapes(() => countDeadLetters(database, ALL_DEAD_LETTERS));
  metrics.labelledGauge('vigie_open_deliveries', 'Deliveries that are not final', 'state', async () => {
    return (await readOpen()).counts;
  });
  metrics.gauge(
    'vigie_failed_deliveries',
    'Deliveries whose attempts have all failed, until they are resent',
    readFailed,
  );
  metrics.gauge('vigie_oldest_due_seconds', 'Waiting time of the most overdue delivery', async () => {
    const { oldestDueAt } = await readOpen();
    return oldestDueAt === null ? 0 : Math.max(0, (Date.now() - oldestDueAt.getTime()) / 1_000);
  });
  const readPaused = keptForScrapes(() => readPausedBacklog(database));
  metrics.labelledGauge('vigie_endpoints_paused', 'Paused endpoints', 'by', async () => {
    return Object.entries((await readPaused()).counts);
  });
  metrics.gauge('vigie_paused_deliveries', 'Deliveries that wait for paused endpoints', async () => {
    return (await readPaused()).waiting;
  });
  metrics.gauge('vigie_paused_bytes', 'Approximate bytes of paused deliveries', async () => (await readPaused()).bytes);
  metrics.gauge('vigie_dead_letters_held', 'Dead letters that wait for an operator', readLetters);
}

/** Every instance reports the same values, so aggregate them by the maximum over instances. */
export function measureLead(metrics: Metrics, database: Database): void {
  metrics.gauge(
    'vigie_intake_leaderless_seconds',
    'Time without an intake leader; 0 while there is one',
    keptForScrapes(async () => (await readIntakeLead(database)).leaderlessSeconds),
  );
}

/** Every instance reports the same values, so aggregate them by the maximum over instances. */
export function measureTopology(metrics: Metrics, topology: Pick<TopologyWatch, 'found'>): void {
  metrics.labelledGauge(
    'vigie_stream_differences',
    'Problems of streams and consumers: must be corrected (fault) or should be (caution); 1 if another database owns some (foreign)',
    'kind',
    async () => {
      const { faults, cautions, foreign } = topology.found ?? { faults: [], cautions: [], foreign: null };
      return [
        ['fault', faults.length],
        ['caution', cautions.length],
        ['foreign', Number(foreign !== null)],
      ];
    },
  );
}

/** Every instance reports the same values, so aggregate them by the maximum over instances. */
export function measureStreams(metrics: Metrics, broker: Broker): void {
  const read = keptForScrapes(() => readStreamFigures(broker));
  const perStream = (figure: 'messages' | 'bytes' | 'bytesMax' | 'pending' | 'ackPending') => async () =>
    (await read()).map((stream) => [stream.name, stream[figure]] as const);
  metrics.labelledGauge('vigie_stream_messages', 'Messages in the stream', 'stream', perStream('messages'));
  metrics.labelledGauge('vigie_stream_bytes', 'Bytes in the stream', 'stream', perStream('bytes'));
  metrics.labelledGauge('vigie_stream_bytes_max', 'Maximum bytes of the stream', 'stream', perStream('bytesMax'));
  metrics.labelledGauge('vigie_consumer_pending', 'Messages not yet delivered', 'stream', perStream('pending'));
  metrics.labelledGauge('vigie_consumer_ack_pending', 'Unacknowledged messages', 'stream', perStream('ackPending'));
}

export type Stalls = ReturnType<typeof createStalls>;

/** With the default settings, longer than an attempt, a statement on a dead connection or a takeover. */
const STALLED_SECONDS = 30;

/**
 * Detects roles of this process that have work but make no progress, for `/readyz` and an alert. A role that makes
 * progress is not stalled, even if its backlog grows or an endpoint hangs. Time is counted in checks, so that a process
 * that was suspended does not count as stalled when it resumes.
 */
export function createStalls() {
  const due = new Map<string, () => boolean>();
  const seconds = new Map<string, number>();
  return {
    /** Seconds without progress, by role. */
    seconds,
    /** `isDue` tells whether the role has work. Returns a function to call at each step of progress. */
    follow(role: string, isDue: () => boolean) {
      due.set(role, isDue);
      seconds.set(role, 0);
      return () => void seconds.set(role, 0);
    },
    /** Throws an error that names the roles that have made no progress for too long. */
    assertProgress() {
      const stalled = [...seconds].filter(([, stoodStill]) => stoodStill >= STALLED_SECONDS);
      if (stalled.length === 0) return;
      const roles = stalled.map(([role, stoodStill]) => `${role} for ${stoodStill} s`);
      throw new Error(`work is due, but there is no progress: ${roles.join(', ')}`);
    },
    /** Must be called once a second. */
    check() {
      for (const [role, isDue] of due) seconds.set(role, isDue() ? (seconds.get(role) ?? 0) + 1 : 0);
    },
  };
}
