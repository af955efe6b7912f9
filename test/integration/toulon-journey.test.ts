/**
 * The whole journey on real adverts. Two snapshots of Toulon are published through NATS to a running daemon. Its
 * events, matches and webhooks are compared with a brute-force implementation of the decisions, written here from their
 * text.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { createApiKey, type RunningService, runVigie } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { HAS_TOULON, readToulon, type ToulonMessage } from '../support/toulon.ts';
import { untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const ALL_EVENTS = [
  'ad.update.price',
  'ad.update.surface',
  'ad.update.pictures',
  'ad.update.expired',
  'property.ad.create',
  'property.ad.update',
];

/** A search as it is sent to the API, and as a function of this test. */
interface Expectation {
  readonly name: string;
  readonly members: Readonly<Record<string, unknown>>;
  readonly holds: (message: ToulonMessage) => boolean;
}

/** Counted in the second snapshot with Python; the 76 rows of the first snapshot alone do not state these members. */
const HOMES: readonly (readonly [count: number, members: Readonly<Record<string, unknown>>])[] = [
  ...([94, 147, 509, 572, 187, 37, 7] as const).map(
    (count, at) => [count, { energyCategories: 'ABCDEFG'[at] }] as const,
  ),
  ...([208, 270, 228, 191, 163, 86] as const).map((count, at) => [count, { floorMin: at, floorMax: at }] as const),
  [624, { elevator: true }],
  [1_040, { elevator: false }],
  [222, { lastFloor: true }],
  [298, { energyCategories: ['A', 'B', 'C'], floorMin: 1, elevator: true }],
  [94 + 77 + 34 + 76, { energyCategories: 'A', orMissing: ['energy'] }],
  [624 + 76, { elevator: true, orMissing: ['elevator'] }],
  [208 + 432 + 76, { floorMax: 0, orMissing: ['floor'] }],
];

const CENTRE = { lat: 43.1258, lon: 5.9306 };

const EXPECTATIONS: readonly Expectation[] = [
  {
    name: 'circle',
    members: { lat: CENTRE.lat, lon: String(CENTRE.lon), radius: 2, withCoherentPrice: null },
    holds: ({ property }) => property.locations !== null && kilometres(CENTRE, property.locations) <= 2,
  },
  {
    name: 'budget',
    members: { budgetMin: 150_000, budgetMax: 250_000, surfaceMin: 50, transactionType: 0 },
    holds: ({ advert: { price, surface } }) =>
      price !== null && price >= 150_000 && price <= 250_000 && surface !== null && surface >= 50,
  },
  {
    name: 'sea view',
    members: {
      withCoherentPrice: null,
      expressions: 'expressions[0][0][word]=vue%20mer&expressions[0][0][options][strict]=true',
    },
    holds: ({ advert }) => [advert.title, advert.description].some((text) => ` ${plain(text)} `.includes(' vue mer ')),
  },
  {
    name: 'no viager',
    members: {
      includedCities: ['/cities/83137'],
      propertyTypes: 1,
      expressions: [[{ word: 'viager', options: { includes: false } }]],
    },
    holds: ({ property, advert }) =>
      property.propertyType === 1 && !/ viagere?s? /.test(` ${plain(advert.title)} ${plain(advert.description)} `),
  },
];

test('two snapshots of Toulon give exactly the known events, matches and webhooks', {
  skip: !HAS_TOULON && 'the shared adverts are not here',
}, async (t) => {
  const toulon = readToulon();
  const servers = await startTestServers(t);
  const receiver = await startWebhookReceiver(t);
  const daemon = await startHere(t, servers);
  const rest = restClient(daemon, await createApiKey(servers));
  const tokens = new Map<string, string>();
  for (const { name, members } of EXPECTATIONS) {
    const path = encodeURIComponent(name);
    const { iri, token } = await rest.createSearch({
      title: name,
      ...members,
      notificationEnabled: true,
      endpointRecipient: receiver.urlOf(`/matches/${path}`),
      eventEndpoint: receiver.urlOf(`/events/${path}`),
      subscribedEvents: ALL_EVENTS,
    });
    tokens.set(iri, token);
  }
  const database = connectDatabase(t, servers.postgres.url);

  const expected = bruteForce(toulon.first, toulon.second);
  const doubtful = doubtfulOnes([...toulon.first, ...toulon.second]);
  const compared = (lines: Iterable<string>): readonly string[] =>
    [...lines].filter((line) => !doubtful.has(line.slice(line.lastIndexOf(' ') + 1))).sort();
  for (const snapshot of [toulon.first, toulon.second]) {
    const input = snapshot.map((message) => JSON.stringify(message)).join('\n');
    const { code, stdout } = await runVigie(['publish'], servers, { input });
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`^${snapshot.length} published, 0 already in the stream, 0 refused`));
  }
  await untilIs(() => recordedChanges(daemon), toulon.first.length + toulon.second.length);
  await untilIs(
    async () => (await database.query('select distinct state from delivery_states')).rows,
    [{ state: 'delivered' }],
  );

  const stored = await database.query('select kind, field_name, field_old_value, field_new_value from events');
  const fieldEvents = stored.rows.filter(({ field_name }) => field_name !== null);
  assert.deepEqual(
    fieldEvents.map((row) => `${row.kind} ${row.field_old_value} ${row.field_new_value}`).sort(),
    toulon.changes.map((c) => `ad.update.${c.field} ${c.old} ${c.new}`).sort(),
  );
  const changedAdverts = new Set(toulon.changes.map(({ id }) => id)).size;
  const kindCount = (kind: string): number => stored.rows.filter((row) => row.kind === kind).length;
  assert.equal(kindCount('property.ad.create'), toulon.first.length + 324);
  assert.equal(kindCount('property.ad.update'), changedAdverts);

  const received = receiver.posts.map((post) => {
    const token = tokens.get(JSON.parse(post.body.toString()).match.search);
    assert.ok(token, 'a delivery names its search');
    return {
      path: decodeURIComponent(post.path),
      body: new Webhook(token).verify(post.body, post.headers) as Delivery,
    };
  });
  const matchesReceived = received
    .filter(({ path }) => path.startsWith('/matches/'))
    .map(({ path, body }) => `${path.slice('/matches/'.length)} ${body.match.propertyDocument.uuid}`);
  assert.deepEqual(compared(matchesReceived), compared(expected.matches));
  const eventsReceived = received
    .filter(({ path }) => path.startsWith('/events/'))
    .map(({ path, body }) => `${path.slice('/events/'.length)} ${body.event} ${body.match.propertyDocument.uuid}`);
  assert.deepEqual(compared(eventsReceived), compared(expected.events));
  const percents = new Map(toulon.changes.map((c) => [`${c.field} ${c.old} ${c.new}`, c.percent.toFixed(2)]));
  const fieldsReceived = received.flatMap(({ body: { adEvent } }) => adEvent ?? []);
  assert.ok(fieldsReceived.length > 0);
  for (const { fieldName, fieldOldValue, fieldNewValue, percentVariation } of fieldsReceived) {
    assert.equal(percentVariation, percents.get(`${fieldName} ${fieldOldValue} ${fieldNewValue}`));
  }
  for (const { name } of EXPECTATIONS) {
    assert.ok(
      matchesReceived.some((match) => match.startsWith(`${name} `)),
      `search ${name} is exercised`,
    );
  }
  for (const [count, members] of HOMES) {
    const asked = { ...members, includedInseeCodes: ['83137'], withCoherentPrice: null };
    const { body } = await rest.request<{ satisfiedNow: number }>('POST', '/searches/preview', asked);
    assert.equal(body.satisfiedNow, count, JSON.stringify(members));
  }
  assert.equal(await daemon.end('SIGTERM'), 0);
});

