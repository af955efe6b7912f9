/** The thread that answers queries (queries.ts). It has its own connections, and reloads changed medians and points. */

import { platform, setPriority } from 'node:os';
import { answerRequests, settingsOfThread } from '../../engine/actor/worker-thread.ts';
import { type Criteria, satisfies } from '../../engine/domain/criteria.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import { readFrenchForms } from '../../engine/domain/inflection/lemmas.ts';
import { requestedCombinations } from '../../engine/domain/point-distances.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
import { criteriaOf, type SearchMembers } from '../../engine/domain/search.ts';
import { followPoints } from '../../engine/maintenance/followed-points.ts';
import { cancellable } from '../../engine/store/cancellable.ts';
import { openDatabase, type Queryable } from '../../engine/store/database.ts';
import { followMedians } from '../../engine/store/market-medians.ts';
import { membersOfStored, readSearch, type StoredMembers } from '../../engine/store/searches.ts';
import { siteCategoryNames } from '../../engine/store/site-categories.ts';
import { createWorkSlices, type QueryTools } from './examination.ts';
import { type AskedProperties, foundProperties, type ListedProperties } from './found-properties.ts';
import { withDistances } from './nearby-points.ts';
import { type FoundPair, readFoundPairs, readMarked } from './pair-rows.ts';
import { type PreviewQuery, previewFigures } from './preview-figures.ts';
import { sampleStartAt } from './property-scans.ts';

/** On Linux each thread has its own priority. A low one gives precedence to recording and requests. */
const NICENESS = 10;
if (platform() === 'linux') setPriority(0, NICENESS);
// Reads the forms of French words at the start, because reading them during a query would delay all queries.
readFrenchForms();

const { databaseUrl, ...settings } = settingsOfThread() as {
  readonly databaseUrl: string;
  readonly connectionsMax: number;
  readonly statementTimeoutMs: number;
};
// A broken idle connection needs no report, because the next statement opens another.
const pool = openDatabase({ url: databaseUrl, ...settings });

const storedMedians = followMedians(pool);
const points = followPoints(pool);

/** Keyed by query name. `foundProperties` resolves with null if the search does not exist. */
const ANSWERS = {
  async preview(
    { members, ...query }: Omit<PreviewQuery, 'criteria'> & { readonly members: SearchMembers },
    tools: QueryTools,
  ) {
    const criteria = await criteriaIn(members, tools);
    return previewFigures({ ...query, criteria }, await withPoints(tools, criteria));
  },

  async foundProperties(
    { clientId, searchId, mark, ...query }: AskedProperties & Readonly<Record<'clientId' | 'searchId', Uuid>>,
    tools: QueryTools,
  ): Promise<ListedProperties | null> {
    const search = await readSearch(tools.database, clientId, searchId);
    if (search === null) return null;
    const { database } = tools;
    const criteria = await criteriaIn(search.members, tools);
    const marked = await readMarked(database, search.number, mark ?? 'hidden');
    const found = await foundProperties({ ...query, criteria, mark, marked }, await withPoints(tools, criteria));
    const uuids = found.page.map(({ uuid }) => uuid);
    const pairs = await readFoundPairs(database, search.number, uuids);
    const page = found.page.map((one) => ({ ...one, ...(pairs.get(one.uuid) as FoundPair) }));
    return { ...found, page, hidePropertyContact: search.members.hidePropertyContact };
  },

  /** The client's searches that the property satisfies, ordered by title. */
  async satisfiedSearches(
    { clientId, ...requested }: { readonly clientId: Uuid; readonly facts: Omit<PropertyFacts, 'markets'> },
    { database, cancelled, medians }: QueryTools,
  ): Promise<readonly SearchNumber[]> {
    const siteCategoryName = await siteCategoryNames(database);
    const slices = createWorkSlices({ cancelled });
    // Distances of one search are kept for the next ones, because each measurement reads the revision of the points.
    let compared = { facts: { ...requested.facts, markets: medians.markets }, medians };
    const satisfied: SearchNumber[] = [];
    for await (const searches of readMembersOf(database, clientId)) {
      for (const { number, members } of searches) {
        const criteria = criteriaOf(members, siteCategoryName);
        compared = await withDistances(compared, criteria, points);
        if (satisfies(criteria, compared.facts)) satisfied.push(number);
        await slices.yieldIfDue();
      }
    }
    return inTitleOrder(database, clientId, satisfied);
  },
};

export type Answers = typeof ANSWERS;

interface Query {
  readonly kind: keyof Answers;
  readonly requested: unknown;
}

answerRequests(async (query, cancelled) => {
  const { kind, requested } = query as Query;
  const database = cancellable(pool, cancelled);
  const tools: QueryTools = {
    database,
    cancelled,
    sampleStart: sampleStartAt(new Date()),
    medians: await storedMedians.renew(),
  };
  const answer = ANSWERS[kind] as (requested: unknown, tools: QueryTools) => Promise<unknown>;
  return answer(requested, tools);
});

/** Adds the points of interest of the facilities and attributes that the criteria name. */
async function withPoints(tools: QueryTools, criteria: Criteria): Promise<QueryTools> {
  const nearest = await points.renew(requestedCombinations(criteria));
  return { ...tools, medians: { ...tools.medians, nearest } };
}

async function criteriaIn(members: SearchMembers, { database }: QueryTools): Promise<Criteria> {
  return criteriaOf(members, await siteCategoryNames(database));
}

const SEARCHES_PER_PAGE = 500;
/** Size of a page of members, compressed as they are stored. */
const PAGE_BYTES = 512 * 1_024;

/** A client's searches by number, each page read after the previous one is consumed. Served by searches_client. */
async function* readMembersOf(database: Queryable, clientId: Uuid) {
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

/** Leaves out searches that have since been deleted. Served by searches_client_title. */
async function inTitleOrder(
  database: Queryable,
  clientId: Uuid,
  numbers: readonly SearchNumber[],
): Promise<readonly SearchNumber[]> {
  const { rows } = await database.query<{ number: SearchNumber }>(
    `select number from searches where client_id = $1 and deleted_at is null and number = any($2)
     order by title collate "fr-x-icu", number`,
    [clientId, numbers],
  );
  return rows.map(({ number }) => number);
}
