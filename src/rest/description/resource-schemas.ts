/**
 * The resources of the API, as zod schemas. The tests validate answers with them, and OpenAPI, the Hydra documentation
 * and the JSON-LD contexts are derived from them. Objects are strict, so a test fails if an answer has a member that is
 * not listed here.
 */

import { z } from 'zod';
import { ALTERNATIVE_MEMBERS } from '../../engine/domain/alternatives.ts';
import { EVENT_KINDS } from '../../engine/domain/codes.ts';
import type { Form, Member } from '../../engine/domain/criterion-kinds.ts';
import {
  CRITERION_MEMBERS,
  type CriterionMemberName,
  REQUESTED_CRITERION_NAMES,
} from '../../engine/domain/criterion-table.ts';
import { ATTEMPT_ERRORS, DELIVERY_CHANNELS, DELIVERY_STATES } from '../../engine/domain/delivery.ts';
import { ENDPOINT_STATES } from '../../engine/domain/endpoint.ts';
import { FEATURE_NAMES } from '../../engine/domain/features.ts';
import { EMAIL_STATUSES, MAIL_FREQUENCIES } from '../../engine/domain/mail.ts';
import { NEW_MATCHES_MAX } from '../../engine/domain/search.ts';
import { EVENT_THRESHOLDS } from '../event-threshold-schema.ts';
import { POINT_TERM } from '../point-term-schema.ts';
import { ROUTED_RESOURCES } from '../resources.ts';
import type { Contract } from '../route.ts';
import { HIDES_CONTACTS, TITLE_LENGTH_MAX } from '../search-schema.ts';
import {
  dateTime,
  dateTimeOrNull,
  emailFrequencyChosen,
  flag,
  identity,
  integer,
  link,
  list,
  number,
  text,
  textOrNull,
} from './field-schemas.ts';
import { AdEvent, PROPERTY_PARTS, PropertyCity, PropertyDocument } from './property-schemas.ts';

/** A city inside a search. A `City` resource also has the members of a property's city (specification, 2.2, 2.6). */
const CityReference = z.strictObject({
  ...identity('City'),
  article: text('Le, La, Les, L’ or empty.'),
  insee: text('INSEE code.'),
  libelle: text('Official name in full.'),
  name: text('Name in everyday use.'),
  zipcode: text('First zip code.'),
});

const matchedName = textOrNull('The name of the former commune or locality that matched, instead of the city’s own.');

const City = z.strictObject({ ...PropertyCity.shape, ...CityReference.shape, matchedName });

const Department = z.strictObject({
  ...identity('Department'),
  chefLieu: text('INSEE code of the prefecture.'),
  departmentCode: text('Code, such as 83 or 2A.'),
  name: text('Name.'),
  nameClean: text('Name in lower case without accents, hyphenated.'),
});

const SiteCategory = z.strictObject({
  ...identity('SiteCategory'),
  name: text('Name, as in publisher.category.'),
});

const inLanguages = <Value extends z.ZodType>(value: Value, description: string) =>
  z.strictObject({ fr: value, en: value }).meta({ description });

const Feature = z.strictObject({
  ...identity('Feature'),
  name: z.enum(FEATURE_NAMES).meta({ description: 'Name, as used in searches.' }),
  label: inLanguages(z.string(), 'Labels in French and English.'),
  words: inLanguages(z.array(z.string()), 'Words that name it in the features of adverts.'),
});

const Location = z.strictObject({
  ...identity('Location'),
  type: z.enum(['city', 'department', 'zipcode']).meta({ description: 'Kind of place.' }),
  label: text('Label, such as Toulon (83000).'),
  name: text('Name; for a zip code, the code.'),
  code: text('INSEE code, department code or zip code.'),
  zipcode: textOrNull('First zip code; null for a department.'),
  population: z.int().meta({ description: 'Number of inhabitants; 0 if unknown.' }),
  matchedName,
  cities: list(link('City', 'A city.'), 'For a zip code: the cities that have it.'),
  criterion: z
    .enum(['includedCities', 'includedDepartments', 'includedZipcodes'])
    .meta({ description: 'The member of a search that accepts it.' }),
  value: text('The value for that member.'),
});

