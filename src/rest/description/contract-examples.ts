/**
 * The examples in the contracts. The production code creates most of them, from the advert that the webhook tester
 * sends. The tests send the example requests to a running service and compare the answers with the schemas.
 */

import type { EventKind } from '../../engine/domain/codes.ts';
import type { WebhookChannel } from '../../engine/domain/delivery.ts';
import { searchNumberOf, uuidOf } from '../../engine/domain/ids.ts';
import { SEARCH_DEFAULTS, type Search, type SearchMembers } from '../../engine/domain/search.ts';
import type { Reference } from '../../engine/reference/communes.ts';
import { deliveryDocument } from '../deliveries.ts';
import { collectionClassOf, identityOf } from '../hydra.ts';
import { matchDocument } from '../matches.ts';
import { searchTemplate } from '../query.ts';
import { cityDocument, featureDocument, locationDocument, publisherNameDocument } from '../reference.ts';
import { ROUTED_RESOURCES } from '../resources.ts';
import type { Route, Samples } from '../route.ts';
import { departmentDocument, searchDocument, siteCategoryDocument } from '../search-document.ts';
import { sampleBody, sampleChange, sampleMessages } from '../webhook-tester.ts';
import { COLLECTIONS_WITH_MARGIN, ESTIMATED_COLLECTIONS, FEATURE_BODIES } from './resource-schemas.ts';

const AT = new Date('2026-03-10T08:15:00Z');
const ID = {
  client: uuidOf('0199a2f4-7c1e-7d3a-8b1c-2f4e6a8c0d10'),
  search: uuidOf('0199a2f4-7c1e-7d3a-8b1c-2f4e6a8c0d11'),
  match: uuidOf('0199a2f4-7c1e-7d3a-8b1c-2f4e6a8c0d12'),
  delivery: uuidOf('0199a2f4-7c1e-7d3a-8b1c-2f4e6a8c0d13'),
  own: uuidOf('0199a2f4-7c1e-7d3a-8b1c-2f4e6a8c0d15'),
} as const;
const PROPERTY = uuidOf('00000000-0000-4000-8000-000000000001');
const ENDPOINT = 'https://hooks.example.com/matches';
const CATEGORY = { id: 1, name: 'Agence' };
const TOULON = '83137';
const VAR = '83';

/** Keyed by kind of message. */
export const INTAKE_EXAMPLES = sampleMessages(AT);

/** Bodies that succeed when they are sent unchanged. */
export const BODY_EXAMPLES: Readonly<Record<string, object>> = {
  SearchCreation: {
    title: 'Three rooms in Toulon, sea view',
    transactionType: '0',
    propertyTypes: [0, 1],
    includedCities: [`/cities/${TOULON}`],
    budgetMax: 300_000,
    roomMin: 3,
    expressions: 'expressions[0][0][word]=vue%20mer&expressions[0][0][options][strict]=true',
    notificationEnabled: false,
    endpointRecipient: ENDPOINT,
    eventEndpoint: 'https://hooks.example.com/events',
    subscribedEvents: ['ad.update.price', 'ad.update.expired'],
    context: { user: 42 },
  },
  SearchChange: { budgetMax: 320_000, roomMin: null },
  SearchPatch: { budgetMax: 320_000, roomMin: null, eventThresholds: { price: { percent: 5, amount: null } } },
  ...Object.fromEntries(Object.entries(FEATURE_BODIES).map(([name, { example }]) => [name, example])),
};

/** Examples of required parameters, and of some optional ones that the client may have to send (openapi.ts). */
export const PARAMETER_EXAMPLES: Readonly<Record<string, unknown>> = {
  search: `/searches/${ID.search}`,
  'uuid[]': [PROPERTY],
  property: PROPERTY,
  query: 'toul',
  name: 'agence',
  city: `/cities/${TOULON}`,
  transactionType: '0',
  propertyType: '0',
  lat: 43.1242,
  lon: 5.928,
  endpoint: ENDPOINT,
  eventType: 'ad.update.price',
};

/** An example of the id in the path of a resource. */
export function idExample(resource: string): string | number {
  const ids: Readonly<Record<string, string | number>> = {
    City: Number(TOULON),
    Department: Number(VAR),
    SiteCategory: CATEGORY.id,
    Feature: 'pool',
    Match: ID.match,
    Delivery: ID.delivery,
    PropertyDocument: PROPERTY,
    User: ID.client,
    Endpoint: Buffer.from('https://hooks.example.com/events').toString('base64url'),
  };
  return (
    ids[resource] ??
    (ROUTED_RESOURCES.some(({ contract }) => resource in (contract?.resources ?? {})) ? ID.own : ID.search)
  );
}

export type ContractExamples = ReturnType<typeof contractExamples>;

