/**
 * A command of `vigie admin`: a method of the service, which defines the input, and the display of its answer. A long
 * call of the daemon answers only at its end, so meanwhile a call without effect counts the remaining work.
 */

import type { DescMethod, JsonObject } from '@bufbuild/protobuf';
import { pause } from '../../engine/actor/waiting.ts';
import { type Input, type Options, type Command as PlainCommand, UsageError } from '../command.ts';
import { type Progress, startProgress } from '../progress.ts';
import { InterruptedError, interruptSignal } from '../terminal.ts';
import { type AdminClient, call } from './client.ts';
import { columns, listOf, printCsv, printFacts, printJson, printMore, printTable } from './output.ts';
import { commentOf, fieldsOf, methodNamed, nameOf, optionsOf, put, type RequestField, requestOf } from './request.ts';

/** Its words do without `admin`. */
export interface Command extends Omit<PlainCommand, 'run' | 'group'> {
  run(client: AdminClient, input: Input): Promise<void>;
}

export interface MethodCommand {
  readonly words: string;
  readonly method: string;
  /** Default: the method's comment, its first sentence, and the rest as details. */
  readonly summary?: string;
  readonly details?: string;
  /** The arguments after the example's words. */
  readonly example?: string;
  /** As shown; `…` takes all of them. */
  readonly args?: string;
  /** The field of the arguments. */
  readonly argument?: string;
  /** Fields that are no options. */
  readonly omitted?: readonly string[];
  /** At least one of these fields is required. */
  readonly demanded?: readonly string[];
  /** The columns of the table, in the order of a list's answer (output.ts). */
  readonly columns?: string;
  /** Long work whose remaining part a call without effect counts. */
  readonly counted?: { readonly doing: string; readonly unit: string; readonly left: string };
  readonly show?: (answer: JsonObject, request: JsonObject) => void;
}

export function commandOf(described: MethodCommand): Command {
  const { words, method: name, args = '', argument = 'name', omitted = [], show = shower(described) } = described;
  const method = methodNamed(name);
  const fields = fieldsOf(method.input, omitted);
  const isArgument = ({ field }: RequestField): boolean => args !== '' && field.name === argument;
  const optional = fields.filter((field) => !isArgument(field));
  const options: Options = optionsOf(optional);
  return {
    words,
    ...helpOf(described, method),
    options,
    ...(args === '' ? {} : { args }),
    example: `vigie admin ${words}${described.example === undefined ? '' : ` ${described.example}`}`,
    async run(client, input) {
      demand(described, optional, input);
      if (input.flag('csv') && described.columns === undefined) throw new UsageError(`${words} has no list for --csv`);
      const request = requestOf(optional, input);
      const positional = fields.find(isArgument);
      if (positional !== undefined && input.args.length > 0) {
        const names = input.args.map((text) => nameOf(positional.field, text));
        put(
          request,
          positional.within,
          positional.field,
          positional.field.fieldKind === 'list' ? names : (names[0] ?? ''),
        );
      }
      mask(method, optional, input, request);
      const answer = await ask(client, described, request);
      if (input.isJson) printJson(answer);
      else if (input.flag('csv')) printCsv(rowsOf(described, answer), columns(described.columns ?? ''));
      else show(answer, request);
    },
  };
}

function helpOf({ summary, details }: MethodCommand, method: DescMethod) {
  const [, first = '', rest = ''] = /^(.*?)\.(?: ([^]*))?$/.exec(commentOf(method)) ?? [];
  const more = details ?? (summary === undefined ? rest : '');
  const short = summary ?? `${first.charAt(0).toLowerCase()}${first.slice(1)}`;
  return { summary: short, ...(more === '' ? {} : { details: more }) };
}

/** A command that changes something must state its filter. */
function demand({ demanded = [] }: MethodCommand, fields: readonly RequestField[], { args, values }: Input): void {
  const names = fields.flatMap(({ option, field }) => (demanded.includes(field.name) ? [option] : []));
  if (
    names.length === 0 ||
    (args.length > 0 && !demanded.includes('*')) ||
    names.some((name) => values[name] !== undefined)
  )
    return;
  throw new UsageError(`say which ones: ${names.map((name) => `--${name}`).join(', ')}`);
}

/** For an update: only the given fields are changed. */
function mask(
  { input: { field: members } }: DescMethod,
  fields: readonly RequestField[],
  input: Input,
  request: JsonObject,
) {
  if (members.updateMask === undefined) return;
  const given = fields.filter(({ option }) => input.values[option] !== undefined);
  request.updateMask = given.map(({ field }) => field.jsonName).join(',');
}

function ask(client: AdminClient, { method, counted }: MethodCommand, request: JsonObject): Promise<JsonObject> {
  if (counted === undefined || request.validateOnly === true) return call(client, method, request);
  const { doing, unit, left } = counted;
  const count = async () => Number((await call(client, method, { ...request, validateOnly: true }))[left]);
  return withCountdown({ doing, unit, count, work: (stopping) => call(client, method, request, stopping) });
}

/** A table of the first list, or facts. */
function shower({ method, columns: text }: MethodCommand): (answer: JsonObject) => void {
  if (text === undefined) return (answer) => printFacts(answer);
  return (answer) => {
    printTable(rowsOf({ method }, answer), columns(text));
    printMore(answer);
  };
}

function rowsOf({ method }: Pick<MethodCommand, 'method'>, answer: JsonObject): readonly JsonObject[] {
  const list = methodNamed(method).output.fields.find(({ fieldKind }) => fieldKind === 'list');
  return list === undefined ? [answer] : listOf(answer[list.jsonName]);
}

/** The daemon counts with an index, but up to millions. */
const COUNT_EVERY_MS = 1_000;

interface Countdown<T> {
  readonly doing: string;
  readonly unit: string;
  /** How many are left. */
  readonly count: () => Promise<number>;
  readonly work: (stopping: AbortSignal) => Promise<T>;
}

/** Throws `InterruptedError` after Ctrl-C, with the progress so far. */
async function withCountdown<T>({ doing, unit, count, work }: Countdown<T>): Promise<T> {
  const stopping = interruptSignal();
  const total = await count();
  const ended = new AbortController();
  const progress = startProgress(doing, unit);
  const reporting = reportUntil(ended.signal, async () => total - (await count()), total, doing, progress);
  try {
    return await work(stopping);
  } catch (error) {
    if (!stopping.aborted) throw error;
    const left = await count();
    throw new InterruptedError(
      stopping,
      `${total - left} ${unit} done, ${left} left; the same command goes on with them`,
    );
  } finally {
    ended.abort();
    await reporting;
    progress.end();
  }
}

async function reportUntil(
  ended: AbortSignal,
  countDone: () => Promise<number>,
  total: number,
  doing: string,
  progress: Progress,
): Promise<void> {
  try {
    for (let done = 0; !ended.aborted; ) {
      progress.update({ doing, count: done, share: total === 0 ? null : done / total });
      await pause(COUNT_EVERY_MS, ended);
      if (!ended.aborted) done = Math.max(0, await countDone());
    }
  } catch {
    // The count is not available; the work itself will report the reason.
  }
}
