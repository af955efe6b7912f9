/** Results as comma-separated values: for one search, the service's CSV of all pages; otherwise the list. */

import { csvCell } from '../../../csv.ts';
import type { FoundList } from '../found.ts';
import type { Pin } from '../pins.ts';
import type { Rest } from '../rest.ts';

const PER_PAGE = 100;
const COLUMNS = ['property', 'title', 'price', 'pricePerMeter', 'surface', 'room', 'cityName', 'createdAt'] as const;

export async function downloadCsv(rest: Rest, found: FoundList | null, pins: readonly Pin[]): Promise<void> {
  save(found === null ? csvOf(pins) : await readCsv(rest, found));
}

async function readCsv(rest: Rest, { search, query, total }: FoundList): Promise<string> {
  const pages: string[] = [];
  for (let page = 1; page === 1 || (page - 1) * PER_PAGE < total; page++) {
    const text = await rest.readText(`${search}/properties`, { ...query, page, itemsPerPage: PER_PAGE }, 'text/csv');
    // Each page begins with the names of its columns.
    pages.push(page === 1 ? text : text.slice(text.indexOf('\n') + 1));
  }
  return pages.join('');
}

function csvOf(pins: readonly Pin[]): string {
  const rows = pins.map((pin) => {
    const shown = { ...pin, createdAt: new Date(pin.createdAtMs).toISOString() };
    return COLUMNS.map((name) => fieldOf(shown[name]));
  });
  return [COLUMNS, ...rows].map((row) => `${row.join(',')}\r\n`).join('');
}

function fieldOf(value: string | number | null): string {
  return typeof value === 'string' ? csvCell(value) : String(value ?? '');
}

function save(csv: string): void {
  const link = document.createElement('a');
  // Without the byte order mark spreadsheets do not recognise UTF-8.
  link.href = URL.createObjectURL(new Blob(['\ufeff', csv], { type: 'text/csv' }));
  link.download = 'vigie.csv';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
