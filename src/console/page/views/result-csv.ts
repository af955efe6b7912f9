/** The results of a search as comma-separated values: the service's CSV of all pages. */

import type { FoundList } from '../found.ts';
import type { Rest } from '../rest.ts';
import { save } from './save-file.ts';

const PER_PAGE = 100;

export async function downloadCsv(rest: Rest, found: FoundList): Promise<void> {
  // Without the byte order mark spreadsheets do not recognise UTF-8.
  save(`\ufeff${await readCsv(rest, found)}`, 'text/csv', 'vigie.csv');
}

async function readCsv(rest: Rest, { search, query, total }: FoundList): Promise<string> {
  const pages: string[] = [];
  for (let page = 1; page === 1 || (page - 1) * PER_PAGE < total; page++) {
    const text = await rest.readText(`${search}/properties`, { ...query, page, itemsPerPage: PER_PAGE }, 'text/csv');
    // Each page begins with the names of the columns: only those of the first page are kept.
    pages.push(page === 1 ? text : text.slice(text.indexOf('\n') + 1));
  }
  return pages.join('');
}
