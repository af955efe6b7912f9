/** A client's searches as a list, a page at a time. */

import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { Search } from '../domain/search.ts';
import { foldText } from '../domain/text.ts';
import type { Queryable } from './database.ts';
import { OTHER_COLUMNS, SEARCH_COLUMNS, type SearchRow, searchOfRow } from './searches.ts';

export interface SearchListQuery {
  /** Part of the title, ignoring case, accents, apostrophes and hyphens. */
  readonly title: string | null;
  readonly notificationEnabled: boolean | null;
  /** In the French order of titles, or in order of creation. */
  readonly order: 'title' | 'creation';
  readonly direction: 'asc' | 'desc';
  readonly offset: number;
  readonly limit: number;
}

export interface SearchPage {
  /** Null if they are too large for memory: `readSearchesOf` then reads them one by one. */
  readonly searches: readonly Search[] | null;
  readonly numbers: readonly SearchNumber[];
  /** The number of searches that pass the filters. */
  readonly total: number;
}

/** Compressed bytes of the stored members of a page: some ten thousand cities, megabytes in an answer. */
const PAGE_BYTES_MAX = 64 * 1024;

/** The size is read from the row, without the out-of-line value. */
const LISTED_COLUMNS = `${OTHER_COLUMNS},
  case when sum(pg_column_size(members)) over () <= ${PAGE_BYTES_MAX} then members end as members`;

/** One page of a client's searches. */
export async function listSearches(database: Queryable, clientId: Uuid, query: SearchListQuery): Promise<SearchPage> {
  const parameters: unknown[] = [clientId];
  const conditions = ['client_id = $1', 'deleted_at is null'];
  if (query.title !== null) {
    parameters.push(`%${foldText(query.title)}%`);
    conditions.push(`title_folded like $${parameters.length}`);
    const signs = signsOf(query.title);
    if (signs.length > 0) {
      // Folded titles have no signs, so the searches that match the words are read and compared.
      parameters.push(signs);
      conditions.push(
        `not exists (select from unnest($${parameters.length}::text[]) sign where strpos(title, sign) = 0)`,
      );
    }
  }
  if (query.notificationEnabled !== null) {
    parameters.push(query.notificationEnabled);
    conditions.push(`notification_enabled = $${parameters.length}`);
  }
  const where = conditions.join(' and ');
  const order = orderOf(query);
  // An index-only scan of searches_client or searches_client_title selects the rows; the primary key serves them.
  const page = database.query<SearchRow>(
    `select ${LISTED_COLUMNS} from searches where number in (
       select number from searches where ${where} order by ${order}
       limit $${parameters.length + 1} offset $${parameters.length + 2}
     ) order by ${order}`,
    [...parameters, query.limit, query.offset],
  );
  // An index-only scan of searches_client, filters included.
  const count = database.query<{ total: number }>(
    `select count(*)::integer as total from searches where ${where}`,
    parameters,
  );
  const [{ rows }, { rows: counted }] = await Promise.all([page, count]);
  return {
    searches: rows.some(({ members }) => members === null) ? null : rows.map(searchOfRow),
    numbers: rows.map(({ number }) => number),
    total: counted[0]?.total ?? 0,
  };
}

/** Searches in this order, without those deleted meanwhile. Each is read when the previous one was consumed. */
export async function* readSearchesOf(
  database: Queryable,
  clientId: Uuid,
  numbers: readonly SearchNumber[],
): AsyncGenerator<Search> {
  for (const number of numbers) {
    // Served by the primary key.
    const { rows } = await database.query<SearchRow>(
      `select ${SEARCH_COLUMNS} from searches where number = $1 and client_id = $2 and deleted_at is null`,
      [number, clientId],
    );
    if (rows[0] !== undefined) yield searchOfRow(rows[0]);
  }
}

/** Characters that folding treats as the end of a word, except those with several spellings. */
function signsOf(text: string): readonly string[] {
  const signs = text.match(/[\p{P}\p{S}]/gu) ?? [];
  return [...new Set(signs)].filter((sign) => foldText(sign) === '' && !/['’ʼ´`\p{Pd}]/u.test(sign));
}

function orderOf({ order, direction }: SearchListQuery): string {
  return order === 'title' ? `title collate "fr-x-icu" ${direction}, number ${direction}` : `number ${direction}`;
}
