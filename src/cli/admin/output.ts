/** What `vigie admin` shows: tables for people, protobuf's JSON for scripts. */

import { print, styled } from '../terminal.ts';

export interface Column<T> {
  readonly title: string;
  readonly value: (row: T) => string | number | Date | undefined;
}

const GAP = '  ';
const CELL_LENGTH_MAX = 60;

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** Numbers on the right, the rest on the left; nothing but a dash for an empty table. */
export function printTable<T>(rows: readonly T[], columns: readonly Column<T>[]): void {
  if (rows.length === 0) return print('–');
  const cells = rows.map((row) => columns.map(({ value }) => show(value(row))));
  const isNumber = columns.map(({ value }) => rows.every((row) => typeof value(row) === 'number'));
  const widths = columns.map(({ title }, i) =>
    Math.max(title.length, ...cells.map((row) => (row[i] as string).length)),
  );
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, i) => (isNumber[i] ? text.padStart(widths[i] as number) : text.padEnd(widths[i] as number)))
      .join(GAP)
      .trimEnd();
  print(styled('bold', line(columns.map(({ title }) => title))));
  for (const row of cells) print(line(row));
}

type Facts = Readonly<Record<string, string | number | boolean | Date | undefined>>;

/** One fact a line, `openCount` as `open count`; those of `verbatim` under the names that they have. What is empty is left out. */
export function printFacts(facts: Facts, verbatim: Facts = {}): void {
  const named = Object.entries(facts).map(
    ([name, value]) => [name.replaceAll(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`), value] as const,
  );
  const shown = [...named, ...Object.entries(verbatim)].flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[printable(name), value] as const],
  );
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  for (const [name, value] of shown) print(`${styled('dim', name.padEnd(width))}${GAP}${full(value)}`);
}

/** `collection/id` without its collection. */
export function idOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

/** `STATE_RETRY_WAIT` as `retry_wait`. */
export function stateOf(state: string): string {
  return state.replace(/^STATE_/, '').toLowerCase();
}

/** JSON without the members that say nothing: null, `[]`, and objects of these. Other text stays as it is. */
export function withoutBlanks(text: string): string {
  try {
    return JSON.stringify(pruned(JSON.parse(text))) ?? 'anything';
  } catch {
    return text;
  }
}

function pruned(value: unknown): unknown {
  if (value === null || (Array.isArray(value) && value.length === 0)) return undefined;
  if (Array.isArray(value) || typeof value !== 'object') return value;
  const members = Object.entries(value).flatMap(([name, member]) => {
    const kept = pruned(member);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

function show(value: string | number | Date | undefined): string {
  const text = full(value).replaceAll(/\s+/g, ' ');
  return text.length > CELL_LENGTH_MAX ? `${text.slice(0, CELL_LENGTH_MAX - 1)}…` : text;
}

function full(value: string | number | boolean | Date | undefined): string {
  if (value instanceof Date) return value.toISOString();
  return printable(String(value ?? ''));
}

/** What comes from outside must not steer the terminal. */
function printable(text: string): string {
  // oxlint-disable-next-line eslint/no-control-regex -- exactly those
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd');
}
