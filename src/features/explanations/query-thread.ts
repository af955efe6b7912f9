/** The thread that answers queries (queries.ts). Beside its connections it holds the medians, read anew after a while. */

import { platform, setPriority } from 'node:os';
import { LRUCache } from 'lru-cache';
import { answerRequests, type Cancellation, settingsOfThread } from '../../engine/actor/worker-thread.ts';
import { shortValues } from '../../engine/domain/criteria.ts';
import type { MedianOf } from '../../engine/domain/property-summary.ts';
import { criteriaOf, type Search } from '../../engine/domain/search.ts';
import { unreachable } from '../../engine/domain/unreachable.ts';
import { cancellable } from '../../engine/store/cancellable.ts';
import { openDatabase } from '../../engine/store/database.ts';
import { readMedians } from '../../engine/store/market-medians.ts';
import { readSearch } from '../../engine/store/searches.ts';
import { siteCategoryNames } from '../../engine/store/site-categories.ts';
import type { QueryTools } from './examination.ts';
import { foundProperties } from './found-properties.ts';
import { compareMisses, type JudgedMiss, nearMisses } from './near-misses.ts';
import { nearSearches } from './near-searches.ts';
import { readMatchIds } from './pair-rows.ts';
import { previewFigures } from './preview-figures.ts';
import { sampleStartAt } from './property-scans.ts';
import type { Query, QueryKinds } from './queries.ts';

/** On Linux a thread has a priority of its own: where processors are scarce, recording and requests go first. */
const NICENESS = 10;
if (platform() === 'linux') setPriority(0, NICENESS);

const { databaseUrl, ...settings } = settingsOfThread() as {
  readonly databaseUrl: string;
  readonly connectionsMax: number;
  readonly statementTimeoutMs: number;
};
// A connection that breaks while nobody uses it costs nothing: the next statement opens another.
const pool = openDatabase({ url: databaseUrl, ...settings, onConnectionLost: () => undefined });

const MEDIANS_KEPT_MS = 30_000;
let medians: { readonly medianOf: MedianOf; readonly atMs: number } | null = null;

async function currentMedians(): Promise<MedianOf> {
  const nowMs = performance.now();
  if (medians === null || nowMs - medians.atMs > MEDIANS_KEPT_MS) {
    medians = { medianOf: await readMedians(pool), atMs: nowMs };
  }
  return medians.medianOf;
}

answerRequests((query, cancellation) => answer(query as Query, cancellation));

async function answer({ kind, asked }: Query, cancellation: Cancellation): Promise<unknown> {
  const database = cancellable(pool, cancellation.signal);
  const sampleStart = sampleStartAt(new Date());
  const tools: QueryTools = { database, sampleStart, median: await currentMedians(), cancellation };
  switch (kind) {
    case 'preview': {
      const criteria = criteriaOf(asked.members, await siteCategoryNames(database));
      return previewFigures({ ...asked, criteria }, tools);
    }
    case 'nearMisses':
      return answerNearMisses(asked, tools);
    case 'foundProperties':
      return answerFoundProperties(asked, tools);
    case 'nearSearches':
      return nearSearches(asked, tools);
    default:
      return unreachable(kind);
  }
}

async function answerNearMisses(
  { clientId, searchId, since, criterion, after, offset, limit }: QueryKinds['nearMisses']['asked'],
  tools: QueryTools,
): Promise<QueryKinds['nearMisses']['answer']> {
  const search = await readSearch(tools.database, clientId, searchId);
  if (search === null) return null;
  const found = await allNearMisses(search, since, tools);
  const all = criterion === null ? found : found.filter(({ judgement }) => judgement.criterion === criterion);
  const behind = after === null ? all.slice(offset) : all.filter((miss) => compareMisses(miss, after) > 0);
  const misses = behind.slice(0, limit).map(({ uuid, judgement, distance }) => {
    return { uuid, criterion: judgement.criterion, ...shortValues(judgement), distance };
  });
  return { misses, total: all.length, hasMore: behind.length > limit };
}

/** The pages of a list are asked for one after the other: all of them are of the list that was made for the first. */
const LISTS_KEPT = { max: 16, ttl: 60_000 };
const HOUR_MS = 3_600_000;
const nearMissLists = new LRUCache<string, readonly JudgedMiss[]>(LISTS_KEPT);

async function allNearMisses({ id, members }: Search, since: Date, tools: QueryTools): Promise<readonly JudgedMiss[]> {
  const key = JSON.stringify([id, members, Math.round(since.getTime() / HOUR_MS)]);
  const known = nearMissLists.get(key);
  if (known !== undefined) return known;
  const criteria = criteriaOf(members, await siteCategoryNames(tools.database));
  const found = await nearMisses(criteria, since.toISOString(), tools);
  nearMissLists.set(key, found);
  return found;
}

async function answerFoundProperties(
  { clientId, searchId, ...query }: QueryKinds['foundProperties']['asked'],
  tools: QueryTools,
): Promise<QueryKinds['foundProperties']['answer']> {
  const search = await readSearch(tools.database, clientId, searchId);
  if (search === null) return null;
  const criteria = criteriaOf(search.members, await siteCategoryNames(tools.database));
  const found = await foundProperties({ ...query, criteria }, tools);
  const uuids = found.page.map(({ uuid }) => uuid);
  const matchIds = await readMatchIds(tools.database, search.number, uuids);
  const page = found.page.map((one) => ({ ...one, matchId: matchIds.get(one.uuid) ?? null }));
  return { ...found, page, hidePropertyContact: search.members.hidePropertyContact };
}