const Market = z.strictObject({
  ...identity('Market'),
  median: z.number().meta({ description: 'Median price per m², euros; for land per m² of land.' }),
  count: z.int().meta({ description: 'Number of live properties whose price is known.' }),
  name: text('Name of the city, arrondissement or department.'),
  level: z.enum(['city', 'department']).meta({ description: 'Kind of place.' }),
  changedAt: dateTime('When the median last changed.'),
});

const PublisherName = z.strictObject({
  ...identity('PublisherName'),
  name: text('Name, as in an advert.'),
});

const User = z.strictObject({
  ...identity('User'),
  name: text('Name of the API client.'),
  publicName: text('Name that recipients of the client’s e-mails see.'),
});

type Answers = { readonly [F in Form]: (member: Member<F>) => z.ZodType };

const texts = ({ answered }: { readonly answered: string }) => list(z.string(), answered);
const decimalText = ({ answered }: { readonly answered: string }) => textOrNull(answered);
const ANSWERS: Answers = {
  bound: ({ answered }) => integer(answered),
  floor: ({ answered }) => integer(answered),
  percent: ({ answered }) => number(answered),
  flag: ({ answered }) => flag(answered),
  code: ({ names, answered }) =>
    z
      .enum(names.map((_, position) => String(position)))
      .nullable()
      .meta({ description: answered }),
  // Any JSON: a generated client that expects a list could not read a search that was saved with a single code.
  codes: ({ answered }) => z.unknown().meta({ description: `${answered} An integer or a list, as it was sent.` }),
  letters: ({ answered }) => z.unknown().meta({ description: `${answered} A letter or a list, as it was sent.` }),
  latitude: decimalText,
  longitude: decimalText,
  radius: decimalText,
  cities: ({ answered }) => list(CityReference, answered),
  departments: ({ answered }) => list(Department, answered),
  siteCategories: ({ answered }) => list(SiteCategory, answered),
  zipcodes: texts,
  inseeCodes: texts,
  polygons: ({ answered }) => list(z.array(z.array(z.tuple([z.number(), z.number()]))), answered),
  features: ({ answered }) => list(z.enum(FEATURE_NAMES), answered),
  publishers: texts,
  points: ({ answered }) => list(POINT_TERM.schema, answered),
  criteria: ({ answered }) => list(z.enum(REQUESTED_CRITERION_NAMES), answered),
  expressions: ({ answered }) => textOrNull(answered),
  alternatives: ({ answered }) => list(z.strictObject(answersOf(ALTERNATIVE_MEMBERS)).partial(), answered),
};

function answersOf(names: readonly CriterionMemberName[]) {
  return Object.fromEntries(names.map((name) => [name, answerOf(CRITERION_MEMBERS[name])]));
}

function answerOf<F extends Form>(member: Member<F>): z.ZodType {
  return ANSWERS[member.form](member);
}

const criteria = answersOf(Object.keys(CRITERION_MEMBERS) as CriterionMemberName[]);

const consentOrNull = z
  .strictObject({ source: text('Where and how the consent was given.'), at: dateTime('When the consent was given.') })
  .nullable()
  .meta({ description: 'Consent of the recipient, as it was sent.' });

