/**
 * The writable members of a search, each with its accepted forms (decisions, section 2). One rule per member defines
 * the type, the validation and the published OpenAPI, which describes one form of each: generated clients have one type
 * per member. Output is the stored form, except that references to cities and departments are ids: `search-input.ts`
 * looks them up.
 */

import { z } from 'zod';
import { EVENT_KINDS, type EventKind } from '../engine/domain/codes.ts';
import type { Form, Forms, Member } from '../engine/domain/criterion-kinds.ts';
import {
  ASKED_CRITERION_NAMES,
  CRITERION_MEMBERS,
  type CriterionMemberName,
  type FormOf,
} from '../engine/domain/criterion-table.ts';
import type { EventThresholds } from '../engine/domain/event-thresholds.ts';
import { formatExpressions, readExpressions } from '../engine/domain/expressions.ts';
import { FEATURE_NAMES } from '../engine/domain/features.ts';
import type { Polygon } from '../engine/domain/geo.ts';
import { MAIL_FREQUENCIES, type MailConsent } from '../engine/domain/mail.ts';
import { SEARCH_DEFAULTS } from '../engine/domain/search.ts';
import { isBlank, isStorable } from '../engine/domain/text.ts';
import { EVENT_THRESHOLDS } from './event-threshold-schema.ts';
import { parseGeoShapes } from './geo-shapes.ts';
import {
  decimalOf,
  list,
  type MemberRule,
  NUMBER,
  READ_ONLY_MEMBERS,
  REFUSED,
  Refusal,
  referenceItem,
  single,
  textItem,
} from './member-rules.ts';
import { FAULTS, type Sentence, zodMessage } from './sentences.ts';

export const TITLE_LENGTH_MAX = 255;
/** Fits the 32-bit columns of the matching index; real prices and surfaces are far below. */
export const BOUND_MAX = 2_147_483_647;
export const RADIUS_KM_MAX = 500;
/** All arrondissements of Paris are 20, the communes of Île-de-France 1,300. */
export const LIST_LENGTH_MAX = 2_000;
const URL_LENGTH_MAX = 2_048;
const DECIMAL_LENGTH_MAX = 32;
const ADDRESS_LENGTH_MAX = 320;

const title = z
  .string(zodMessage(FAULTS.string))
  .max(TITLE_LENGTH_MAX, { error: zodMessage(FAULTS.characters(TITLE_LENGTH_MAX)), abort: true })
  .refine((text) => !isBlank(text), zodMessage(FAULTS.blankTitle))
  .meta({ description: 'Title of the search.', examples: ['T3 à Toulon'] });

function code({ names, asked }: Member<'code'>): MemberRule<number | null> {
  const meanings = names.map((name, position) => `${position} (${name})`).join(' or ');
  const known = names.map((_, position) => position);
  const anyOf = [{ type: 'string', enum: known.map(String) }, { type: 'null' }];
  return single(
    z
      .union(
        [...known, ...known.map(String)].map((one) => z.literal(one)),
        zodMessage(FAULTS.meaning(meanings)),
      )
      .transform(Number)
      .nullable(),
    z.unknown().meta({ anyOf, description: `${asked} The number itself is taken too.` }),
  );
}

function codes({ names, asked }: Member<'codes'>): MemberRule<number | readonly number[] | null> {
  const known = names.map((_, position) => position);
  const isCode = (value: unknown): value is number => known.includes(value as number);
  const description = `${asked} One of several codes. A code by itself is taken too, and answered by itself.`;
  const described = { type: ['array', 'null'], items: { type: 'integer', enum: known }, maxItems: known.length };
  return {
    schema: z.unknown().meta({ ...described, description }),
    read(value, { refuse }) {
      const isSeveral = Array.isArray(value) && value.length <= known.length && value.every(isCode);
      if (value === null || isCode(value) || isSeveral) return value;
      refuse(FAULTS.oneOrSeveralOf(known), 'invalid_value');
      return REFUSED;
    },
  };
}

