/**
 * The thread that answers queries (queries.ts). Besides its connections it holds the medians, which it reloads after a
 * while.
 */

import { platform, setPriority } from 'node:os';
import { LRUCache } from 'lru-cache';
import { keptFor } from '../../engine/actor/waiting.ts';
import { answerRequests, type Cancellation, settingsOfThread } from '../../engine/actor/worker-thread.ts';
import { type Criteria, failuresOf, shortValues } from '../../engine/domain/criteria.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
import { criteriaOf, type Search, type SearchMembers } from '../../engine/domain/search.ts';
import { cancellable } from '../../engine/store/cancellable.ts';
import { openDatabase, type Queryable } from '../../engine/store/database.ts';
import { readMedians } from '../../engine/store/market-medians.ts';
import { membersOfStored, readSearch, type StoredMembers } from '../../engine/store/searches.ts';
import { siteCategoryNames } from '../../engine/store/site-categories.ts';
import { createWorkSlices, type QueryTools } from './examination.ts';
import {
  compareMisses,
  type EvaluatedMiss,
  type FoundQuery,
  foundProperties,
  type ListedProperties,
  type NearMiss,
  type NearMissPlace,
  nearMisses,
} from './found-properties.ts';
import { readMatchIds } from './pair-rows.ts';
import { type PreviewQuery, previewFigures } from './preview-figures.ts';
import { sampleStartAt } from './property-scans.ts';

/** On Linux a thread has a priority of its own: where processors are scarce, recording and requests take precedence. */
const NICENESS = 10;
if (platform() === 'linux') setPriority(0, NICENESS);

const { databaseUrl, ...settings } = settingsOfThread() as {
  readonly databaseUrl: string;
  readonly connectionsMax: number;
  readonly statementTimeoutMs: number;
};
// An idle connection that breaks costs nothing: the next statement opens another.
const pool = openDatabase({ url: databaseUrl, ...settings, onConnectionLost: () => undefined });

const MEDIANS_KEPT_MS = 30_000;
const currentMedians = keptFor(MEDIANS_KEPT_MS, () => readMedians(pool));

/** Of a client's search. */
interface OfSearch {
  readonly clientId: Uuid;
  readonly searchId: Uuid;
}

/** A part of a list. */
interface Part {
  readonly offset: number;
  readonly limit: number;
}

interface NearMissQuery extends OfSearch, Part {
  readonly since: Date;
  readonly criterion: string | null;
  /** Those behind this one, in place of those from the offset. */
  readonly after: NearMissPlace | null;
}

/** By the name of the query. Null: there is no such search. */
const ANSWERS = {
  async preview(
    { members, ...query }: Omit<PreviewQuery, 'criteria'> & { readonly members: SearchMembers },
    tools: QueryTools,
  ) {
    return previewFigures({ ...query, criteria: await criteriaIn(members, tools) }, tools);
  },

  async nearMisses(
    { clientId, searchId, since, criterion, after, offset, limit }: NearMissQuery,
    tools: QueryTools,
  ): Promise<{ readonly misses: readonly NearMiss[]; readonly total: number; readonly hasMore: boolean } | null> {
    const search = await readSearch(tools.database, clientId, searchId);
    if (search === null) return null;
    const found = await allNearMisses(search, since, tools);
    const all = criterion === null ? found : found.filter(({ evaluation }) => evaluation.criterion === criterion);
    const behind = after === null ? all.slice(offset) : all.filter((miss) => compareMisses(miss, after) > 0);
    const misses = behind.slice(0, limit).map(({ uuid, evaluation, distance }) => {
      return { uuid, criterion: evaluation.criterion, ...shortValues(evaluation), distance };
    });
    return { misses, total: all.length, hasMore: behind.length > limit };
  },

  async foundProperties(
    { clientId, searchId, ...query }: OfSearch & Omit<FoundQuery, 'criteria'>,
    tools: QueryTools,
  ): Promise<ListedProperties | null> {
    const search = await readSearch(tools.database, clientId, searchId);
    if (search === null) return null;
    const found = await foundProperties({ ...query, criteria: await criteriaIn(search.members, tools) }, tools);
    const uuids = found.page.map(({ uuid }) => uuid);
    const matchIds = await readMatchIds(tools.database, search.number, uuids);
    const page = found.page.map((one) => ({ ...one, matchId: matchIds.get(one.uuid) ?? null }));
    return { ...found, page, hidePropertyContact: search.members.hidePropertyContact };
  },

  /** Of a client's searches those that a property satisfies, then those that it fails by one criterion. */
  async nearSearches(
    { clientId, facts }: { readonly clientId: Uuid; readonly facts: PropertyFacts },
    { database, cancellation }: QueryTools,
  ): Promise<readonly SearchNumber[]> {
    const siteCategoryName = await siteCategoryNames(database);
    const slices = createWorkSlices({ cancellation });
    const satisfied: SearchNumber[] = [];
    const missed: SearchNumber[] = [];
    for await (const searches of readMembersOf(database, clientId)) {
      for (const { number, members } of searches) {
        const failures = failuresOf(criteriaOf(members, siteCategoryName), facts, 2).length;
        if (failures === 0) satisfied.push(number);
        else if (failures === 1) missed.push(number);
        await slices.take();
      }
    }
    return [...satisfied, ...missed];
  },
};

