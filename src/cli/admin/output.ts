/** The output of `vigie admin`: tables and facts for people, JSON for scripts. */

import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { escapedJson, print, printable, styled } from '../terminal.ts';

export interface Column {
  readonly title: string;
  readonly value: (row: JsonObject) => JsonValue | undefined;
}

/** Parses columns such as `PAUSED_SINCE=pauseTime`: a title and a member. Of `name` and `client`, shows only the id. */
export function columns(text: string): readonly Column[] {
  return text.split(' ').map((column) => {
    const [title = '', member = ''] = column.split('=');
    return {
      title: title.replaceAll('_', ' '),
      value: (row) => (['name', 'client'].includes(member) ? idOf(row[member]) : row[member]),
    };
  });
}

const GAP = '  ';
const CELL_LENGTH_MAX = 60;

/** Prints JSON, with states written as options accept them. */
export function printJson(value: unknown): void {
  print(
    escapedJson(JSON.stringify(value, (name, member) => (name === 'state' ? full(member as JsonValue) : member), 2)),
  );
}

/** Aligns numbers to the right and text to the left. Prints a dash for an empty table. */
export function printTable(rows: readonly JsonObject[], shown: readonly Column[]): void {
  if (rows.length === 0) return print('–');
  const cells = rows.map((row) => shown.map(({ value }) => short(value(row))));
  const isNumber = shown.map((_, i) => cells.every((row) => /^-?\d+(?:\.\d+)?$/.test(row[i] as string)));
  const widths = shown.map(({ title }, i) => Math.max(title.length, ...cells.map((row) => (row[i] as string).length)));
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, i) => (isNumber[i] ? text.padStart(widths[i] as number) : text.padEnd(widths[i] as number)))
      .join(GAP)
      .trimEnd();
  print(styled('bold', line(shown.map(({ title }) => title))));
  for (const row of cells) print(line(row));
}

/**
 * Prints one fact per line. Prints `openCount` as `open count`, but keeps the names in `verbatim`. Omits empty values,
 * lists and objects.
 */
export function printFacts(facts: JsonObject, verbatim: JsonObject = {}): void {
  const named = Object.entries(facts).map(
    ([name, value]) => [name.replaceAll(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`), value] as const,
  );
  const shown = [...named, ...Object.entries(verbatim)].flatMap(([name, value]) =>
    textOf(value) === '' ? [] : [[printable(name), value] as const],
  );
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  for (const [name, value] of shown)
    print(`${styled('dim', name.padEnd(width))}${GAP}${full(value).replaceAll('\n', ' ')}`);
}

/** Prints how to get the next page if the list is incomplete. */
export function printMore({ nextPageToken }: JsonObject): void {
  if (nextPageToken) print(`The list is incomplete. Continue with --page-token ${textOf(nextPageToken)}`);
}

/** The id in `collection/id`. */
export function idOf(name: JsonValue | undefined): string {
  const text = textOf(name);
  return text.slice(text.lastIndexOf('/') + 1);
}

/** The value as text; empty for an absent or unspecified value, a list or an object. */
export function textOf(value: JsonValue | undefined): string {
  return value === undefined || value === 'STATE_UNSPECIFIED' || typeof value === 'object' ? '' : String(value);
}

export function listOf(value: JsonValue | undefined): readonly JsonObject[] {
  return (value ?? []) as JsonObject[];
}

/** JSON without members that are null or empty, at any depth; `anything` if none is left. Other text is unchanged. */
export function withoutBlanks(text: string): string {
  function kept(this: unknown, _name: string, member: unknown): unknown {
    const isBlank = member === null || (typeof member === 'object' && Object.keys(member).length === 0);
    // An item keeps its position in its list.
    return isBlank && !Array.isArray(this) ? undefined : member;
  }
  try {
    return JSON.stringify(JSON.parse(text, kept)) ?? 'anything';
  } catch {
    return text;
  }
}

function short(value: JsonValue | undefined): string {
  const text = full(value).replaceAll(/\s+/g, ' ');
  return text.length > CELL_LENGTH_MAX ? `${text.slice(0, CELL_LENGTH_MAX - 1)}…` : text;
}

/** The whole text of a value, with control characters replaced; `STATE_RETRY_WAIT` becomes `retry_wait`. */
function full(value: JsonValue | undefined): string {
  const text = printable(textOf(value));
  return /^STATE_[A-Z_]+$/.test(text) ? text.slice('STATE_'.length).toLowerCase() : text;
}
