/**
 * `vigie cells map`: which cell a request is for, by what it shows. Proxies look it up with the prefix of the API key or
 * of the link in an e-mail, so that clients keep both when they move.
 */

import { rename, writeFile } from 'node:fs/promises';
import { CommandError, print, reasonOf } from '../../cli/terminal.ts';
import { type ClientMark, readClientMarks } from '../../engine/store/cell.ts';
import type { OpenCell } from './cell-list.ts';

/** Writes the map to `file`, at once, or prints it. */
export async function writeMap(cells: readonly OpenCell[], file: string): Promise<void> {
  const lines: string[] = [];
  const seen = new Map<string, ClientMark & { readonly cell: string }>();
  for (const { name: cell, database } of cells) {
    for (const { mark, clientName } of await readClientMarks(database)) {
      const other = seen.get(mark);
      if (other !== undefined && other.cell !== cell) throw alike(mark, [other, { mark, clientName, cell }]);
      if (other === undefined) lines.push(`${mark} ${cell};`);
      seen.set(mark, { mark, clientName, cell });
    }
  }
  const text = ['# Made by `vigie cells map`: what a request shows, and its cell.', ...lines.sort()].join('\n');
  if (file === '') return print(text);
  try {
    // A proxy that reads it meanwhile has the old one, whole.
    await writeFile(`${file}.new`, `${text}\n`);
    await rename(`${file}.new`, file);
  } catch (error) {
    throw new CommandError(`cannot write ${file}: ${reasonOf(error as Error)}`, { cause: error });
  }
  process.stderr.write(`${lines.length} keys and links of ${cells.length} cells; let the proxies read it anew\n`);
}

/** Two prefixes of 32 random bits, by chance. */
function alike(mark: string, whose: readonly { readonly cell: string; readonly clientName: string }[]): CommandError {
  const holders = whose.map(({ cell, clientName }) => `${clientName} (${cell})`).join(' and ');
  return new CommandError(`keys of ${holders} begin alike, ${mark}: revoke one of them and make another`);
}
