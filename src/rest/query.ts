/**
 * Strict query parameters: an unknown or malformed one is answered with 400, and so is a repeated one that is not a
 * list. Names are compared with their brackets (`order[title]`), so they never nest.
 */

import type { Context } from 'koa';
import type { Member } from '../engine/domain/criterion-kinds.ts';
import type { Uuid } from '../engine/domain/ids.ts';
import { MARK_STATES, type MarkState } from '../engine/store/search-marks.ts';
import { codeOf, Fault, FLAG, INSTANT, idIn, integer, NUMBER, oneOf, text, uuidIn, type ValueRule } from '../values.ts';
import { Problem } from './problem.ts';
import { FAULTS, joinSentences, ofParameter, REFUSALS, type Sentence } from './sentences.ts';

export interface ParameterRule<Value> {
  readonly description: string;
  /** JSON Schema of the value, for OpenAPI. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly isRequired?: boolean;
  /** Returns the parsed value, or its fault. */
  readonly parse: (values: readonly string[], baseUrl?: string) => Value | Fault;
  /** True for a repeatable parameter: `facilities`, `facilities[]` and `facilities[0]` mean the same. */
  readonly isList?: boolean;
  /** The filtered or ordered member; null for neither. */
  readonly property?: string | null;
  /** True for a parameter that is accepted but undocumented, because another one does the same. */
  readonly isUndocumented?: boolean;
}

export type Rules = Readonly<Record<string, ParameterRule<unknown>>>;
export type ParsedQuery<R extends Rules> = {
  readonly [Name in keyof R]: Exclude<ReturnType<R[Name]['parse']>, Fault>;
};

/**
 * Reads the query up to the first unknown parameter. The rule of an absent parameter gets an empty list of values.
 * Throws a 400 `Problem` that names the unknown parameter and all faults of the others, with the `hydra:search` of the
 * collection. `collection` (hydra.ts) takes the page and the rules from `ctx.state.query`.
 */
export function readQuery<R extends Rules>(ctx: Context, rules: R): ParsedQuery<R> {
  const found = new Map<string, string[]>();
  const faults: Sentence[] = [];
  for (const [sent, value] of new URLSearchParams(ctx.querystring)) {
    const name = ruleNameOf(sent, rules);
    if (name === null) {
      const known = documentedRules(rules).map((rule) => rule[0]);
      faults.push(REFUSALS.unknownParameter(JSON.stringify(sent.slice(0, 64)), known.join(', ')));
      break;
    }
    const values = found.get(name);
    if (values === undefined) found.set(name, [value]);
    else values.push(value);
  }
  const entries = Object.entries(rules).map(([name, rule]) => {
    const values = found.get(name) ?? [];
    const parsed = readParameter(rule, values, String(ctx.state.baseUrl ?? ''));
    if (parsed instanceof Fault) faults.push(ofParameter(name, parsed.message));
    return [name, parsed];
  });
  if ([...found.keys()].filter((name) => name.startsWith('order[')).length > 1) faults.push(REFUSALS.oneOrder);
  if (faults.length > 0) {
    throw new Problem(400, joinSentences(faults, '; '), {
      members: { 'hydra:search': searchTemplate(ctx.path, rules) },
    });
  }
  const query = Object.fromEntries(entries) as ParsedQuery<R>;
  ctx.state.query = { parameters: rules, ...query };
  return query;
}

export function documentedRules(rules: Rules): readonly (readonly [string, ParameterRule<unknown>])[] {
  return Object.entries(rules).filter(([, { isUndocumented = false }]) => !isUndocumented);
}

function readParameter(rule: ParameterRule<unknown>, values: readonly string[], baseUrl: string): unknown {
  if (values.length === 0 && rule.isRequired) return new Fault(FAULTS.required);
  if (values.length > 1 && !rule.isList) return new Fault(FAULTS.twice);
  return rule.parse(values, baseUrl);
}