function letters({ names, asked }: Member<'letters'>): MemberRule<string | readonly string[] | null> {
  const isLetter = (value: unknown): value is string => names.includes(value as string);
  const description = `${asked} A letter by itself is taken too, and answered by itself.`;
  const described = { type: ['array', 'null'], items: { type: 'string', enum: names }, maxItems: names.length };
  return {
    schema: z.unknown().meta({ ...described, description }),
    read(value, { refuse }) {
      const isSeveral = Array.isArray(value) && value.length <= names.length && value.every(isLetter);
      if (value === null || isLetter(value) || isSeveral) return value;
      refuse(FAULTS.oneOrSeveralOf(names), 'invalid_value');
      return REFUSED;
    },
  };
}

function bound({ asked }: Member<'bound'>): MemberRule<number | null> {
  return single(
    z
      .int(zodMessage(FAULTS.integer))
      .min(0, zodMessage(FAULTS.negative))
      .max(BOUND_MAX, zodMessage(FAULTS.atMost(BOUND_MAX)))
      .nullable()
      .meta({ description: `${asked} 0 is no bound.` }),
  );
}

const FLOOR_MIN = -100;
const FLOOR_MAX = 1_000;

function floor({ asked }: Member<'floor'>): MemberRule<number | null> {
  return single(
    z
      .int(zodMessage(FAULTS.integer))
      .min(FLOOR_MIN, zodMessage(FAULTS.atLeast(FLOOR_MIN)))
      .max(FLOOR_MAX, zodMessage(FAULTS.atMost(FLOOR_MAX)))
      .nullable()
      .meta({ description: asked }),
  );
}

const flag = (description: string) => z.boolean(zodMessage(FAULTS.flag)).nullable().meta({ description });

/** Forms have text alone where a flag may be unset: `true` and `false` are read as they are written. */
function written<Value>({ schema, read }: MemberRule<Value>): MemberRule<Value> {
  return {
    schema,
    read: (value, reading) => read(value === 'true' || value === 'false' ? value === 'true' : value, reading),
  };
}

/** A number or a decimal string, kept as text so that no digit is lost. */
function decimal(isAllowed: (value: number) => boolean, rule: Sentence, description: string) {
  const accepted = zodMessage(FAULTS.decimal(rule));
  const text = z
    .string(accepted)
    .max(DECIMAL_LENGTH_MAX, { error: accepted, abort: true })
    .regex(NUMBER, { error: accepted, abort: true });
  return single(
    z
      .union([z.number(accepted), text], accepted)
      // As sent and as kept: a tiny one is kept as 0.
      .refine((value) => [value, decimalOf(value)].map(Number).every(isAllowed), zodMessage(FAULTS.decimalWithin(rule)))
      .transform(decimalOf)
      .nullable(),
    z.unknown().meta({
      type: ['string', 'null'],
      maxLength: DECIMAL_LENGTH_MAX,
      description: `${description} A number is taken too.`,
    }),
  );
}

function references(collection: string, description: string): MemberRule<readonly number[]> {
  return list(referenceItem(collection), LIST_LENGTH_MAX, description);
}

const endpoint = (description: string) =>
  single(
    z
      .string(zodMessage(FAULTS.url))
      .max(URL_LENGTH_MAX, zodMessage(FAULTS.characters(URL_LENGTH_MAX)))
      .meta({ format: 'uri' })
      .nullable()
      .meta({ description }),
  );

const emailAddress = (description: string) =>
  single(
    z
      .string(zodMessage(FAULTS.email))
      .max(ADDRESS_LENGTH_MAX, { error: zodMessage(FAULTS.characters(ADDRESS_LENGTH_MAX)), abort: true })
      .check(z.email(zodMessage(FAULTS.email)))
      .nullable()
      .meta({ description }),
  );

const SOURCE_LENGTH_MAX = 200;

