/** What a command of `vigie admin` is, and how its arguments are read. */

import { type ParseArgsConfig, parseArgs } from 'node:util';
import { urlKeyOf } from '../../domain/endpoint.ts';
import type { AdminClient } from './client.ts';

export interface Command {
  /** As typed, e.g. `deliveries list`. */
  readonly words: string;
  /** As shown, e.g. `SEARCH PROPERTY`. */
  readonly args?: string;
  /** One line. */
  readonly summary: string;
  /** What else is worth knowing, for `--help` of this command. */
  readonly details?: string;
  readonly options?: Readonly<Record<string, Option>>;
  readonly argumentsMin?: number;
  readonly argumentsMax?: number;
  run(client: AdminClient, input: Input): Promise<void>;
}

export interface Option {
  readonly type: 'string' | 'boolean';
  /** What the value is, e.g. `TIME`. */
  readonly value?: string;
  readonly summary: string;
}

export interface Input {
  readonly args: readonly string[];
  readonly isJson: boolean;
  text(option: string): string;
  flag(option: string): boolean;
  /** 0 when absent. */
  whole(option: string): number;
  time(option: string): Date | undefined;
}

export class UsageError extends Error {}

export const GLOBAL_OPTIONS = {
  address: { type: 'string' },
  ca: { type: 'string' },
  cert: { type: 'string' },
  key: { type: 'string' },
  'token-file': { type: 'string' },
  timeout: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Values = Readonly<Record<string, string | boolean | undefined>>;

/** Throws `UsageError`. */
export function parse(command: Command, args: readonly string[]): { readonly input: Input; readonly values: Values } {
  const options = { ...GLOBAL_OPTIONS, ...command.options } as ParseArgsConfig['options'];
  let parsed: { readonly values: Values; readonly positionals: readonly string[] };
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const { values, positionals } = parsed;
  const { argumentsMin = 0, argumentsMax = argumentsMin } = command;
  if (values.help !== true && (positionals.length < argumentsMin || positionals.length > argumentsMax)) {
    throw new UsageError(`admin ${command.words} takes ${command.args ?? 'no arguments'}`);
  }
  if (values.timeout !== undefined) whole('timeout', String(values.timeout));
  return { input: inputOf(positionals, values), values };
}

function inputOf(args: readonly string[], values: Values): Input {
  return {
    args,
    isJson: values.json === true,
    text: (option) => String(values[option] ?? ''),
    flag: (option) => values[option] === true,
    whole: (option) => (values[option] === undefined ? 0 : whole(option, String(values[option]))),
    time: (option) => (values[option] === undefined ? undefined : timeOf(option, String(values[option]))),
  };
}

function whole(option: string, value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw new UsageError(`--${option} takes a whole number`);
  return Number(value);
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** ISO 8601, or how long ago: `90s`, `15m`, `2h`, `7d`. */
function timeOf(option: string, value: string): Date {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  if (unit !== '') return new Date(Date.now() - Number(count) * (UNITS_MS[unit] as number));
  const time = new Date(value);
  if (Number.isNaN(time.getTime())) throw new UsageError(`--${option} takes a time (ISO 8601) or an age like 2h`);
  return time;
}

/** An id alone is as good as its full name. Empty stays empty. */
export function named(collection: string, id: string): string {
  return id === '' || id.startsWith(`${collection}/`) ? id : `${collection}/${id}`;
}

/** An endpoint may be given by its URL too: then of every client that names it. */
export function endpointNamed(id: string): string {
  return /^https?:\/\//.test(id) ? `endpoints/${urlKeyOf(id)}` : named('endpoints', id);
}

export function valued(value: string, summary: string): Option {
  return { type: 'string', value, summary };
}

export function flag(summary: string): Option {
  return { type: 'boolean', summary };
}

/** Options that several commands take. */
export const PAGE = {
  limit: valued('N', 'at most so many, 1000 at the utmost; 50 without it'),
  'page-token': valued('TOKEN', 'go on where the last page ended'),
};
export const RANGE = {
  since: valued('TIME', 'from then on: ISO 8601, or an age such as 90s, 15m, 2h or 7d'),
  until: valued('TIME', 'before then'),
};
export const ENDPOINT = { endpoint: valued('ID|URL', 'of this endpoint alone') };
export const SEARCH = { search: valued('ID', 'of this search alone') };
export const PAUSE_REASON = { reason: valued('TEXT', 'shown to the other operators, at most 200 characters') };

export const DRY_RUN = { 'dry-run': flag('count, and change nothing') };

/** What changes something must say what it means. */
export function demandCondition({ args, text, flag: isSet }: Input, conditions: readonly string[]): void {
  if (args.length > 0 || conditions.some((name) => isSet(name) || text(name) !== '')) return;
  throw new UsageError(`say which ones: ${conditions.map((name) => `--${name}`).join(', ')}`);
}

/** `deliveries show ID [--body]` */
export function usageOf({ words, args = '', options = {} }: Command): string {
  const flags = Object.entries(options).map(([name, { value }]) =>
    value === undefined ? `[--${name}]` : `[--${name} ${value}]`,
  );
  return [words, ...(args === '' ? [] : [args]), ...flags].join(' ');
}
