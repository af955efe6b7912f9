/**
 * The writable members of a search, each with its accepted forms (decisions, section 2). One rule per member defines
 * the type, the validation and the published OpenAPI. OpenAPI describes one form of each, because generated clients
 * have one type per member. The result is the stored form, except that cities and departments are ids, which
 * `search-input.ts` looks up.
 */

import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { ALTERNATIVE_MEMBERS } from '../engine/domain/alternatives.ts';
import { ALTERNATIVES_MAX } from '../engine/domain/alternatives-criterion.ts';
import { EVENT_KINDS, type EventKind } from '../engine/domain/codes.ts';
import type { Form, Forms, Member, StoredAlternative } from '../engine/domain/criterion-kinds.ts';
import {
  CRITERION_MEMBERS,
  type CriterionMemberName,
  type FormOf,
  REQUESTED_CRITERION_NAMES,
} from '../engine/domain/criterion-table.ts';
import { formatExpressions, readExpressions } from '../engine/domain/expressions.ts';
import { FEATURE_NAMES } from '../engine/domain/features.ts';
import type { Polygon } from '../engine/domain/geo.ts';
import { MAIL_FREQUENCIES, type MailConsent } from '../engine/domain/mail.ts';
import { POINT_TERMS_MAX } from '../engine/domain/points-criterion.ts';
import { PUBLISHER_NAME_LENGTH_MAX, publisherKey } from '../engine/domain/publisher-criteria.ts';
import { SEARCH_DEFAULTS } from '../engine/domain/search.ts';
import { isStorable } from '../engine/domain/text.ts';
import {
  both,
  codeOf,
  decimal,
  ENDPOINT_URL,
  Fault,
  FLAG,
  idIn,
  integer,
  number as numberIn,
  oneOf,
  oneOrSeveralOf,
  PAST_TIME,
  RECIPIENT_ADDRESS,
  type Sentence,
  text,
  textLike,
  UNSTORABLE,
  type ValueRule,
} from '../values.ts';
import { EVENT_THRESHOLDS } from './event-threshold-schema.ts';
import { parseGeoShapes } from './geo-shapes.ts';
import {
  bodySchema,
  isRecord,
  list,
  type MemberRule,
  nullable,
  object,
  optional,
  READ_ONLY_MEMBERS,
  REFUSED,
  refuse,
  single,
} from './member-rules.ts';
import { POINT_TERM } from './point-term-schema.ts';
import { FAULTS } from './sentences.ts';

export const TITLE_LENGTH_MAX = 255;
const PUBLIC_TITLE_LENGTH_MAX = 120;
/** The maximum of the 32-bit columns of the matching index; real prices and surfaces are far below. */
export const BOUND_MAX = 2_147_483_647;
export const RADIUS_KM_MAX = 500;
/** Paris has 20 arrondissements, and Île-de-France almost 1,300 communes. */
export const LIST_LENGTH_MAX = 2_000;
const PUBLISHERS_MAX = 50;
const FLOOR_MIN = -100;
const FLOOR_MAX = 1_000;
/** Percent from the market's median. A price below a tenth of the median, or above six times it, is implausible. */
const PERCENT_MIN = -90;
const PERCENT_MAX = 500;

const title = single(text(TITLE_LENGTH_MAX, FAULTS.blankTitle), {
  ...{ description: 'Title of the search. Recipients of its e-mails never see it.', examples: ['T3 à Toulon'] },
});

function severalOf<Choice extends string | number>(choices: readonly Choice[], description: string) {
  return nullable(single(oneOrSeveralOf(choices)), description, null);
}

const flag = (description: string) => nullable(single(FLAG), description, null);

/** Generated forms send text for a flag that may be unset: the texts `true` and `false` are accepted. */
function written<Value>({ schema, read }: MemberRule<Value>): MemberRule<Value> {
  return {
    schema,
    read: (value, reading) => read(value === 'true' || value === 'false' ? value === 'true' : value, reading),
  };
}

function coordinate(most: number, description: string): MemberRule<string | null> {
  const range = both(`from -${most} to ${most}`, `entre −${most} et ${most}`);
  return number((value) => Math.abs(value) <= most, range, description);
}

function number(isAllowed: (value: number) => boolean, range: Sentence, description: string) {
  return nullable(single(decimal(isAllowed, range)), `${description} A number is accepted, too.`, null);
}

function references(collection: string, description: string): MemberRule<readonly number[]> {
  return list(single(idIn(collection)), LIST_LENGTH_MAX, description);
}

const endpoint = (description: string) => nullable(single(ENDPOINT_URL, { format: 'uri' }), description, null);

const address = (description: string) => nullable(single(RECIPIENT_ADDRESS), description, null);

const SOURCE_LENGTH_MAX = 200;

const notificationConsent: MemberRule<MailConsent | null> = nullable(
  object(
    {
      source: single(text(SOURCE_LENGTH_MAX, FAULTS.required), { description: 'Where and how the consent was given.' }),
      at: single(PAST_TIME, { description: 'When the consent was given, with an offset and not in the future.' }),
    },
    FAULTS.consent,
  ),
  'Consent of the recipient to these e-mails. A change of notificationRecipient clears it, unless a new consent is sent.',
  null,
);