const Search = z.strictObject({
  ...identity('Search'),
  title: z
    .string()
    .max(TITLE_LENGTH_MAX)
    .meta({ description: 'Title of the search. Recipients of its e-mails never see it.' }),
  publicTitle: textOrNull('Title that recipients of its e-mails see; if null, they see its criteria in words.'),
  token: text('Signing secret of its deliveries (Standard Webhooks).'),
  user: link('User', 'Owner.'),
  createdAt: dateTime('When it was created.'),
  updatedAt: dateTime('When it was last changed.'),
  lastAlertAt: dateTimeOrNull('Time of its last successful delivery.'),
  seenAt: dateTimeOrNull('Time up to which you have seen its matches (set by `PUT …/seen`); null if never set.'),
  newSinceSeen: z
    .int()
    .min(0)
    .max(NEW_MATCHES_MAX)
    .meta({ description: `Matches created since \`seenAt\`. ${NEW_MATCHES_MAX} means that many or more.` }),
  matchedLast7Days: z
    .int()
    .min(0)
    .max(NEW_MATCHES_MAX)
    .meta({
      description: `Matches created in the last seven days; ${NEW_MATCHES_MAX} means that many or more.`,
    }),
  emailStatus: z.enum(EMAIL_STATUSES).meta({
    description:
      'Whether e-mails are sent to notificationRecipient. off: no address, or no notifications; unavailable: the ' +
      'service has no mail server; refused: the recipient’s server permanently refuses the address; unsubscribed: ' +
      'the recipient has unsubscribed; consent-missing: the service requires notificationConsent, or the address was ' +
      'erased and no later consent was saved.',
  }),
  emailFrequencyChosen,
  ...criteria,
  hidePropertyContact: z.boolean().meta({ description: HIDES_CONTACTS }),
  notificationEnabled: z.boolean().meta({ description: 'True if matches and events are delivered.' }),
  notificationRecipient: textOrNull('E-mail address.'),
  notificationConsent: consentOrNull,
  notificationReplyTo: textOrNull('Address for answers to its e-mails.'),
  notificationFrequency: z.enum(MAIL_FREQUENCIES).meta({ description: 'How often e-mails are sent.' }),
  endpointRecipient: textOrNull('URL that receives matches.'),
  eventEndpoint: textOrNull('URL that receives events.'),
  subscribedEvents: list(z.enum(EVENT_KINDS), 'Kinds of event that eventEndpoint, the feed and e-mails receive.'),
  eventThresholds: EVENT_THRESHOLDS.schema,
  context: z.unknown().meta({ description: 'Your own JSON; its webhooks carry it in Vigie-Context.' }),
});

const PointOfInterest = z.strictObject({
  lat: z.number().meta({ description: 'Latitude.' }),
  lon: z.number().meta({ description: 'Longitude.' }),
  name: textOrNull('Name.'),
  type: text('Category, such as school.'),
  attributes: z.unknown().meta({
    description: 'Further attributes; an empty list if there are none. For a school: schoolType, operatorType.',
  }),
});

const Match = z.strictObject({
  ...identity('Match'),
  property: link('PropertyDocument', 'The property.'),
  search: link('Search', 'The search.'),
  createdAt: dateTime('When the match began or, if it has not, when it was first notified.'),
  updatedAt: dateTime('When it was last notified.'),
  propertyDocument: PropertyDocument.nullable(),
});

const Attempt = z.strictObject({
  number: z.int().meta({ description: 'From 1; a delivery that is sent again continues the count.' }),
  startedAt: dateTime('When it started.'),
  durationMs: integer('Milliseconds.'),
  statusCode: integer('HTTP status of the answer; for an e-mail, the SMTP code.'),
  error: z.enum(ATTEMPT_ERRORS).nullable().meta({ description: 'Class of the failure; null if delivered.' }),
  reason: textOrNull('Reason of the failure.'),
  responseHead: textOrNull('First 2 KiB of the answer.'),
});

/** The health of the endpoint for this client. Other clients with the same URL have a state of their own. */
const EndpointHealth = z.strictObject({
  state: z.enum(ENDPOINT_STATES).meta({ description: 'State of the endpoint.' }),
  failureStreak: z.int().meta({ description: 'Failed attempts since the last success.' }),
  backlog: z.int().meta({ description: 'Number of deliveries that wait for the endpoint.' }),
  oldestDueAt: dateTimeOrNull('When the oldest of these deliveries is or was due.'),
  lastSuccessAt: dateTimeOrNull('When it last answered 200.'),
  lastFailureAt: dateTimeOrNull('When it last failed.'),
  lastError: z.string().nullable().meta({ description: 'Class of the last failure.' }),
});