async function recordedChanges(daemon: RunningService): Promise<number> {
  const metrics = await (await fetch(`${daemon.operationsUrl}/metrics`)).text();
  const counts = [...metrics.matchAll(/^vigie_changes_total\{.*\} (\d+)$/gm)].map((line) => Number(line[1]));
  return counts.reduce((sum, count) => sum + count, 0);
}

interface Delivery {
  readonly event: string;
  readonly adEvent?: {
    readonly fieldName: string;
    readonly fieldOldValue: string;
    readonly fieldNewValue: string;
    readonly percentVariation: string | null;
  };
  readonly match: { readonly propertyDocument: { readonly uuid: string } };
}

/** Evaluates every state of every property against every search, in the order of publication. */
function bruteForce(first: readonly ToulonMessage[], second: readonly ToulonMessage[]) {
  const stored = new Map<string, ToulonMessage>();
  const matches = new Set<string>();
  const events: string[] = [];
  for (const message of [...first, ...second]) {
    const { uuid } = message.property;
    const before = stored.get(uuid);
    const kinds = eventKinds(before, message);
    for (const { name, holds } of EXPECTATIONS) {
      const heldBefore = before !== undefined && holds(before);
      const heldAfter = holds(message);
      if (heldAfter && !heldBefore) matches.add(`${name} ${uuid}`);
      if (heldAfter || heldBefore) events.push(...kinds.map((kind) => `${name} ${kind} ${uuid}`));
    }
    stored.set(uuid, message);
  }
  return { matches, events };
}

function eventKinds(before: ToulonMessage | undefined, after: ToulonMessage): string[] {
  if (before === undefined) return ['property.ad.create'];
  const kinds = (['price', 'surface'] as const)
    .filter((field) => before.advert[field] !== after.advert[field])
    .map((field) => `ad.update.${field}`);
  return kinds.length > 0 ? [...kinds, 'property.ad.update'] : [];
}

function pricePerMeter({ advert: { price, surface } }: ToulonMessage): number[] {
  return price === null || surface === null || surface === 0 ? [] : [price / surface];
}

/**
 * Properties whose price may be incoherent. The median is computed independently of intake, so the first properties are
 * evaluated without one. No search here accepts prices above the limits of a sale.
 */
function doubtfulOnes(messages: readonly ToulonMessage[]): ReadonlySet<string> {
  const sorted = messages.flatMap(pricePerMeter).sort((a, b) => a - b);
  const median = sorted[sorted.length >> 1] as number;
  const isDoubtful = (price: number): boolean => price < median / 4 || price > median * 4;
  return new Set(messages.filter((each) => pricePerMeter(each).some(isDoubtful)).map(({ property }) => property.uuid));
}

/** Distance by the spherical law of cosines, which is not the service's formula. */
function kilometres(a: { lat: number; lon: number }, b: { lat: number; lon: number }): number {
  const [latA, latB, lon] = [a.lat, b.lat, b.lon - a.lon].map((degrees) => (degrees * Math.PI) / 180) as [
    number,
    number,
    number,
  ];
  return (
    6371 * Math.acos(Math.min(1, Math.sin(latA) * Math.sin(latB) + Math.cos(latA) * Math.cos(latB) * Math.cos(lon)))
  );
}

/** Digits and lower-case letters without accents, with one space for any other characters between them. */
function plain(text: string | null): string {
  return (text ?? '')
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^a-z0-9]+/g, ' ')
    .trim();
}