function ruleNameOf(sent: string, rules: Rules): string | null {
  if (Object.hasOwn(rules, sent)) return sent;
  const listName = `${sent.replace(/\[\d*\]$/, '')}[]`;
  return Object.hasOwn(rules, listName) ? listName : null;
}

/** `absent`: the result when the parameter was not sent. `valueOf`: converts the text to a value for the rule. */
function parameter<Value, Absent>(
  description: string,
  { schema, read }: ValueRule<Value>,
  absent: Absent,
  valueOf: (text: string) => unknown = String,
): ParameterRule<Value | Absent> {
  return {
    description,
    schema,
    parse: ([text], baseUrl) => (text === undefined ? absent : read(valueOf(text), baseUrl)),
  };
}

/** Treats an empty parameter as absent. */
function unlessEmpty<Value>(rule: ParameterRule<Value>): ParameterRule<Value> {
  return { ...rule, parse: (values, baseUrl) => rule.parse(values[0] === '' ? [] : values, baseUrl) };
}

export function textParameter(description: string, lengthMax = 255): ParameterRule<string | null> {
  return unlessEmpty(parameter(description, text(lengthMax), null));
}

/** The longest text is below the limit of Node.js for the request line and headers, 16 KiB in total. */
export const ADVERT_URL = textParameter(
  'The URL of one of its adverts on the portal; the part after # is ignored.',
  15_000,
);

/** The same rule, for a parameter that the documentation leaves out. */
export function undocumented<Value>(rule: ParameterRule<Value>): ParameterRule<Value> {
  return { ...rule, isUndocumented: true };
}

/** A repeatable parameter. Reports only the first fault. */
export function listParameter<Item>(description: string, { schema, read }: ValueRule<Item>) {
  return {
    description,
    schema: { type: 'array', items: schema },
    isList: true,
    parse(values: readonly string[]): readonly Item[] | Fault {
      const items = values.map((value) => read(value));
      return items.find((item) => item instanceof Fault) ?? (items as readonly Item[]);
    },
  };
}

/** A repeatable text; empty values are ignored. */
export function textsParameter(description: string, lengthMax = 255): ParameterRule<readonly string[]> {
  const rule = listParameter(description, text(lengthMax));
  return { ...rule, parse: (values) => rule.parse(values.filter((value) => value !== '')) };
}

export function booleanParameter(description: string): ParameterRule<boolean | null> {
  const valueOf = (value: string) => (/^(true|1)$/i.test(value) ? true : /^(false|0)$/i.test(value) ? false : value);
  return unlessEmpty(parameter(description, FLAG, null, valueOf));
}

/** One of `choices`, in any letter case; null when absent. An empty value is a fault. */
export function choiceParameter<const Choice extends string>(
  description: string,
  choices: readonly Choice[],
): ParameterRule<Choice | null> {
  const valueOf = (value: string) => choices.find((one) => one.toLowerCase() === value.toLowerCase());
  return parameter(description, oneOf(choices), null, valueOf);
}

/** `others`: describes properties that the list contains although they may not satisfy the search. */
export function markParameter(others: string): ParameterRule<MarkState | null> {
  return choiceParameter(
    `Lists only properties with this mark${others}; by default, hidden ones are left out.`,
    MARK_STATES,
  );
}

export function referenceParameter(description: string, collection: string): ParameterRule<Uuid | null> {
  return parameter(description, uuidIn(collection), null);
}

/** The id of a resource, alone or in its IRI; null when absent. */
export function idParameter(description: string, collection: string): ParameterRule<number | null> {
  const valueOf = (value: string) => (value.includes('/') ? value : `/${collection}/${value}`);
  const { schema, read } = idIn(collection);
  const fault = new Fault(FAULTS.idOrIri(collection), 'invalid_iri');
  const named = (value: unknown, baseUrl?: string): number | Fault => {
    const id = read(value, baseUrl);
    return id instanceof Fault ? fault : id;
  };
  return parameter(description, { schema, read: named }, null, valueOf);
}

/** A code of a criterion; required. */
export function codeParameter({ requested, names }: Member<'code' | 'codes'>): ParameterRule<number> {
  return { ...parameter(requested, codeOf(names), 0), isRequired: true };
}