const notificationConsent: MemberRule<MailConsent | null> = {
  schema: z.unknown().meta({
    type: ['object', 'null'],
    properties: {
      source: { type: 'string', maxLength: SOURCE_LENGTH_MAX, description: 'Where and how it was given.' },
      at: { type: 'string', format: 'date-time', description: 'When, with an offset and not in the future.' },
    },
    required: ['source', 'at'],
    additionalProperties: false,
    description:
      'Consent of the recipient to these e-mails. Changing notificationRecipient without stating it clears it.',
  }),
  read(value, reading) {
    const read = Consent.read(value, reading);
    if (read === REFUSED || read === null) return read;
    if (!isStorable(read.source)) reading.refuse(FAULTS.text, 'invalid_text', ['source']);
    else if (Date.parse(read.at) > Date.now()) reading.refuse(FAULTS.future, 'above_maximum', ['at']);
    else return read;
    return REFUSED;
  },
};

const Consent = single(
  z
    .strictObject(
      {
        source: z
          .string(zodMessage(FAULTS.string))
          .max(SOURCE_LENGTH_MAX, { error: zodMessage(FAULTS.characters(SOURCE_LENGTH_MAX)), abort: true })
          .refine((text) => !isBlank(text), zodMessage(FAULTS.required)),
        at: z.iso.datetime({ offset: true, error: zodMessage(FAULTS.timeWithOffset) }),
      },
      zodMessage(FAULTS.consent),
    )
    .nullable(),
);

const notificationFrequency = z
  .enum(MAIL_FREQUENCIES, zodMessage(FAULTS.oneOf(MAIL_FREQUENCIES)))
  .nullable()
  .transform((value) => value ?? SEARCH_DEFAULTS.notificationFrequency)
  .meta({
    description:
      'How e-mails are gathered. instant (default): what comes within five minutes; daily and weekly: at 7:00 in Paris, ' +
      'on Mondays.',
  });

/** Names of a closed list, each once. */
function names<Name extends string>(known: readonly Name[], description: string): MemberRule<readonly Name[]> {
  const item = {
    schema: { type: 'string', enum: known },
    read: (value: unknown) => known.find((one) => one === value) ?? new Refusal(FAULTS.oneOf(known), 'invalid_value'),
  };
  const rule = list<Name>(item, LIST_LENGTH_MAX, description);
  return {
    schema: rule.schema,
    read(value, reading) {
      const read = rule.read(value, reading);
      return read === REFUSED ? REFUSED : [...new Set(read)];
    },
  };
}

const expressions = ({ asked }: Member<'expressions'>): MemberRule<string | null> => ({
  schema: z.unknown().meta({ type: ['string', 'null'], description: asked }),
  read(value, { refuse, refuseUnknown }) {
    let isRefused = false;
    const read = readExpressions(value, ({ path, message, known, more = 0 }) => {
      isRefused = true;
      if (known === undefined) refuse(message, 'invalid_value', path);
      else refuseUnknown(path, message, known, more);
    });
    return isRefused ? REFUSED : formatExpressions(read);
  },
});

const POLYGON_SCHEMA = {
  type: 'array',
  description: 'A polygon: its ring, then its holes.',
  items: {
    type: 'array',
    description: 'A closed ring.',
    items: { type: 'array', description: 'Longitude, latitude.', items: { type: 'number' }, minItems: 2, maxItems: 2 },
  },
};

const polygons = ({ asked }: Member<'polygons'>): MemberRule<readonly Polygon[]> => ({
  schema: z.unknown().meta({ type: ['array', 'null'], items: POLYGON_SCHEMA, description: asked }),
  read(value, { refuse }) {
    const shapes = parseGeoShapes(value);
    if (!('en' in shapes)) return shapes;
    refuse(shapes);
    return REFUSED;
  },
});

const CONTEXT_BYTES_MAX = 2_048;

const context: MemberRule<unknown> = {
  schema: z.unknown().meta({
    description:
      `Your own: any JSON of at most ${CONTEXT_BYTES_MAX} bytes, answered with the search and sent with its webhooks ` +
      'in the header Vigie-Context.',
  }),
  read(value, { refuse }) {
    if (Buffer.byteLength(JSON.stringify(value)) <= CONTEXT_BYTES_MAX) return value;
    refuse(FAULTS.bytesAsJson(CONTEXT_BYTES_MAX), 'too_long');
    return REFUSED;
  },
};

