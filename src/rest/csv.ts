/** Comma-separated values (RFC 4180), in UTF-8. */

export const CSV_TYPE = 'text/csv';

/** What a spreadsheet takes for a formula: foreign text must not be one. */
const FORMULA = /^[=+\-@\t\r]/;

/** Absent values are empty. */
export function csvOf(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(fieldOf).join(',')}\r\n`).join('');
}

function fieldOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return JSON.stringify(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