const Delivery = z.strictObject({
  ...identity('Delivery'),
  search: link('Search', 'The search.'),
  match: link('Match', 'The match.'),
  channel: z.enum(DELIVERY_CHANNELS).meta({
    description: 'match: to endpointRecipient; event: to eventEndpoint; email: an item of an e-mail.',
  }),
  event: z.enum(EVENT_KINDS).meta({ description: 'Kind of event.' }),
  endpoint: text('Destination: a URL, or a `mailto:` address for an e-mail.'),
  endpointHealth: EndpointHealth.nullable().meta({
    description: 'Health of the endpoint. Null if no attempt to it is recorded and it is not paused.',
  }),
  status: z.enum(DELIVERY_STATES).meta({ description: 'State of the delivery.' }),
  exhausted: z.boolean().meta({ description: 'True if it failed and no attempt follows.' }),
  attemptCount: z.int().meta({ description: 'Number of attempts so far.' }),
  dueAt: dateTimeOrNull('When the next attempt is due; null if there is none.'),
  createdAt: dateTime('When the change was recorded.'),
  finishedAt: dateTimeOrNull('When it was delivered, failed or cancelled.'),
  deliveredAt: dateTimeOrNull(
    'When it was first answered with 200 or, for an e-mail, accepted. It stays delivered, even if a resend fails.',
  ),
  attempts: list(Attempt, 'Oldest first.'),
  body: z.unknown().optional().meta({
    description:
      'Only for a single delivery: the body of the webhook, byte for byte unless `withheld`; null for an e-mail.',
  }),
  headers: z.record(z.string(), z.string()).nullable().optional().meta({
    description:
      'Only for a single delivery: main headers of its last attempt, without signature; `vigie-context` is the search’s current one.',
  }),
  withheld: z.boolean().optional().meta({
    description:
      'Only for a single delivery: true if it was recorded with contacts that the search now hides and `body` lacks.',
  }),
});

const WebhookTest = z.strictObject({
  ...identity('WebhookTest'),
  event: z.enum(EVENT_KINDS),
  adEvent: AdEvent.optional(),
  match: Match,
  delivery: z.strictObject({
    delivered: z.boolean().meta({ description: 'True if the endpoint answered 200.' }),
    statusCode: z.int().nullable(),
    durationMs: z.number(),
    error: z.string().nullable(),
    responseBody: z.string().nullable(),
    token: z.string().nullable().meta({ description: 'The token that signed it, if no search was named.' }),
  }),
});

const OWN = {
  Search,
  Match,
  PropertyDocument,
  Delivery,
  City,
  Department,
  SiteCategory,
  Feature,
  Location,
  PublisherName,
  PointOfInterest,
  Market,
  WebhookTest,
  User,
};

const CONTRACTS: readonly Contract[] = ROUTED_RESOURCES.flatMap(({ contract }) => contract ?? []);

const OWN_GROUPS: Readonly<Record<keyof typeof OWN, string>> = {
  Search: 'The criteria of a saved search, and where its alerts are sent.',
  Match: 'Properties of which a search was notified.',
  PropertyDocument: 'Properties with all their adverts, as they are now.',
  Delivery: 'Deliveries in any state, with every attempt.',
  City: 'Communes and arrondissements, by INSEE code.',
  Department: 'Departments of France.',
  SiteCategory: 'Categories of the sites that publish adverts.',
  Feature: 'Features of homes, recognised by the words of adverts.',
  Location: 'Places with the typed words or code, complete or not.',
  PublisherName: 'Publishers whose names begin with the typed text.',
  PointOfInterest: 'Schools, restaurants, hospitals and other points of interest near a location.',
  Market: 'Median prices of properties of one type in a place.',
  WebhookTest: 'An example sent to an endpoint, signed like a real webhook.',
  User: 'The client that the API key belongs to.',
};

/** The description of each group, by class name. */
export const GROUPS: Readonly<Record<string, string>> = {
  ...OWN_GROUPS,
  ...Object.assign({}, ...CONTRACTS.map(({ groups }) => groups)),
};

/** Keyed by class name, in the order of the documentation. */
export const RESOURCES: typeof OWN & Readonly<Record<string, z.ZodObject>> = {
  ...OWN,
  ...Object.assign({}, ...CONTRACTS.map(({ resources }) => resources)),
};

/** Collections that may have more members than `totalItems`. */
export const ESTIMATED_COLLECTIONS: ReadonlySet<string> = new Set([
  ...['PropertyDocument', 'Match', 'Delivery'],
  ...CONTRACTS.flatMap(({ estimated }) => estimated ?? []),
]);

export const COLLECTIONS_WITH_MARGIN: ReadonlySet<string> = new Set(
  CONTRACTS.flatMap(({ withMargin }) => withMargin ?? []),
);

/** Objects inside resources that are not resources themselves. */
export const PARTS: Readonly<Record<string, z.ZodObject>> = {
  CityReference,
  ...PROPERTY_PARTS,
  Attempt,
  EndpointHealth,
  ...Object.assign({}, ...CONTRACTS.map(({ parts }) => parts)),
};

export const FEATURE_BODIES: NonNullable<Contract['bodies']> = Object.assign(
  {},
  ...CONTRACTS.map(({ bodies }) => bodies),
);
