/** Files as agencies' software writes them for portals. */

const FIELDS = 335;

/** By the numbers of the format, from 1; with its line end. */
export function polirisLine(fields: Readonly<Record<number, string>>): string {
  const values = Array.from({ length: FIELDS - 1 }, (_, at) => `"${fields[at + 1] ?? ''}"`);
  return `${values.join('!#')}!#\n`;
}

export function polirisFile(rows: readonly Readonly<Record<number, string>>[]): Buffer {
  return Buffer.from(rows.map(polirisLine).join(''));
}
