/** Opens what reads agencies' files, and what ends adverts that nobody shows: a part of the composition root. */

import { startTask } from '../engine/actor/task.ts';
import { startFeeds } from '../features/feeds/feeds.ts';
import { readReports, SourceBusyError, type SourceReport } from '../features/feeds/publications.ts';
import { type FeedSource, readFeedsFile } from '../features/feeds/sources.ts';
import { expireUnseen } from '../features/feeds/unseen.ts';
import type { Parts } from './parts.ts';

const UNSEEN_EVERY_MS = 6 * 3_600_000;

/** Throws `FeedsFileError` when `VIGIE_FEEDS_FILE` is wrong. */
export async function openFeeds(parts: Parts): Promise<void> {
  const { config, log, database, broker, draining, onTransientError } = parts;
  const sources = config.feedsFile === null ? [] : readFeedsFile(config.feedsFile);
  if (sources.length > 0) {
    const feeds = await startFeeds({
      ...{ database, broker, sources, onTransientError, allowPrivateNetworks: config.allowPrivateEndpoints },
      clock: () => new Date(),
      nowMs: () => performance.now(),
      onRead: (source, { counts, complaints }) => log.info({ source, ...counts, complaints }, 'feed read'),
      onRefused: (source, reason) => log.warn({ source, reason }, 'feed refused'),
    });
    draining('feeds', feeds.stop);
    measureFeeds(parts, sources);
  }
  if (config.unseenDays > 0) openUnseen(parts);
}

function openUnseen({ config, log, database, broker, draining, onTransientError }: Parts): void {
  const task = startTask({
    ...{ what: 'unseen adverts', everyMs: UNSEEN_EVERY_MS, isDueAtOnce: true, onTransientError },
    async work(stopping) {
      const options = { database, broker, days: config.unseenDays, clock: () => new Date(), stopping };
      const count = await expireUnseen(options).catch((error: Error) => {
        if (stopping.aborted || error instanceof SourceBusyError) return 0;
        throw error;
      });
      if (count > 0) log.info({ adverts: count, days: config.unseenDays }, 'adverts expire that nobody has shown');
    },
  });
  draining('unseen adverts', task.stop);
}

/** Every instance reads the same: take the maximum over instances. */
function measureFeeds({ metrics, database }: Parts, sources: readonly FeedSource[]): void {
  const beganAt = Date.now();
  const measure = (name: string, help: string, read: (report: SourceReport, source: FeedSource) => number): void => {
    metrics.labelledGauge(name, help, 'source', async () => {
      const reports = await readReports(
        database,
        sources.map((source) => source.name),
      );
      return sources.map((source) => [source.name, read(reports.get(source.name) ?? {}, source)] as const);
    });
  };
  measure(
    'vigie_feed_overdue_seconds',
    'How much longer than twice its interval a source has given nothing',
    (report, source) => {
      const gaveAt = report.gaveAt === undefined ? beganAt : Date.parse(report.gaveAt);
      return Math.max(0, (Date.now() - gaveAt - 2 * source.everyMs) / 1_000);
    },
  );
  measure('vigie_feed_refused', '1 while the last snapshot of a source was refused', (report) =>
    report.refusal ? 1 : 0,
  );
}
