/** Of a client's searches those that a property satisfies, then those that it fails by one criterion. */

import { createWorkSlices } from '../../engine/actor/work-slices.ts';
import { failuresOf } from '../../engine/domain/criteria.ts';
import type { SearchNumber } from '../../engine/domain/ids.ts';
import { criteriaOf } from '../../engine/domain/search.ts';
import { readMembersOf } from '../../engine/store/explanations.ts';
import { siteCategoryNames } from '../../engine/store/site-categories.ts';
import type { QueryTools } from './examination.ts';
import type { QueryKinds } from './queries.ts';

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