/** Any of `choices`, repeatable; none means all of them. */
export function choicesParameter<const Choice extends string>(
  description: string,
  choices: readonly Choice[],
): ParameterRule<readonly Choice[]> {
  const rule = listParameter(description, oneOf(choices));
  return {
    ...rule,
    parse(values) {
      const chosen = rule.parse(values);
      if (chosen instanceof Fault) return chosen;
      return chosen.length === 0 ? choices : choices.filter((choice) => chosen.includes(choice));
    },
  };
}

/** A number; an integer is written without point or exponent. A parameter without `fallback` is required. */
export function numberParameter(
  description: string,
  { schema, read }: ValueRule<number>,
  fallback?: number,
): ParameterRule<number> {
  const pattern = schema.type === 'integer' ? /^[-+ ]?\d{1,15}$/ : NUMBER;
  const rule = { schema: fallback === undefined ? schema : { ...schema, default: fallback }, read };
  const valueOf = (value: string) => (pattern.test(value) ? Number(value) : value);
  return { ...parameter(description, rule, fallback as number, valueOf), isRequired: fallback === undefined };
}

function instantParameter(description: string): ParameterRule<Date | null> {
  return parameter(`${description} ISO 8601, with an offset; a date means its start in UTC.`, INSTANT, null);
}

/** Both limits are inclusive, as in API Platform. */
export const CREATED_AT = {
  'createdAt[after]': { ...instantParameter('Created at this time or later.'), property: 'createdAt' },
  'createdAt[before]': { ...instantParameter('Created at this time or earlier.'), property: 'createdAt' },
} as const;

export function timeRangeOf(query: { readonly [Name in keyof typeof CREATED_AT]: Date | null }) {
  return { from: query['createdAt[after]'], to: query['createdAt[before]'] };
}

const ITEMS_PER_PAGE_DEFAULT = 30;
export const ITEMS_PER_PAGE_MAX = 100;
/** Keeps offsets below 2^31. */
const PAGE_MAX = 10_000_000;

/** A value above the maximum is reduced to it: clients that want every member request a thousand. */
const itemsPerPage: ParameterRule<number> = {
  description: `Members on a page; a number above ${ITEMS_PER_PAGE_MAX} means ${ITEMS_PER_PAGE_MAX}.`,
  schema: { type: 'integer', minimum: 1, default: ITEMS_PER_PAGE_DEFAULT },
  property: null,
  parse: ([value = String(ITEMS_PER_PAGE_DEFAULT)]) => {
    const isCount = /^[+ ]?0*[1-9]\d*$/.test(value);
    return isCount ? Math.min(Number(value), ITEMS_PER_PAGE_MAX) : new Fault(FAULTS.positiveInteger);
  },
};

export const PAGING = {
  page: { ...numberParameter('Page of the collection, from 1.', integer(1, PAGE_MAX), 1), property: null },
  itemsPerPage,
} as const;

export type Direction = 'asc' | 'desc';

/** `order[<member>]`, in any letter case. `meaning` explains the order when the member's name is not enough. */
export function orderParameter(member: string, meaning = ''): ParameterRule<Direction | null> {
  return { ...choiceParameter(`Order by ${member}${meaning}.`, ['asc', 'desc']), property: member };
}

/** Hydra's description of the parameters that filter or order. Paging is described by links. */
export function searchTemplate(path: string, rules: Rules): object {
  const filters = documentedRules(rules).filter(([, { property }]) => property !== null);
  return {
    '@type': 'hydra:IriTemplate',
    'hydra:template': filters.length === 0 ? path : `${path}{?${filters.map(([variable]) => variable).join(',')}}`,
    'hydra:variableRepresentation': 'BasicRepresentation',
    'hydra:mapping': filters.map(([variable, { property = variable, isRequired = false }]) => ({
      '@type': 'IriTemplateMapping',
      variable,
      property,
      required: isRequired,
    })),
  };
}