const notificationFrequency = nullable(
  single(oneOf(MAIL_FREQUENCIES)),
  'How alerts are grouped in e-mails. instant (default): the alerts of five minutes; daily: each day at 7:00 in ' +
    'Paris; weekly: on Mondays at 7:00 in Paris.',
  SEARCH_DEFAULTS.notificationFrequency,
);

/** A list of names from a closed list; duplicates are removed. */
function names<Name extends string>(known: readonly Name[], description: string): MemberRule<readonly Name[]> {
  const { schema, read } = list(single(oneOf(known)), LIST_LENGTH_MAX, description);
  return {
    schema,
    read(value, reading) {
      const stated = read(value, reading);
      return stated === REFUSED ? REFUSED : [...new Set(stated)];
    },
  };
}

const publisherText = text(PUBLISHER_NAME_LENGTH_MAX);
const PUBLISHER: ValueRule<string> = {
  schema: publisherText.schema,
  read(value) {
    const name = publisherText.read(value);
    return name instanceof Fault || publisherKey(name) !== '' ? name : new Fault(FAULTS.publisherName);
  },
};

/** Also accepts the former name of `excludedAreas`. */
function criterionNames(description: string): MemberRule<readonly string[]> {
  const { schema, read } = names(REQUESTED_CRITERION_NAMES, description);
  const present = (name: unknown): unknown => (name === 'excludedCities' ? 'excludedAreas' : name);
  return { schema, read: (value, reading) => read(Array.isArray(value) ? value.map(present) : value, reading) };
}

