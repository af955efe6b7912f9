/**
 * Query parameters, strictly: an unknown, repeated or malformed one is a 400 that lists the known ones. Names are
 * compared literally, brackets included (`order[title]`, `facilities[]`): no nesting, hence no excessive nesting.
 */

import type { Context } from 'koa';
import { z } from 'zod';
import { parseUuid, type Uuid } from '../engine/domain/ids.ts';
import { isStorable } from '../engine/domain/text.ts';
import { NUMBER, ownPath } from './member-rules.ts';
import { Problem } from './problem.ts';
import { FAULTS, joined, ofParameter, REFUSALS, type Sentence } from './sentences.ts';

export interface ParameterRule<Value> {
  readonly description: string;
  /** JSON Schema of the value, for OpenAPI. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly isRequired?: boolean;
  /** The parsed value, or the text of a `Problem`. */
  readonly parse: (values: readonly string[], baseUrl?: string) => Value | BadParameter;
  /** `facilities[]` and `facilities[0]` mean the same. */
  readonly isList?: boolean;
  /** The filtered or ordered member; null for neither. */
  readonly property?: string | null;
  /** Accepted, but undocumented: another parameter does the same. */
  readonly isUndocumented?: boolean;
}

export class BadParameter {
  readonly message: Sentence;
  constructor(message: Sentence) {
    this.message = message;
  }
}

export type Rules = Readonly<Record<string, ParameterRule<unknown>>>;
export type ParsedQuery<R extends Rules> = {
  readonly [Name in keyof R]: Exclude<ReturnType<R[Name]['parse']>, BadParameter>;
};

/**
 * An absent parameter is parsed from no values. Throws a 400 `Problem` that names every error, and carries the template
 * of the collection, which lists the known parameters.
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
    if (parsed instanceof BadParameter) faults.push(ofParameter(name, parsed.message));
    return [name, parsed];
  });
  if ([...found.keys()].filter((name) => name.startsWith('order[')).length > 1) faults.push(REFUSALS.oneOrder);
  if (faults.length > 0) {
    throw new Problem(400, joined(faults, '; '), { members: { 'hydra:search': searchTemplate(ctx.path, rules) } });
  }
  return Object.fromEntries(entries) as ParsedQuery<R>;
}

export function documentedRules(rules: Rules): readonly (readonly [string, ParameterRule<unknown>])[] {
  return Object.entries(rules).filter(([, { isUndocumented = false }]) => !isUndocumented);
}

function readParameter(rule: ParameterRule<unknown>, values: readonly string[], baseUrl: string): unknown {
  if (values.length === 0 && rule.isRequired) return new BadParameter(FAULTS.required);
  if (values.length > 1 && !rule.isList) return new BadParameter(FAULTS.twice);
  return rule.parse(values, baseUrl);
}

function ruleNameOf(sent: string, rules: Rules): string | null {
  if (Object.hasOwn(rules, sent)) return sent;
  const listName = `${sent.replace(/\[\d*\]$/, '')}[]`;
  return Object.hasOwn(rules, listName) ? listName : null;
}

export function textParameter(description: string, lengthMax = 255): ParameterRule<string | null> {
  return {
    description,
    schema: { type: 'string', maxLength: lengthMax },
    parse: ([value]) => {
      if (value === undefined || value === '') return null;
      if (value.length > lengthMax) return new BadParameter(FAULTS.characters(lengthMax));
      return !isStorable(value) ? new BadParameter(FAULTS.nul) : value;
    },
  };
}

/** `rule`, accepted and not described. */
export function undocumented<Value>(rule: ParameterRule<Value>): ParameterRule<Value> {
  return { ...rule, isUndocumented: true };
}

/** Repeatable; empty ones are left out. */
export function textsParameter(description: string, lengthMax = 255): ParameterRule<readonly string[]> {
  const { schema, parse } = textParameter(description, lengthMax);
  return {
    description,
    schema: { type: 'array', items: schema },
    isList: true,
    parse: (values) => {
      const texts: string[] = [];
      for (const value of values) {
        const text = parse([value]);
        if (text instanceof BadParameter) return text;
        if (text !== null) texts.push(text);
      }
      return texts;
    },
  };
}

export function booleanParameter(description: string): ParameterRule<boolean | null> {
  return {
    description,
    schema: { type: 'boolean' },
    parse: ([value]) => {
      if (value === undefined || value === '') return null;
      if (/^(true|1)$/i.test(value)) return true;
      return /^(false|0)$/i.test(value) ? false : new BadParameter(FAULTS.flag);
    },
  };
}

/** One of `choices`, in any case; null when absent. An empty one is none of them. */
export function choiceParameter<const Choice extends string>(
  description: string,
  choices: readonly Choice[],
): ParameterRule<Choice | null> {
  return {
    description,
    schema: { type: 'string', enum: choices },
    parse: ([value]) => {
      if (value === undefined) return null;
      const choice = choices.find((one) => one.toLowerCase() === value.toLowerCase());
      return choice ?? new BadParameter(FAULTS.oneOf(choices));
    },
  };
}

/** The UUID in `text`, alone or as the last segment of an IRI such as `/searches/{uuid}`; null when there is none. */
export function referenceOf(text: string, collection: string, baseUrl: string): Uuid | null {
  const pattern = new RegExp(`^(?:/?${collection}/)?([^/]+)$`);
  return parseUuid(pattern.exec(ownPath(text, baseUrl) ?? '')?.[1] ?? '');
}

