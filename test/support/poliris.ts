/** Builds files as agencies' software writes them for portals. */

const FIELDS = 335;

/** A line, with its line end; fields have the numbers of the format, from 1. */
export function polirisLine(fields: Readonly<Record<number, string>>): string {
  const values = Array.from({ length: FIELDS - 1 }, (_, at) => `"${fields[at + 1] ?? ''}"`);
  return `${values.join('!#')}!#\n`;
}

export function polirisFile(rows: readonly Readonly<Record<number, string>>[]): Buffer {
  return Buffer.from(rows.map(polirisLine).join(''));
}
