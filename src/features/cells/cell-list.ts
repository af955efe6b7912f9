/**
 * An operator's cells, as listed in the file of `--cells`: a name and the PostgreSQL of that cell per line. A database
 * itself states its cell and version; errors of the file are reported before anything is done.
 */

import { readFile, rename, writeFile } from 'node:fs/promises';
import { UsageError } from '../../cli/command.ts';
import { CommandError, cannotRead, print, reasonOf } from '../../cli/terminal.ts';
import { isCellName, UNNAMED_CELL } from '../../engine/domain/cell.ts';
import { type ClientMark, readCellState, readClientMarks } from '../../engine/store/cell.ts';
import { type DatabasePool, openDatabase } from '../../engine/store/database.ts';
import { NEWEST_MIGRATION } from '../../engine/store/schema.ts';

export interface CellAddress {
  /** `default` is the cell without a name. */
  readonly name: string;
  readonly databaseUrl: string;
}

export interface OpenCell extends CellAddress {
  readonly database: DatabasePool;
}

/** Throws `CommandError` that names the wrong line, and repeats no URL: it contains a password. */
export async function readCells(path: string): Promise<readonly CellAddress[]> {
  if (path === '')
    throw new UsageError('cells needs --cells FILE: a line for each cell, its name and its DATABASE_URL');
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw cannotRead(path, error);
  });
  const cells: CellAddress[] = [];
  for (const [position, line] of text.split('\n').entries()) {
    const [name = '', databaseUrl = '', ...more] = line
      .replace(/^\s*#.*/, '')
      .trim()
      .split(/\s+/);
    if (name === '') continue;
    const fault = faultOf(name, databaseUrl, more, cells);
    if (fault !== null) throw new CommandError(`${path}, line ${position + 1}: ${fault}`);
    cells.push({ name, databaseUrl });
  }
  if (cells.length === 0) throw new CommandError(`${path} names no cell`);
  return cells;
}

function faultOf(
  name: string,
  databaseUrl: string,
  more: readonly string[],
  before: readonly CellAddress[],
): string | null {
  if (!isCellName(name)) return 'a cell is called by 1 to 32 lower-case letters, digits and hyphens between them';
  if (!/^postgres(ql)?:\/\//.test(databaseUrl)) return `behind ${name} stands the URL of its PostgreSQL, postgres://…`;
  if (more.length > 0) return 'a line has a name and a URL';
  if (before.some((cell) => cell.name === name)) return `${name} is named twice`;
  if (before.some((cell) => cell.databaseUrl === databaseUrl)) return 'another cell has the same database';
  return null;
}

/** Throws `CommandError` that names the known ones. */
export function cellNamed(cells: readonly CellAddress[], name: string): CellAddress {
  const cell = cells.find((each) => each.name === name);
  if (cell !== undefined) return cell;
  throw new CommandError(`unknown cell ${name}; known are ${cells.map((each) => each.name).join(', ')}`);
}

/** Runs `work` on the databases of `cells`, and closes them. Throws `CommandError` when one does not match the file. */
export async function withCells<T>(
  cells: readonly CellAddress[],
  work: (opened: readonly OpenCell[]) => Promise<T>,
): Promise<T> {
  const opened = cells.map((cell) => ({
    ...cell,
    database: openDatabase({ url: cell.databaseUrl, connectionsMax: 3, onConnectionLost: () => undefined }),
  }));
  try {
    for (const cell of opened) await assertCell(cell);
    return await work(opened);
  } finally {
    await Promise.all(opened.map(({ database }) => database.end()));
  }
}

async function assertCell({ name, database }: OpenCell): Promise<void> {
  const { cell, newestMigration } = await readCellState(database).catch((cause: Error) => {
    throw new CommandError(`the database of the cell ${name} is not to be reached: ${cause.message}`, { cause });
  });
  if (newestMigration === 0) throw new CommandError(`the cell ${name} has never been started`);
  if (newestMigration < NEWEST_MIGRATION) {
    throw new CommandError(`the cell ${name} is of an older version: start its daemons with this one first`);
  }
  if (newestMigration > NEWEST_MIGRATION) {
    throw new CommandError(`the cell ${name} is of a newer version: ask for this with the program of that version`);
  }
  if (cell === null) throw new CommandError(`the cell ${name} has never been started`);
  if (cell === name) return;
  const known = cell === UNNAMED_CELL ? 'the one without a name (default)' : cell;
  throw new CommandError(`the file calls a database ${name} that is of another cell, ${known}`);
}

/**
 * Writes the map to `file`, atomically, or prints it. Proxies find the cell of a request in it by the prefix of the API
 * key or of the link in an e-mail, so that clients keep both when they move.
 */
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
    // A proxy that reads it meanwhile gets the whole old one.
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
