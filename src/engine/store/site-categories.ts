/** Site categories: the values of an advert's `publisher.category` that operators have defined. */

import type { SiteCategoryName } from '../domain/search.ts';
import { type Database, type Queryable, transaction } from './database.ts';

export interface SiteCategory {
  readonly id: number;
  readonly name: string;
}

/** A search names the category, so it must stay: without it, the search would match other adverts. */
export class SiteCategoryInUseError extends Error {
  readonly code = 'SITE_CATEGORY_IN_USE';
}

/** All site categories in French alphabetical order. A sequential scan of about ten rows. */
export async function listSiteCategories(database: Queryable): Promise<readonly SiteCategory[]> {
  const { rows } = await database.query<SiteCategory>(
    'select id, name from site_categories order by name collate "fr-x-icu"',
  );
  return rows;
}

/** Reads the current names. Resolves with a function from id to name. */
export async function siteCategoryNames(database: Queryable): Promise<SiteCategoryName> {
  const names = new Map((await listSiteCategories(database)).map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? null;
}

/**
 * Replaces the site categories with `names`. Categories that stay keep their ids. If a search names a category that
 * would be removed, throws `SiteCategoryInUseError` and changes nothing.
 */
export async function setSiteCategories(
  database: Database,
  names: readonly string[],
): Promise<readonly SiteCategory[]> {
  return transaction(database, async (client) => {
    // Scans the table, which is tiny.
    const { rows: gone } = await client.query<SiteCategory>(
      'delete from site_categories where name <> all ($1::text[]) returning id, name',
      [names],
    );
    const [used] = gone.length === 0 ? [] : await findUsed(client, gone);
    if (used !== undefined)
      throw new SiteCategoryInUseError(`Searches name the site category ${used.name}. Keep it or change the searches.`);
    // Served by the unique index on `name`.
    await client.query('insert into site_categories (name) select unnest($1::text[]) on conflict (name) do nothing', [
      names,
    ]);
    return listSiteCategories(client);
  });
}

/** Scans every search. An index would cost more, because every write would maintain it and operators rarely do this. */
async function findUsed(client: Queryable, categories: readonly SiteCategory[]): Promise<readonly SiteCategory[]> {
  const { rows } = await client.query<{ readonly id: number }>(
    `select category.id from unnest($1::int[]) as category (id)
     where exists (
       select from searches,
         lateral (select members union all select json_array_elements(members -> 'alternatives')) criteria (own)
       where deleted_at is null
         and ((own -> 'includedSiteCategories')::jsonb @> to_jsonb(category.id)
           or (own -> 'excludedSiteCategories')::jsonb @> to_jsonb(category.id)))`,
    [categories.map(({ id }) => id)],
  );
  const used = new Set(rows.map(({ id }) => id));
  return categories.filter(({ id }) => used.has(id));
}
