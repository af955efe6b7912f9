/** Of a client's searches those that a property satisfies, then those that it fails by one criterion. */

import { failuresOf } from '../../engine/domain/criteria.ts';
import type { SearchNumber, Uuid } from '../../engine/domain/ids.ts';
import { criteriaOf, type SearchMembers } from '../../engine/domain/search.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { membersOfStored, type StoredMembers } from '../../engine/store/searches.ts';
import { siteCategoryNames } from '../../engine/store/site-categories.ts';
import type { QueryTools } from './examination.ts';
import type { QueryKinds } from './queries.ts';
import { createWorkSlices } from './work-slices.ts';

type Kind = QueryKinds['nearSearches'];

export async function nearSearches(
  { clientId, facts }: Kind['asked'],
  { database, cancellation }: Pick<QueryTools, 'database' | 'cancellation'>,
): Promise<Kind['answer']> {
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
}

interface ListedSearch {
  readonly number: SearchNumber;
  readonly members: SearchMembers;
}

const SEARCHES_PER_PAGE = 500;
/** Of members as they are stored, compressed. */
const PAGE_BYTES = 512 * 1_024;

/** A client's searches in the order of their numbers; each page is read when the one before was taken. Served by searches_client. */
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
