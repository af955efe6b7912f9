/** Creates a command of `vigie admin` from a method of the service. The method's request defines the options. */

import type { DescMethod, JsonObject } from '@bufbuild/protobuf';
import { type Input, type Options, type Command as PlainCommand, UsageError } from '../command.ts';
import { type AdminClient, call } from './client.ts';
import { columns, listOf, printFacts, printJson, printMore, printTable } from './output.ts';
import { commentOf, fieldsOf, methodNamed, nameOf, optionsOf, put, type RequestField, requestOf } from './request.ts';

/** `words` does not include `admin`. */
export interface Command extends Omit<PlainCommand, 'run' | 'group'> {
  run(client: AdminClient, input: Input): Promise<void>;
}

export interface MethodCommand {
  readonly words: string;
  readonly method: string;
  /** Default: the first sentence of the method's comment. Its other sentences are then the default of `details`. */
  readonly summary?: string;
  readonly details?: string;
  /** The part of the example that follows the words of the command. */
  readonly example?: string;
  /** The arguments as help shows them. `…` allows any number. */
  readonly args?: string;
  /** The request field that receives the arguments; default: `name`. */
  readonly argument?: string;
  /** Request fields that have no option. */
  readonly omitted?: readonly string[];
  /** Without arguments, at least one of these fields is required. With `*` among them, arguments do not suffice. */
  readonly demanded?: readonly string[];
  /** The columns of the printed table (output.ts). */
  readonly columns?: string;
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
      const answer = await call(client, described.method, request);
      if (input.isJson) printJson(answer);
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

/** Throws `UsageError` if the input violates `demanded`, so that no command changes all rows, or none, by mistake. */
function demand({ demanded = [] }: MethodCommand, fields: readonly RequestField[], { args, values }: Input): void {
  const names = fields.flatMap(({ option, field }) => (demanded.includes(field.name) ? [option] : []));
  if (
    names.length === 0 ||
    (args.length > 0 && !demanded.includes('*')) ||
    names.some((name) => values[name] !== undefined)
  )
    return;
  throw new UsageError(`Set at least one of ${names.map((name) => `--${name}`).join(', ')}.`);
}

/** Sets the field mask of an update, so that only the given fields change. */
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

/** Returns a function that prints an answer: as facts or, with columns, as a table of the answer or of its list. */
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