const expressions = ({ requested }: Member<'expressions'>): MemberRule<string | null> => ({
  schema: z.unknown().meta({ type: ['string', 'null'], description: requested }),
  read(value, reading) {
    const { violations } = reading;
    let isRefused = false;
    const read = readExpressions(value, ({ path: inside, message, known, more = 0 }) => {
      isRefused = true;
      const path = [...reading.path, ...inside];
      if (known === undefined) return violations.add(path, message, 'invalid_value');
      violations.addUnknown(path, message, known);
      violations.addMore(more);
    });
    if (isRefused) return REFUSED;
    const formatted = formatExpressions(read);
    return formatted === null || isStorable(formatted)
      ? formatted
      : refuse(reading, new Fault(UNSTORABLE, 'invalid_text'));
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

const polygons = ({ requested }: Member<'polygons'>): MemberRule<readonly Polygon[]> => ({
  schema: z.unknown().meta({ type: ['array', 'null'], items: POLYGON_SCHEMA, description: requested }),
  read(value, reading) {
    const shapes = parseGeoShapes(value);
    return 'en' in shapes ? refuse(reading, new Fault(shapes)) : shapes;
  },
});

export const HIDES_CONTACTS =
  'Removes contacts from webhooks, feed, e-mails, matches, deliveries, explanations and lists of the search.';

const CONTEXT_BYTES_MAX = 2_048;

const context: MemberRule<unknown> = {
  schema: z.unknown().meta({
    description:
      `Your own JSON, at most ${CONTEXT_BYTES_MAX} bytes, returned with the search and sent with its webhooks ` +
      'in the header Vigie-Context.',
  }),
  read(value, reading) {
    if (Buffer.byteLength(JSON.stringify(value)) <= CONTEXT_BYTES_MAX) return value;
    return refuse(reading, new Fault(FAULTS.bytesAsJson(CONTEXT_BYTES_MAX), 'too_long'));
  },
};

/** The value of a member after reading: ids for cities and departments, and the stored form for all other members. */
type Read<F extends Form> = F extends 'cities' | 'departments' ? readonly number[] : Forms[F];
type Rules = { readonly [F in Form]: (member: Member<F>) => MemberRule<Read<F>> };

const RULES: Rules = {
  bound: ({ requested }) => nullable(single(integer(0, BOUND_MAX)), `${requested} 0 means no limit.`, null),
  floor: ({ requested }) => nullable(single(integer(FLOOR_MIN, FLOOR_MAX)), requested, null),
  percent: ({ requested }) => nullable(single(numberIn(PERCENT_MIN, PERCENT_MAX)), requested, null),
  flag: ({ requested }) => written(flag(requested)),
  code: ({ names, requested }) => nullable(single(codeOf(names)), `${requested} The number is accepted, too.`, null),
  codes: ({ names, requested }) =>
    severalOf(
      names.map((_, position) => position),
      `${requested} One matching code is enough. A single code is accepted too, and returned as a single code.`,
    ),
  letters: ({ names, requested }) =>
    severalOf(names, `${requested} A single letter is accepted too, and returned as a single letter.`),
  latitude: ({ requested }) => coordinate(90, requested),
  longitude: ({ requested }) => coordinate(180, requested),
  radius: ({ requested }) =>
    number(
      (value) => value > 0 && value <= RADIUS_KM_MAX,
      both(`above 0 and at most ${RADIUS_KM_MAX}`, `au-dessus de 0, et ${RADIUS_KM_MAX} au plus`),
      requested,
    ),
  cities: ({ requested }) => references('cities', requested),
  departments: ({ requested }) => references('departments', requested),
  siteCategories: ({ requested }) => references('site_categories', requested),
  zipcodes: ({ requested }) => list(single(textLike(/^\d{5}$/, FAULTS.zipcode)), LIST_LENGTH_MAX, requested),
  inseeCodes: ({ requested }) =>
    list(single(textLike(/^(\d{2}|2A|2B)\d{3}$/, FAULTS.insee)), LIST_LENGTH_MAX, requested),
  polygons,
  features: ({ requested }) => names(FEATURE_NAMES, requested),
  publishers: ({ requested }) => list(single(PUBLISHER), PUBLISHERS_MAX, requested),
  points: ({ requested }) => list(POINT_TERM, POINT_TERMS_MAX, requested),
  criteria: ({ requested }) => criterionNames(requested),
  expressions,
  alternatives: ({ requested }) => list(alternative(), ALTERNATIVES_MAX, requested),
};

/** The criteria of an alternative. Members that set nothing are left out. */
function alternative(): MemberRule<StoredAlternative> {
  const rules = Object.fromEntries(
    ALTERNATIVE_MEMBERS.map((name) => [name, optional<unknown>(ruleOf(CRITERION_MEMBERS[name]))]),
  );
  const { schema, read } = object(rules, FAULTS.alternative);
  return {
    schema,
    read(value, reading) {
      const names = isRecord(value) ? Object.keys(value) : [];
      const misplaced = names.filter((name) => Object.hasOwn(SEARCH_MEMBERS, name) && !Object.hasOwn(rules, name));
      for (const name of misplaced)
        reading.violations.add([...reading.path, name], FAULTS.searchOnly, 'not_in_alternative');
      const members = misplaced.length > 0 ? REFUSED : read(value, reading);
      if (members === REFUSED) return REFUSED;
      const set = ALTERNATIVE_MEMBERS.filter(
        (name) => name in members && !isDeepStrictEqual(members[name], CRITERION_MEMBERS[name].unset),
      );
      return Object.fromEntries(set.map((name) => [name, members[name]]));
    },
  };
}

type CriterionRules = { readonly [Name in CriterionMemberName]: MemberRule<Read<FormOf<Name>>> };

const CRITERION_RULES = Object.fromEntries(
  Object.entries(CRITERION_MEMBERS).map(([name, member]) => [name, ruleOf(member)]),
) as CriterionRules;

function ruleOf<F extends Form>(member: Member<F>): MemberRule<Read<F>> {
  return RULES[member.form](member);
}

/** Keyed by member name. Every rule accepts null except that of `title`. */
export const SEARCH_MEMBERS = {
  title,
  publicTitle: nullable(
    single(text(PUBLIC_TITLE_LENGTH_MAX, FAULTS.blankTitle)),
    'Title that recipients of its e-mails see; if null, they see its criteria in words.',
    null,
  ),
  ...CRITERION_RULES,
  hidePropertyContact: nullable(single(FLAG), HIDES_CONTACTS, false),
  notificationEnabled: nullable(single(FLAG), 'Must be true for any delivery to be sent.', false),
  notificationRecipient: address('E-mail address that receives matches, and events of the subscribed kinds.'),
  notificationConsent,
  notificationReplyTo: address('E-mail address that receives answers to these e-mails.'),
  notificationFrequency,
  endpointRecipient: endpoint('Absolute https URL that receives matches.'),
  eventEndpoint: endpoint('Absolute https URL that receives events.'),
  subscribedEvents: names<EventKind>(
    EVENT_KINDS,
    'Kinds of event that eventEndpoint, the feed and e-mails receive. An end (property.match.end) is a change, other ' +
      'than an expiry, after which a live property of a match no longer satisfies the search. A return ' +
      '(property.match.resume) is the first later change after which it satisfies the search again.',
  ),
  eventThresholds: EVENT_THRESHOLDS,
  context,
} as const;

export type SearchMemberName = keyof typeof SEARCH_MEMBERS;
export type SearchInput = {
  -readonly [Name in SearchMemberName]?: Exclude<ReturnType<(typeof SEARCH_MEMBERS)[Name]['read']>, typeof REFUSED>;
};

/** Does not compile if a member has no default. */
({ title: '', ...SEARCH_DEFAULTS }) satisfies Record<SearchMemberName, unknown>;

const optionalMembers = Object.fromEntries(
  Object.entries(SEARCH_MEMBERS).map(([name, rule]) => [name, optional<unknown>(rule)]),
);
const ignored = z.unknown().meta({ readOnly: true, description: 'Ignored when sent.' });
const readOnly = Object.fromEntries(READ_ONLY_MEMBERS.map((name) => [name, ignored.optional()]));

/** The request bodies as documented. */
export const SearchCreation = bodySchema({ ...optionalMembers, title }).extend(readOnly);
export const SearchChange = bodySchema(optionalMembers).extend(readOnly);
