/**
 * Agencies' files as adverts: an instance with the role `feeds` reads its sources, and `vigie feed` one file; both
 * publish to the intake like a crawler. The role also expires adverts that are no longer shown. Operators list, show
 * and run feeds: a request to read one is written to its row, which the reader polls every few seconds.
 */

import { startTask } from '../../engine/actor/task.ts';
import { pause } from '../../engine/actor/waiting.ts';
import type { Broker } from '../../engine/broker/connection.ts';
import { type Publication as Message, publishAll } from '../../engine/broker/publish.ts';
import { advertSubject } from '../../engine/broker/topology.ts';
import type { HeldProperty } from '../../engine/domain/change.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import { isLive, lastLiveCrawl } from '../../engine/domain/property.ts';
import type { Database, Queryable } from '../../engine/store/database.ts';
import { withIntakeGaps } from '../../engine/store/intake-leader.ts';
import { type HeldRow, heldOf } from '../../engine/store/properties.ts';
import type { Feature, Parts } from '../../feature.ts';
import type { AdminDependencies } from '../../grpc/dependencies.ts';
import { notFound } from '../../grpc/errors.ts';
import type { Feed, ListFeedsRequest, ListFeedsResponse } from '../../grpc/generated/vigie/admin/v1/feeds.ts';
import { idOfName } from '../../grpc/names.ts';
import { cutPage, pageOf } from '../../grpc/paging.ts';
import {
  listSources,
  readReports,
  readSource,
  type Source,
  SourceBusyError,
  type SourceReport,
  withSource,
  writeReport,
} from './publications.ts';
import { type FeedSource, readFeedsFile, startFeeds } from './source-watch.ts';

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
      database,
      broker,
      sources,
      onTransientError,
      allowPrivateNetworks: config.allowPrivateEndpoints,
      clock: () => new Date(),
      nowMs: () => performance.now(),
      onRead(source, { counts, warnings }) {
        log.info({ source, ...counts }, 'feed read');
        if (warnings.length > 0) log.warn({ source, warnings }, 'adverts of a feed have lost values');
      },
      onRefused: (source, reason) => log.warn({ source, reason }, 'feed refused'),
    });
    draining('feeds', feeds.stop);
    measureFeeds(parts, sources);
  }
  if (config.unseenDays > 0) openUnseen(parts);
}