/** The value of a member after reading: ids where references are stored as codes. */
type Read<F extends Form> = F extends 'cities' | 'departments' ? readonly number[] : Forms[F];
type Rules = { readonly [F in Form]: (member: Member<F>) => MemberRule<Read<F>> };

const RULES: Rules = {
  bound,
  floor,
  flag: ({ asked }) => written(single(flag(asked))),
  code,
  codes,
  letters,
  latitude: ({ asked }) => decimal((value) => Math.abs(value) <= 90, FAULTS.degrees(90), asked),
  longitude: ({ asked }) => decimal((value) => Math.abs(value) <= 180, FAULTS.degrees(180), asked),
  radius: ({ asked }) =>
    decimal((value) => value > 0 && value <= RADIUS_KM_MAX, FAULTS.aboveZero(RADIUS_KM_MAX), asked),
  cities: ({ asked }) => references('cities', asked),
  departments: ({ asked }) => references('departments', asked),
  siteCategories: ({ asked }) => references('site_categories', asked),
  zipcodes: ({ asked }) => list(textItem(/^\d{5}$/, FAULTS.zipcode), LIST_LENGTH_MAX, asked),
  inseeCodes: ({ asked }) => list(textItem(/^(\d{2}|2A|2B)\d{3}$/, FAULTS.insee), LIST_LENGTH_MAX, asked),
  polygons,
  features: ({ asked }) => names(FEATURE_NAMES, asked),
  criteria: ({ asked }) => names(ASKED_CRITERION_NAMES, asked),
  expressions,
};

type CriterionRules = { readonly [Name in CriterionMemberName]: MemberRule<Read<FormOf<Name>>> };

const CRITERION_RULES = Object.fromEntries(
  Object.entries(CRITERION_MEMBERS).map(([name, member]) => [name, ruleOf(member)]),
) as CriterionRules;

function ruleOf<F extends Form>(member: Member<F>): MemberRule<Read<F>> {
  return RULES[member.form](member);
}

/** By member name. Every rule accepts null except that of `title`. */
export const SEARCH_MEMBERS = {
  title: single(title),
  ...CRITERION_RULES,
  hidePropertyContact: single(
    flag('Leaves contacts out of what this search receives.').transform((value) => value ?? false),
  ),
  notificationEnabled: single(flag('Must be true for any delivery.').transform((value) => value ?? false)),
  notificationRecipient: emailAddress('E-mail address that receives matches, and events of the subscribed kinds.'),
  notificationConsent,
  notificationReplyTo: emailAddress('E-mail address that answers to these e-mails go to.'),
  notificationFrequency: single(notificationFrequency),
  endpointRecipient: endpoint('Absolute https URL that receives matches.'),
  eventEndpoint: endpoint('Absolute https URL that receives events.'),
  subscribedEvents: names<EventKind>(
    EVENT_KINDS,
    'Kinds of event that go to eventEndpoint. An end (property.match.end) is a change, not an expiry, by which a live ' +
      'property of a match no longer satisfies the search; a return (property.match.resume) is the first change after it by ' +
      'which it does again.',
  ),
  eventThresholds: single<z.ZodType<EventThresholds | null>>(EVENT_THRESHOLDS),
  context,
} as const;

export type SearchMemberName = keyof typeof SEARCH_MEMBERS;
export type SearchInput = {
  -readonly [Name in SearchMemberName]?: Exclude<ReturnType<(typeof SEARCH_MEMBERS)[Name]['read']>, typeof REFUSED>;
};

/** The defaults list the same members: otherwise this does not compile. */
({ title: '', ...SEARCH_DEFAULTS }) satisfies Record<SearchMemberName, unknown>;

const ignored = z.unknown().meta({ readOnly: true, description: 'Ignored when sent.' });
const readOnly = Object.fromEntries(READ_ONLY_MEMBERS.map((name) => [name, ignored.optional()]));
const optionalMembers = Object.fromEntries(
  Object.entries(SEARCH_MEMBERS).map(([name, { schema }]) => [name, schema.optional()]),
);

/** The documented request body. */
export const SearchCreation = z.strictObject({ ...optionalMembers, title, ...readOnly });
export const SearchChange = z.strictObject({ ...optionalMembers, ...readOnly });