export function contractExamples(reference: Reference) {
  const items = itemExamples(reference);
  return {
    item: (resource: string) => items[resource] ?? {},
    collection({ path, resource, parameters }: Route) {
      const iri = path.replace('{id}', ID.search);
      const search = { collectionType: collectionClassOf(resource), 'hydra:search': searchTemplate(iri, parameters) };
      return {
        '@context': `/contexts/${resource}`,
        '@id': iri,
        '@type': 'hydra:Collection',
        'hydra:member': [items[resource]],
        'hydra:totalItems': 1,
        'hydra:view': { '@id': iri, '@type': 'hydra:PartialCollectionView' },
        ...(resource !== 'PointOfInterest' && search),
        ...(ESTIMATED_COLLECTIONS.has(resource) && { estimated: false }),
        ...(COLLECTIONS_WITH_MARGIN.has(resource) && { margin: 0 }),
      };
    },
    alert: (kind: EventKind, channel: WebhookChannel) => alertExample(kind, channel, reference),
  };
}

function itemExamples(reference: Reference): Readonly<Record<string, object>> {
  const alert: Samples['alert'] = (kind, channel) => alertExample(kind, channel, reference);
  const samples: Samples = { at: AT, ids: ID, property: PROPERTY, reference, alert };
  const match = matchExample('ad.update.price', reference);
  const { propertyDocument: document } = match as { readonly propertyDocument?: object };
  return {
    Search: searchDocument(searchExample(), {
      reference,
      siteCategories: new Map([[CATEGORY.id, CATEGORY]]),
      mailRules: { isMailAvailable: true, isConsentRequired: false },
    }),
    Match: match,
    PropertyDocument: document ?? {},
    Delivery: deliveryExample(),
    City: cityDocument(present(reference.city(TOULON))),
    Department: departmentDocument(present(reference.department(VAR))),
    SiteCategory: siteCategoryDocument(CATEGORY),
    Feature: featureDocument('pool'),
    PointOfInterest: {
      lat: 43.1256,
      lon: 5.9304,
      name: 'Lycée Dumont d’Urville',
      type: 'school',
      attributes: { schoolType: 'lycée', operatorType: 'public' },
    },
    WebhookTest: {
      ...identityOf('WebhookTest', `/webhook-tester/${ID.delivery}`),
      ...alertExample('ad.update.price', 'event', reference),
      delivery: { delivered: true, statusCode: 200, durationMs: 84, error: null, responseBody: 'ok', token: token() },
    },
    Location: locationDocument(present(reference.completePlaces('Toulon', { offset: 0, limit: 1 }).places[0])),
    PublisherName: publisherNameDocument('Agence du port'),
    ...Object.assign({}, ...ROUTED_RESOURCES.map(({ contract }) => contract?.examples?.(samples))),
    Market: {
      ...identityOf('Market', `/markets?city=/cities/${TOULON}&transactionType=0&propertyType=0`),
      ...{ median: 4_200, count: 83, name: 'Toulon', level: 'city', changedAt: AT.toISOString() },
    },
    User: { ...identityOf('User', `/users/${ID.client}`), name: 'acme', publicName: 'Agence du port' },
  };
}

/** The reference data always has the codes that the examples use. */
function present<Place>(place: Place | null | undefined): Place {
  if (place === null || place === undefined) throw new Error('the reference data lacks the place of an example');
  return place;
}

/** A placeholder for a secret. */
const token = (): string => `whsec_${Buffer.from('an example, and nobody’s secret!').toString('base64')}`;

function searchExample(): Search {
  const members: SearchMembers = {
    ...SEARCH_DEFAULTS,
    ...(BODY_EXAMPLES.SearchCreation as SearchMembers),
    includedCities: [TOULON],
    expressions:
      'expressions[0][0][word]=vue%20mer&expressions[0][0][options][includes]=true&expressions[0][0][options][strict]=true',
  };
  const at = { createdAt: AT, updatedAt: AT, lastAlertAt: AT, seenAt: AT, newSinceSeen: 0, matchedLast7Days: 2 };
  const mail = { key: null, isRefused: false, isUnsubscribed: false, isErased: false, frequencyChosen: null };
  return { id: ID.search, number: searchNumberOf(1), clientId: ID.client, token: token(), members, mail, ...at };
}

function matchExample(kind: EventKind, { resolvePlace }: Reference): object {
  const { stored } = sampleChange(kind, AT);
  const match = { id: ID.match, propertyUuid: PROPERTY, searchId: ID.search, createdAt: AT, updatedAt: AT };
  return matchDocument({ ...match, stored, hidePropertyContact: false }, { resolvePlace });
}

function alertExample(kind: EventKind, channel: WebhookChannel, reference: Reference): object {
  return JSON.parse(sampleBody(kind, AT, ID, reference, channel === 'match'));
}

function deliveryExample(): object {
  const attempt = { number: 1, startedAt: AT, durationMs: 84, statusCode: 200, error: null, reason: null };
  return deliveryDocument(
    {
      id: ID.delivery,
      searchId: ID.search,
      matchId: ID.match,
      channel: 'event',
      kind: 'ad.update.price',
      endpoint: ENDPOINT,
      endpointKey: '',
      state: 'delivered',
      attemptCount: 1,
      dueAt: AT,
      createdAt: AT,
      finishedAt: AT,
      attempts: [{ ...attempt, responseHead: 'ok' }],
    },
    null,
  );
}
