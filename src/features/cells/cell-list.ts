/**
 * The cells that an operator has, as the file of `--cells` names them: a name and the PostgreSQL of that cell a line. A
 * database says itself which cell it is of and which version it has; errors of the file are reported before anything
 * is done.
 */

import { readFile } from 'node:fs/promises';
import { UsageError } from '../../cli/command.ts';
import { CommandError, cannotRead } from '../../cli/terminal.ts';
import { isCellName, UNNAMED_CELL } from '../../engine/domain/cell.ts';
import { readCellState } from '../../engine/store/cell.ts';
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

/** Throws `CommandError` that names the line at fault, and repeats no URL: it has a password. */
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

/** Runs `work` on the databases of `cells`, and closes them. Throws `CommandError` when one is not what the file says. */
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