function openUnseen({ config, log, database, broker, draining, onTransientError }: Parts): void {
  const task = startTask({
    what: 'unseen adverts',
    everyMs: UNSEEN_EVERY_MS,
    isDueAtOnce: true,
    onTransientError,
    async work(stopping) {
      const options = { database, broker, days: config.unseenDays, clock: () => new Date(), stopping };
      const count = await expireUnseen(options).catch((error: Error) => {
        if (stopping.aborted || error instanceof SourceBusyError) return 0;
        throw error;
      });
      if (count > 0) log.info({ adverts: count, days: config.unseenDays }, 'unseen adverts expire');
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
  metrics.labelledGauge(
    'vigie_feed_lost_values',
    'Values of the last snapshot that were not understood and left out',
    ['source', 'member'],
    async () => {
      const reports = await readReports(
        database,
        sources.map((source) => source.name),
      );
      return [...reports].flatMap(([source, { lost = {} }]) =>
        Object.entries(lost).map(([member, count]) => [[source, member], count] as const),
      );
    },
  );
  measure('vigie_feed_refused', '1 while the last snapshot of a source was refused', (report) =>
    report.refusal ? 1 : 0,
  );
}

async function listFeeds(request: ListFeedsRequest, { database }: AdminDependencies): Promise<ListFeedsResponse> {
  const page = pageOf(request, {});
  const rows = await listSources(database, page.cursor ?? '', page.size + 1);
  const cut = cutPage(rows, page, {}, ({ name }) => name);
  return { feeds: cut.rows.map(feedMessage), nextPageToken: cut.nextPageToken };
}

async function getFeed(name: string, { database }: AdminDependencies): Promise<Feed> {
  const feed = await readSource(database, idOfName('name', 'feeds', name));
  if (feed === null) throw notFound('Feed', name);
  return feedMessage(feed);
}

async function runFeed(name: string, dependencies: AdminDependencies): Promise<Feed> {
  await getFeed(name, dependencies);
  const requestedAt = dependencies.now().toISOString();
  await writeReport(dependencies.database, idOfName('name', 'feeds', name), { requestedAt });
  return getFeed(name, dependencies);
}

function feedMessage({ name, adverts, report }: Pick<Source, 'name' | 'adverts' | 'report'>): Feed {
  const { counts = {}, complaints = [], notices = [], warnings = [] } = report;
  const time = (at: string | null | undefined): Date | undefined => (at ? new Date(at) : undefined);
  return {
    name: `feeds/${name}`,
    advertCount: adverts,
    lookTime: time(report.lookedAt),
    giveTime: time(report.gaveAt),
    readTime: time(report.readAt),
    origin: report.from ?? '',
    refusal: report.refusal ?? '',
    readCount: counts.adverts ?? 0,
    newCount: counts.new ?? 0,
    changedCount: counts.changed ?? 0,
    republishedCount: counts.republished ?? 0,
    goneCount: counts.gone ?? 0,
    notUnderstoodCount: counts.notUnderstood ?? 0,
    complaints: [...complaints],
    notices: [...notices],
    warnings: [...warnings],
    requestTime: time(report.requestedAt),
  };
}

const DAY_MS = 24 * 3_600_000;
const PAGE_ROWS = 500;
/** The pause between two pages: a million properties take half an hour, which is not urgent. */
const REST_MS = 500;
/** No source has this name. */
const LOCK = '.unseen';

export interface UnseenOptions {
  readonly database: Database;
  readonly broker: Broker;
  readonly days: number;
  readonly clock: () => Date;
  readonly stopping: AbortSignal;
}

/**
 * Expires unseen adverts: those that no crawler and no feed has shown for so many days expire, as if their crawler had
 * reported it (`VIGIE_UNSEEN_DAYS`). Time without a leader of the intake does not count. Resolves with the number of
 * expired adverts. Throws `SourceBusyError` while another instance does this.
 */
export function expireUnseen({ database, broker, days, clock, stopping }: UnseenOptions): Promise<number> {
  return withSource(database, LOCK, async () => {
    const now = clock();
    const before = new Date(now.getTime() - (await withIntakeGaps(database, days * DAY_MS, now))).toISOString();
    let count = 0;
    for (let after: Uuid | null = null; !stopping.aborted; ) {
      const page: Page = await readPage(database, after, before);
      const messages = page.rows.flatMap((row) => expiriesOf(row, before, now.toISOString()));
      await publishAll(broker, messages);
      count += messages.length;
      if (page.last === null) break;
      after = page.last;
      await pause(REST_MS, stopping);
    }
    return count;
  });
}

interface Page {
  /** Those with a crawl that is old enough. */
  readonly rows: readonly HeldProperty[];
  /** Null: no page follows. */
  readonly last: Uuid | null;
}

function expiriesOf({ state, crawls }: HeldProperty, before: string, crawledAt: string): readonly Message[] {
  const unseen = state.adverts.filter((advert) => isLive(advert) && lastLiveCrawl(advert, crawls) < before);
  return unseen.map((unseenAdvert) => {
    const { uuid: advert } = unseenAdvert;
    const message = { kind: 'expire', crawledAt, property: { uuid: state.uuid }, advert: { uuid: advert } };
    const messageId = `${advert}/unseen/${lastLiveCrawl(unseenAdvert, crawls)}`;
    return { subject: advertSubject(state.uuid), messageId, bytes: Buffer.from(JSON.stringify(message)) };
  });
}

/** Served by the primary key, whose pages are read in its order. */
async function readPage(client: Queryable, after: Uuid | null, before: string): Promise<Page> {
  const { rows } = await client.query<{ uuid: Uuid } & { [name in keyof HeldRow]: HeldRow[name] | null }>(
    `select uuid, case when is_old then state end as state, case when is_old then crawls end as crawls from (
       select uuid, state, crawls, expired_at is null
         and exists (select from json_each(crawls) as crawl(advert, seen) where seen ->> 0 < $2) as is_old
       from properties where uuid > $1 order by uuid limit ${PAGE_ROWS}) page`,
    [after ?? '00000000-0000-0000-0000-000000000000', before],
  );
  const old = rows.flatMap(({ state, crawls }) =>
    state === null || crawls === null ? [] : [heldOf({ state, crawls })],
  );
  return { rows: old, last: rows.length < PAGE_ROWS ? null : (rows.at(-1)?.uuid ?? null) };
}
