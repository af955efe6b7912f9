/**
 * Publishes agencies' files as adverts. An instance with the role `feeds` reads its sources and `vigie feed` reads one
 * file; both publish to the intake like a crawler. Operators list, show and run feeds. To run one, they write a request
 * to its row, which the reader polls every few seconds.
 */

import type { Database } from '../../engine/store/database.ts';
import type { Feature, Parts } from '../../feature.ts';
import { notFound } from '../../grpc/errors.ts';
import type { Feed } from '../../grpc/generated/vigie/admin/v1/feeds.ts';
import { idOfName } from '../../grpc/names.ts';
import { cutPage, pageOf } from '../../grpc/paging.ts';
import { listSources, readReports, readSource, type Source, type SourceReport, writeReport } from './publications.ts';
import { type FeedSource, readFeedsFile, startFeeds } from './source-watch.ts';

export const feeds: Feature = {
  name: 'feeds',
  rpcs: {
    async listFeeds(request, { database }) {
      const page = pageOf(request, {});
      const rows = await listSources(database, page.cursor ?? '', page.size + 1);
      const cut = cutPage(rows, page, {}, ({ name }) => name);
      return { feeds: cut.rows.map(feedMessage), nextPageToken: cut.nextPageToken };
    },
    getFeed: ({ name }, { database }) => readFeed(name, database),
    async runFeed({ name }, { database, now }) {
      await readFeed(name, database);
      await writeReport(database, idOfName('name', 'feeds', name), { requestedAt: now().toISOString() });
      return readFeed(name, database);
    },
  },
  open: openFeeds,
  commands: {
    feed: async (input) => (await import('./feed-command.ts')).feedCommand(input),
  },
  openAdverts: async (format, mapping) => (await import('./feed-command.ts')).openAdverts(format, mapping),
};

/** Throws `FeedsFileError` if the file named by `VIGIE_FEEDS_FILE` is invalid. */
async function openFeeds(parts: Parts): Promise<void> {
  const { config, log, database, broker, draining, onTransientError } = parts;
  const sources = config.feedsFile === null ? [] : readFeedsFile(config.feedsFile);
  if (sources.length === 0) return;
  const watch = await startFeeds({
    database,
    broker,
    sources,
    onTransientError,
    allowPrivateNetworks: config.allowPrivateEndpoints,
    clock: () => new Date(),
    nowMs: () => performance.now(),
    onRead(source, { counts, warnings }) {
      log.info({ source, ...counts }, 'The feed file was read.');
      if (warnings.length > 0) log.warn({ source, warnings }, 'Many adverts of the feed have lost a value.');
    },
    onRefused: (source, reason) => log.warn({ source, reason }, 'The feed file was refused.'),
  });
  draining('feeds', watch.stop);
  measureFeeds(parts, sources);
}

/** Several instances may report the same source: aggregate the values by the maximum over instances. */
function measureFeeds({ metrics, database }: Parts, sources: readonly FeedSource[]): void {
  const beganAt = Date.now();
  const names = sources.map(({ name }) => name);
  const measure = (name: string, help: string, read: (report: SourceReport, source: FeedSource) => number): void => {
    metrics.labelledGauge(name, help, 'source', async () => {
      const reports = await readReports(database, names);
      return sources.map((source) => [source.name, read(reports.get(source.name) ?? {}, source)] as const);
    });
  };
  measure(
    'vigie_feed_overdue_seconds',
    'Time since a source last delivered a file, beyond twice its interval',
    ({ gaveAt }, { everyMs }) => {
      const silentMs = Date.now() - (gaveAt === undefined ? beganAt : Date.parse(gaveAt));
      return Math.max(0, (silentMs - 2 * everyMs) / 1_000);
    },
  );
  measure('vigie_feed_refused', '1 while the last snapshot of a source was refused', ({ refusal }) =>
    Number(Boolean(refusal)),
  );
  metrics.labelledGauge(
    'vigie_feed_lost_values',
    'Values of the last snapshot that were not understood and left out',
    ['source', 'member'],
    async () =>
      [...(await readReports(database, names))].flatMap(([source, { lost = {} }]) =>
        Object.entries(lost).map(([member, count]) => [[source, member], count] as const),
      ),
  );
}

async function readFeed(name: string, database: Database): Promise<Feed> {
  const feed = await readSource(database, idOfName('name', 'feeds', name));
  if (feed === null) throw notFound('Feed', name);
  return feedMessage(feed);
}

function feedMessage({ name, adverts, report, reading }: Source): Feed {
  const { counts, complaints = [], notices = [], warnings = [] } = report;
  const time = (at: string | null | undefined): Date | undefined => (at ? new Date(at) : undefined);
  return {
    name: `feeds/${name}`,
    advertCount: adverts,
    lookTime: time(report.lookedAt),
    giveTime: time(report.gaveAt),
    readTime: time(report.readAt),
    origin: report.from ?? '',
    refusal: report.refusal ?? '',
    readCount: counts?.adverts ?? 0,
    newCount: counts?.new ?? 0,
    changedCount: counts?.changed ?? 0,
    republishedCount: counts?.republished ?? 0,
    goneCount: counts?.gone ?? 0,
    notUnderstoodCount: counts?.notUnderstood ?? 0,
    complaints: [...complaints],
    notices: [...notices],
    warnings: [...warnings],
    requestTime: time(report.requestedAt),
    readingSinceTime: time(reading?.since),
    receivedBytes: reading?.bytes ?? 0,
  };
}
