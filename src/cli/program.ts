/**
 * Finds the command of a typed line in the table. Options may precede, separate and follow the words. An unknown option
 * is reported together with the most similar known option.
 */

import { parseArgs } from 'node:util';
import { nearestHint } from '../engine/domain/nearest-name.ts';
import { VERSION } from '../version.ts';
import { type Command, type CommandGroup, type Input, inputOf, type Options, UsageError } from './command.ts';
import { CommandError, print, printable } from './terminal.ts';

export interface CommandTable {
  readonly commands: readonly Command[];
  readonly groups: readonly CommandGroup[];
}

const ALWAYS: Options = { help: { type: 'boolean', short: 'h', summary: 'show the arguments of a command' } };

/** Runs a command and sets the exit code. Throws errors that neither the user nor a server has caused. */
export async function runProgram(table: CommandTable, args: readonly string[]): Promise<void> {
  process.stdout.on('error', leaveQuietly);
  try {
    await run(table, args);
  } catch (error) {
    if (!isExpected(error)) throw error;
    process.stderr.write(`vigie: ${printable(error.message)}\n`);
    process.exitCode = error instanceof CommandError ? error.exitCode : 1;
  }
}

async function run(table: CommandTable, args: readonly string[]): Promise<void> {
  const { commands, groups } = await namedBy(args, table);
  const { words, command, isHelp, options, rest } = read(args, commands);
  const isKnown = (name: string) => (command === null ? commands : [command]).some((each) => name in optionsOf(each));
  const unknown = options.find((name) => !isKnown(name));
  if (command !== null && isHelp) return print(helpOf(command));
  if (unknown !== undefined) throw unknownOption(unknown, command, commands);
  if (command !== null) return runCommand(command, rest);
  const path = words.join(' ');
  const topics = commands.filter((each) => path === '' || each.words.startsWith(`${path} `));
  if (topics.length === 0) throw unknownCommand(words, [...commands, ...groups]);
  if (!isHelp && args.length > words.length) throw new UsageError(`Name a command.\n${hintOf(path)}`);
  print(helpOfAll(path, topics, groups));
}

/** Loads the groups that the line names, and adds their commands to the table. */
async function namedBy(args: readonly string[], { commands, groups }: CommandTable): Promise<CommandTable> {
  const named = groups.filter(({ words }) => args.includes(words));
  const loaded = await Promise.all(
    named.map(async (group) =>
      (await group.load()).map((command) => ({ ...command, words: `${group.words} ${command.words}`, group })),
    ),
  );
  return { commands: [...commands, ...loaded.flat()], groups: groups.filter((group) => !named.includes(group)) };
}

/** `words` may end with arguments of the command. `rest` is the line without the words of the command. */
function read(args: readonly string[], commands: readonly Command[]) {
  const options = Object.assign({}, ...commands.map(optionsOf)) as Options;
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const named = tokens.filter((token) => token.kind === 'positional');
  const typed = named.map(({ value }) => value);
  const find = (words: readonly string[]) =>
    commands.find((command) => `${words.join(' ')} `.startsWith(`${command.words} `)) ?? null;
  const isRequested = find(typed) === null && typed.includes('help');
  const words = isRequested ? typed.filter((word) => word !== 'help') : typed;
  const command = find(words);
  const taken = named.slice(0, command?.words.split(' ').length).map(({ index }) => index);
  const names = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []));
  return {
    words,
    command,
    isHelp: isRequested || names.includes('help'),
    options: names,
    rest: args.filter((_, index) => !taken.includes(index)),
  };
}

function optionsOf({ group, options }: Command): Options {
  return { ...group?.options, ...options, ...ALWAYS };
}

async function runCommand(command: Command, args: readonly string[]): Promise<void> {
  try {
    await command.run(inputFor(command, args));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${error.message}\n${hintOfOne(command)}`, { cause: error });
  }
}

function inputFor(command: Command, args: readonly string[]): Input {
  const { words, args: shown = '' } = command;
  const { positionals, values } = parsed(args, optionsOf(command));
  const wanted = shown.split(' ').filter((name) => name !== '');
  const isTooFew = positionals.length < wanted.filter((name) => !name.startsWith('[')).length;
  const isTooMany = positionals.length > wanted.length && !shown.includes('…');
  if (isTooFew || isTooMany) throw new UsageError(`${words} takes ${shown || 'no arguments'}.`);
  return inputOf(positionals, values);
}

function parsed(args: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function unknownOption(name: string, command: Command | null, commands: readonly Command[]): UsageError {
  const known = (command === null ? commands : [command]).flatMap((each) => Object.keys(optionsOf(each)));
  const hint = command === null ? hintOf('') : hintOfOne(command);
  return new UsageError(`Unknown option '--${name}'${nearestHint(name, known, '--')}.\n${hint}`);
}

/** The error for the first word that no command has at its position. */
function unknownCommand(words: readonly string[], known: readonly { readonly words: string }[]): UsageError {
  let path = '';
  for (const word of words) {
    const start = path;
    const ways = known.flatMap((each) => (`${each.words} `.startsWith(start) ? each.words.slice(start.length) : []));
    const nexts = ways.map((way) => way.split(' ')[0] as string);
    if (nexts.includes(word)) path = `${path}${word} `;
    else return new UsageError(`Unknown command ${word}${nearestHint(word, nexts)}.\n${hintOf(path)}`);
  }
  return new UsageError(`Name a command.\n${hintOf(path)}`);
}

function hintOf(path: string): string {
  return `vigie ${path === '' ? '' : `${path.trim()} `}--help lists the commands.`;
}

function hintOfOne({ words }: Command): string {
  return `vigie ${words} --help shows its arguments.`;
}

/** Exits without an error if the reader of the pipe has ended, as in `vigie … | head`. */
function leaveQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
}

/** True for errors with a message for the user. Any other error is a bug, and its stack trace is shown. */
function isExpected(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}

/** The text of `--help` for one command: its input, with an example. */
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

/** The `--help` of several commands. `path` is the typed words, empty for all; `others` are groups not loaded. */
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
    ...['', `vigie ${path}${path === '' ? '' : ' '}COMMAND --help shows the arguments of a command, with an example.`],
    ...(group === undefined ? [] : [...sectionOf(group.optionsTitle, group.options), '', group.notes]),
    ...(path === '' ? ['Settings are environment variables; config/default.env lists them.'] : []),
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

/** Adds an empty line before each new first word. */
function inGroups(lines: readonly string[]): readonly string[] {
  const first = (line: string | undefined) => line?.trim().split(' ')[0];
  return lines.flatMap((line, at) => (at > 0 && first(line) !== first(lines[at - 1]) ? ['', line] : [line]));
}
