/** Lists the searches of a client, page by page. */

import type { SearchNumber, Uuid } from '../domain/ids.ts';
import type { EmailStatus, MailRules } from '../domain/mail.ts';
import type { Search } from '../domain/search.ts';
import { foldText } from '../domain/text.ts';
import type { Queryable } from './database.ts';
import { emailStatusSql } from './mail-conditions.ts';
import { OTHER_COLUMNS, SEARCH_COLUMNS, type SearchRow, searchOfRow } from './searches.ts';

export interface SearchListQuery {
  /** A part of the title, ignoring case, accents, apostrophes and hyphens. */
  readonly title: string | null;
  /** A text of which each word must be part of `searchableText`. */
  readonly text?: string | null;
  /** The e-mail address of a recipient, ignoring case. */
  readonly recipient?: string | null;
  readonly emailStatus?: { readonly is: EmailStatus; readonly rules: MailRules } | null;
  readonly notificationEnabled: boolean | null;
  /** By title in French alphabetical order, or by creation. */
  readonly order: 'title' | 'creation';
  readonly direction: 'asc' | 'desc';
  readonly offset: number;
  readonly limit: number;
}

export interface SearchPage {
  /** Null if the page is too large for memory. Then call `readSearchesOf`, which reads one search at a time. */
  readonly searches: readonly Search[] | null;
  readonly numbers: readonly SearchNumber[];
  /** Number of searches on all pages. */
  readonly total: number;
}

/**
 * Maximum compressed bytes of the stored members of a page. These may contain about ten thousand cities, which take
 * megabytes in an answer.
 */
const PAGE_BYTES_MAX = 64 * 1024;

/** PostgreSQL reads the size from the row itself, without reading an out-of-line value. */
const LISTED_COLUMNS = `${OTHER_COLUMNS},
  case when sum(pg_column_size(members)) over () <= ${PAGE_BYTES_MAX} then members end as members`;

/** One page of a client's searches. */
export async function listSearches(database: Queryable, clientId: Uuid, query: SearchListQuery): Promise<SearchPage> {
  const { where, parameters } = filterOf(clientId, query);
  const order = orderOf(query);
  // Served by an index-only scan of searches_client or searches_client_title, unless a filter needs the client's rows,
  // or by searches_mail for a recipient. The rows of the page are served by the primary key.
  const page = database.query<SearchRow>(
    `select ${LISTED_COLUMNS} from searches where number in (
       select number from searches where ${where} order by ${order}
       limit $${parameters.length + 1} offset $${parameters.length + 2}
     ) order by ${order}`,
    [...parameters, query.limit, query.offset],
  );
  // Served by the same indexes.
  const count = database.query<{ total: number }>(
    `select count(*)::integer as total from searches where ${where}`,
    parameters,
  );
  const [{ rows }, { rows: counting }] = await Promise.all([page, count]);
  return {
    searches: rows.some(({ members }) => members === null) ? null : rows.map(searchOfRow),
    numbers: rows.map(({ number }) => number),
    total: counting[0]?.total ?? 0,
  };
}

function filterOf(clientId: Uuid, query: SearchListQuery) {
  const parameters: unknown[] = [clientId];
  const conditions = ['client_id = $1', 'deleted_at is null'];
  const require = (value: unknown, condition: (parameter: string) => string): void => {
    parameters.push(value);
    conditions.push(condition(`$${parameters.length}`));
  };
  if (query.title !== null) {
    require(`%${foldText(query.title)}%`, (folded) => `title_folded like ${folded}`);
    const signs = signsOf(query.title);
    // Folded titles contain no signs, so signs are looked up in the titles themselves.
    if (signs.length > 0)
      require(signs, (all) => `not exists (select from unnest(${all}::text[]) sign where strpos(title, sign) = 0)`);
  }
  const { text, recipient, emailStatus } = query;
  if (typeof text === 'string') {
    const words = text.split(/\s+/).map(foldText).filter(Boolean);
    const patterns = words.map((word) => `%${word}%`);
    // A text that consists only of signs has no words and matches nothing.
    require(patterns, (all) => `cardinality(${all}::text[]) > 0 and searchable like all (${all})`);
  }
  // A subquery computes the key only once instead of once for each row.
  if (recipient) require(recipient, (address) => `mail_key = (select mail_key_of($1, ${address}))`);
  if (emailStatus) require(emailStatus.is, (status) => `${emailStatusSql(emailStatus.rules)} = ${status}`);
  if (query.notificationEnabled !== null)
    require(query.notificationEnabled, (isEnabled) => `notification_enabled = ${isEnabled}`);
  return { where: conditions.join(' and '), parameters };
}

/** Yields searches in the given order, except deleted ones. Each is read after the previous one was consumed. */
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

/** The signs in a text that separate words in folding, except apostrophes and hyphens, which have several forms. */
function signsOf(text: string): readonly string[] {
  const signs = text.match(/[\p{P}\p{S}]/gu) ?? [];
  return [...new Set(signs)].filter((sign) => foldText(sign) === '' && !/['’ʼ´`\p{Pd}]/u.test(sign));
}

function orderOf({ order, direction }: SearchListQuery): string {
  return order === 'title' ? `title collate "fr-x-icu" ${direction}, number ${direction}` : `number ${direction}`;
}
