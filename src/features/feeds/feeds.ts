/**
 * Agencies' files as adverts: an instance with the role `feeds` reads what its sources give, and `vigie feed` one file;
 * both publish to the intake as a crawler does. The role also ends adverts that nobody shows any more.
 */

import { startTask } from '../../engine/actor/task.ts';
import type { Feature, Parts } from '../../feature.ts';
import { getFeed, listFeeds, runFeed } from './feed-rpcs.ts';
import { readReports, SourceBusyError, type SourceReport } from './publications.ts';
import { startFeeds } from './source-watch.ts';
import { type FeedSource, readFeedsFile } from './sources.ts';
import { expireUnseen } from './unseen.ts';

const UNSEEN_EVERY_MS = 6 * 3_600_000;

export const feeds: Feature = {
  name: 'feeds',
  rpcs: (usual) => ({
    listFeeds: usual(listFeeds),
    getFeed: usual(({ name }, own) => getFeed(name, own)),
    runFeed: usual(({ name }, own) => runFeed(name, own)),
  }),
  open: openFeeds,
  commands: {
    feed: async (input) => (await import('./feed-command.ts')).feedCommand(input),
  },
  openAdverts: async (format, mapping) => (await import('./feed-command.ts')).openAdverts(format, mapping),
};

/** Throws `FeedsFileError` when `VIGIE_FEEDS_FILE` is wrong. */
async function openFeeds(parts: Parts): Promise<void> {
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
