/** Site categories: what `publisher.category` of an advert may be called, named by the operators. */

import type { Queryable } from './database.ts';

export interface SiteCategory {
  readonly id: number;
  readonly name: string;
}

/** In order of name, as French sorts it. A sequential scan: there are some ten. */
export async function listSiteCategories(database: Queryable): Promise<readonly SiteCategory[]> {
  const { rows } = await database.query<SiteCategory>(
    'select id, name from site_categories order by name collate "fr-x-icu"',
  );
  return rows;
}