/** A reference; null when absent. */
export function referenceParameter(description: string, collection: string): ParameterRule<Uuid | null> {
  return {
    description,
    schema: { type: 'string', format: 'iri-reference' },
    parse: ([value], baseUrl = '') =>
      value === undefined
        ? null
        : (referenceOf(value, collection, baseUrl) ?? new BadParameter(FAULTS.iriOf(collection))),
  };
}

/** Any of `choices`, repeatable; none means all of them. */
export function choicesParameter<const Choice extends string>(
  description: string,
  choices: readonly Choice[],
): ParameterRule<readonly Choice[]> {
  return {
    description,
    schema: { type: 'array', items: { type: 'string', enum: choices } },
    isList: true,
    parse: (values) => {
      const chosen = choices.filter((choice) => values.includes(choice));
      const isKnown = values.every((value) => (choices as readonly string[]).includes(value));
      if (!isKnown) return new BadParameter(FAULTS.oneOf(choices));
      return chosen.length === 0 ? choices : chosen;
    },
  };
}

export interface NumberBounds {
  readonly min: number;
  readonly max: number;
  readonly isInteger?: boolean;
}

/** In any notation. `fallback` when absent; without one the parameter is required. */
export function numberParameter(description: string, bounds: NumberBounds, fallback?: number): ParameterRule<number> {
  const { min, max, isInteger = false } = bounds;
  const pattern = isInteger ? /^[-+ ]?\d{1,15}$/ : NUMBER;
  return {
    description,
    schema: {
      type: isInteger ? 'integer' : 'number',
      minimum: min,
      maximum: max,
      ...(fallback === undefined ? {} : { default: fallback }),
    },
    isRequired: fallback === undefined,
    parse: ([value]) => {
      if (value === undefined) return fallback ?? new BadParameter(FAULTS.required);
      const number = pattern.test(value) ? Number(value) : Number.NaN;
      return number >= min && number <= max ? number : new BadParameter(FAULTS.between(isInteger, min, max));
    },
  };
}

/** A date means its beginning in UTC. An unencoded plus sign has become a space. */
const INSTANT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+\- ]\d{2}:?\d{2}))?$/i;

/** A moment, ISO 8601; null when absent. */
function instantParameter(description: string): ParameterRule<Date | null> {
  return {
    description: `${description} ISO 8601, with an offset; a date is its beginning in UTC.`,
    // A date is accepted too, and types of date that generators make write neither form (Rust, Ruby, PHP).
    schema: { type: 'string' },
    parse: ([value]) => {
      if (value === undefined) return null;
      const at = instantOf(value);
      return at ?? new BadParameter(FAULTS.instant);
    },
  };
}

/** Null when it is none. */
export function instantOf(text: string): Date | null {
  const at = INSTANT.test(text) ? new Date(text.replace(' ', '+')) : null;
  const year = at?.getUTCFullYear() ?? Number.NaN;
  // PostgreSQL knows no year 0; JavaScript takes the 30th of February for a day in March.
  return year >= 1 && year <= 9_999 && z.regexes.date.test(text.slice(0, 10)) ? at : null;
}

/** Both are inside, as in API Platform. */
export const CREATED_AT = {
  'createdAt[after]': { ...instantParameter('Created then or later.'), property: 'createdAt' },
  'createdAt[before]': { ...instantParameter('Created then or earlier.'), property: 'createdAt' },
} as const;

export function timeRangeOf(query: { readonly [Name in keyof typeof CREATED_AT]: Date | null }) {
  return { from: query['createdAt[after]'], to: query['createdAt[before]'] };
}

const ITEMS_PER_PAGE_DEFAULT = 30;
export const ITEMS_PER_PAGE_MAX = 100;
/** Offsets stay far inside 32 bits. */
const PAGE_MAX = 10_000_000;

/** A larger value is reduced to the maximum: clients that want everything request a thousand. */
function itemsPerPageParameter(fallback: number): ParameterRule<number> {
  return {
    description: `Members on a page; more than ${ITEMS_PER_PAGE_MAX} are ${ITEMS_PER_PAGE_MAX}.`,
    schema: { type: 'integer', minimum: 1, default: fallback },
    property: null,
    parse: ([value]) => {
      if (value === undefined) return fallback;
      const isCount = /^[+ ]?0*[1-9]\d*$/.test(value);
      return isCount ? Math.min(Number(value), ITEMS_PER_PAGE_MAX) : new BadParameter(FAULTS.positiveInteger);
    },
  };
}

export const PAGING = {
  page: {
    ...numberParameter('Page of the collection, from 1.', { min: 1, max: PAGE_MAX, isInteger: true }, 1),
    property: null,
  },
  itemsPerPage: itemsPerPageParameter(ITEMS_PER_PAGE_DEFAULT),
} as const;

export type Direction = 'asc' | 'desc';

/** `order[<member>]`, in any case. `meaning`: the effect of the order, when the member's name is not enough. */
export function orderParameter(member: string, meaning = ''): ParameterRule<Direction | null> {
  return { ...choiceParameter(`Order by ${member}${meaning}.`, ['asc', 'desc']), property: member };
}

/** Hydra's description of the parameters that filter or order: paging has its own links. */
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
