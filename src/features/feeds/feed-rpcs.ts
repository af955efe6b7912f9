/** Feeds: list, show, run. What reads them is asked through the row that it looks at every few seconds. */

import type { AdminDependencies } from '../../grpc/dependencies.ts';
import { notFound } from '../../grpc/errors.ts';
import type { Feed, ListFeedsRequest, ListFeedsResponse } from '../../grpc/generated/vigie/admin/v1/feeds.ts';
import { idOfName } from '../../grpc/names.ts';
import { cutPage, pageOf } from '../../grpc/paging.ts';
import { listSources, readSource, type Source, writeReport } from './publications.ts';

export async function listFeeds(
  request: ListFeedsRequest,
  { database }: AdminDependencies,
): Promise<ListFeedsResponse> {
  const page = pageOf(request, {});
  const rows = await listSources(database, page.cursor ?? '', page.size + 1);
  const cut = cutPage(rows, page, {}, ({ name }) => name);
  return { feeds: cut.rows.map(feedMessage), nextPageToken: cut.nextPageToken };
}

export async function getFeed(name: string, { database }: AdminDependencies): Promise<Feed> {
  const feed = await readSource(database, idOfName('name', 'feeds', name));
  if (feed === null) throw notFound('Feed', name);
  return feedMessage(feed);
}

export async function runFeed(name: string, dependencies: AdminDependencies): Promise<Feed> {
  await getFeed(name, dependencies);
  const requestedAt = dependencies.now().toISOString();
  await writeReport(dependencies.database, idOfName('name', 'feeds', name), { requestedAt });
  return getFeed(name, dependencies);
}

function feedMessage({ name, adverts, report }: Pick<Source, 'name' | 'adverts' | 'report'>): Feed {
  const { counts = {}, complaints = [], notices = [] } = report;
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
    requestTime: time(report.requestedAt),
  };
}