export type Answers = typeof ANSWERS;

interface Query {
  readonly kind: keyof Answers;
  readonly asked: unknown;
}

answerRequests(async (query, cancellation: Cancellation) => {
  const { kind, asked } = query as Query;
  const database = cancellable(pool, cancellation.signal);
  const tools: QueryTools = {
    ...{ database, cancellation },
    sampleStart: sampleStartAt(new Date()),
    median: await currentMedians(),
  };
  const answer = ANSWERS[kind] as (asked: unknown, tools: QueryTools) => Promise<unknown>;
  return answer(asked, tools);
});

async function criteriaIn(members: SearchMembers, { database }: QueryTools): Promise<Criteria> {
  return criteriaOf(members, await siteCategoryNames(database));
}

/** Clients request the pages of a list one after the other: all come from the list computed for the first. */
const LISTS_KEPT = { max: 16, ttl: 60_000 };
const HOUR_MS = 3_600_000;
const nearMissLists = new LRUCache<string, readonly EvaluatedMiss[]>(LISTS_KEPT);

async function allNearMisses(
  { id, members }: Search,
  since: Date,
  tools: QueryTools,
): Promise<readonly EvaluatedMiss[]> {
  const key = JSON.stringify([id, members, Math.round(since.getTime() / HOUR_MS)]);
  const known = nearMissLists.get(key);
  if (known !== undefined) return known;
  const found = await nearMisses(await criteriaIn(members, tools), since.toISOString(), tools);
  nearMissLists.set(key, found);
  return found;
}

interface ListedSearch {
  readonly number: SearchNumber;
  readonly members: SearchMembers;
}

const SEARCHES_PER_PAGE = 500;
/** Of members as they are stored, compressed. */
const PAGE_BYTES = 512 * 1_024;

/**
 * A client's searches in the order of their numbers; each page is read when the previous one was consumed. Served by
 * searches_client.
 */
async function* readMembersOf(database: Queryable, clientId: Uuid): AsyncGenerator<readonly ListedSearch[]> {
  for (let after = 0; ; ) {
    const { rows } = await database.query<{ number: SearchNumber; members: StoredMembers }>(
      `select number, members from (
         select number, members, sum(pg_column_size(members)) over (order by number) - pg_column_size(members) as before
         from (
           select number, members from searches where client_id = $1 and number > $2 and deleted_at is null
           order by number limit ${SEARCHES_PER_PAGE}
         ) page
       ) sized where before < ${PAGE_BYTES} order by number`,
      [clientId, after],
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(({ number, members }) => ({ number, members: membersOfStored(members) }));
    after = last.number;
  }
}
