/** What `--help` shows: of one command what it takes, with an example; of several what each is for. */

import { VERSION } from '../version.ts';
import type { Command, CommandGroup, Options } from './command.ts';

export function helpOf({ words, args = '', summary, details, options = {}, example, group }: Command): string {
  const flags = Object.entries(options).map(([name, { value }]) => `[${flagOf(name, value)}]`);
  return [
    ['vigie', words, args, ...flags].filter((part) => part !== '').join(' '),
    '',
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    ...(details === undefined ? [] : [details]),
    ...sectionOf('Options', options),
    ...['', 'Example', `  ${example}`],
    ...(group === undefined ? [] : sectionOf(group.optionsTitle, group.options)),
  ].join('\n');
}

/** `path`: the words that were asked for, empty for all; `others`: groups that are not loaded. */
export function helpOfAll(path: string, commands: readonly Command[], others: readonly CommandGroup[]): string {
  const group = commands[0]?.group;
  const prefix = group === undefined ? 0 : `${group.words} `.length;
  const listed = path === '' ? [...commands, ...others] : commands;
  const rows = listed.map(({ words, summary, ...entry }) => {
    const args = 'args' in entry ? ` ${entry.args}` : '';
    return [`${words.slice(prefix)}${args}`, summary] as const;
  });
  return [
    path === ''
      ? `Vigie ${VERSION}: saved-search alerts for real-estate adverts`
      : `vigie ${path}${path === group?.words ? `: ${group.summary}` : ''}`,
    ...['', ...(group === undefined ? aligned(rows) : inGroups(aligned(rows)))],
    ...['', `vigie ${path}${path === '' ? '' : ' '}COMMAND --help says what a command takes, with an example.`],
    ...(group === undefined ? [] : [...sectionOf(group.optionsTitle, group.options), '', group.notes]),
    ...(path === '' ? ['Settings come from the environment; config/default.env lists them.'] : []),
  ].join('\n');
}

function sectionOf(title: string, options: Options): readonly string[] {
  const rows = Object.entries(options).map(([name, { value, summary }]) => [flagOf(name, value), summary] as const);
  return rows.length === 0 ? [] : ['', title, ...aligned(rows)];
}

function flagOf(name: string, value = ''): string {
  return `--${name} ${value}`.trim();
}

function aligned(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}`);
}

/** An empty line before each new first word. */
function inGroups(lines: readonly string[]): readonly string[] {
  const first = (line: string | undefined) => line?.trim().split(' ')[0];
  return lines.flatMap((line, at) => (at > 0 && first(line) !== first(lines[at - 1]) ? ['', line] : [line]));
}
