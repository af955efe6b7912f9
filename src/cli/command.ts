/** The type of a command in the table of commands, and its parsed input. */

import { CommandError } from './terminal.ts';

export interface Command {
  /** As the user types them, e.g. `keys create`. */
  readonly words: string;
  /** The arguments as help shows them, e.g. `SEARCH PROPERTY`, `[FILE]` or `NAME…`. Also defines their number. */
  readonly args?: string;
  /** Fits on one line. */
  readonly summary: string;
  /** Further text for the command's `--help`. */
  readonly details?: string;
  readonly options?: Options;
  readonly example: string;
  readonly group?: CommandGroup;
  run(input: Input): Promise<void>;
}

/** Commands that are loaded only if the line contains the group's word, because loading them slows down all others. */
export interface CommandGroup {
  readonly words: string;
  readonly summary: string;
  /** Options of every command in the group. */
  readonly options: Options;
  readonly optionsTitle: string;
  /** Text at the end of the group's help. */
  readonly notes: string;
  /** Loads the commands. Their words do not include those of the group. */
  load(): Promise<readonly Command[]>;
}

/** Options by name. Each name has the same type in every command, so that options may precede the words. */
export type Options = Readonly<Record<string, Option>>;

export interface Option {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** The kind of value, e.g. `TIME`. */
  readonly value?: string;
  readonly summary: string;
}

export type Values = Readonly<Record<string, string | boolean | undefined>>;

export type Input = ReturnType<typeof inputOf>;

/** The command line is wrong. */
export class UsageError extends CommandError {
  override readonly exitCode = 2;
}

export function valued(value: string, summary: string): Option {
  return { type: 'string', value, summary };
}

export function flag(summary: string): Option {
  return { type: 'boolean', summary };
}

/** `whole`, `count` and `time` throw `UsageError` if the option is invalid. */
export function inputOf(args: readonly string[], values: Values) {
  const read = <T, A>(option: string, parse: (option: string, value: string) => T, absent: A): T | A =>
    values[option] === undefined ? absent : parse(option, String(values[option]));
  return {
    args,
    values,
    isJson: values.json === true,
    /** Empty if the option is absent. */
    text: (option: string) => String(values[option] ?? ''),
    flag: (option: string) => values[option] === true,
    /** At least 1; 0 if the option is absent. */
    whole: (option: string) => read(option, wholeOf, 0),
    /** At least 0; null if the option is absent. */
    count: (option: string) => read(option, countOf, null),
    time: (option: string) => read(option, timeOf, undefined),
  };
}

function wholeOf(option: string, value: string): number {
  if (!/^[1-9]/.test(value)) throw new UsageError(`--${option} takes a whole number from 1.`);
  return countOf(option, value);
}

function countOf(option: string, value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new UsageError(`--${option} takes a whole number.`);
  return Number(value);
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses ISO 8601, or the age of a time: `90s`, `15m`, `2h`, `7d`. */
function timeOf(option: string, value: string): Date {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  if (unit !== '') return new Date(Date.now() - Number(count) * (UNITS_MS[unit] as number));
  const time = new Date(value);
  if (Number.isNaN(time.getTime())) throw new UsageError(`--${option} takes a time (ISO 8601) or an age like 2h.`);
  return time;
}
