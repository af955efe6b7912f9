/** The replay that instances are compared with is right on a history checked by hand, and finds every difference. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stateText } from '../src/engine/domain/stored-property.ts';
import { resolveToulon } from './support/adverts.ts';
import { numberedUuid, upsert } from './support/intake.ts';
import { auditRecords, type Expectation, type OracleSearch, replay } from './support/replay-oracle.ts';

const property = numberedUuid('property', 1);
const advert = numberedUuid('advert', 1);
const at = (minute: number): string => `2026-03-10T08:0${minute}:00.000Z`;
const priced = (minute: number, price: number) => upsert({ property, advert, crawledAt: at(minute), price });
const common = { notificationEnabled: true, withCoherentPrice: null } as const;
const searches: readonly OracleSearch[] = [
  { id: 'all', members: { ...common, endpointRecipient: 'https://c.example/' } },
  {
    id: 'cheap',
    members: {
      ...common,
      budgetMax: 200_000,
      endpointRecipient: 'https://c.example/',
      eventEndpoint: 'https://c.example/events',
      subscribedEvents: ['ad.update.price'],
    },
  },
];

/** An expensive flat becomes cheap, cheaper, and expensive again. */
const history = [priced(1, 300_000), priced(2, 200_000), priced(3, 190_000), priced(4, 300_000)];

test('a match appears once, and an event if the property satisfied the search before or after it', () => {
  const { deliveries } = replay(history, searches, resolveToulon);
  const told = deliveries.map((key) => key.split(' ').slice(0, 3).join(' '));
  assert.deepEqual(told, [
    'all match property.ad.create',
    'cheap match property.ad.update',
    ...Array.from({ length: 3 }, () => 'cheap event ad.update.price'),
  ]);
  assert.equal(new Set(deliveries).size, deliveries.length, 'each names its document');
});

test('the expected record passes; lost, doubled or misplaced events and wrong states are found', async () => {
  const expected = replay(history, [], resolveToulon);
  const events = [...expected.events.values()].flat();
  assert.equal(events.length, 7);
  assert.deepEqual(await auditRecords(holding(expected), expected), []);
  const [first, second, ...rest] = events as [(typeof events)[0], (typeof events)[0], ...typeof events];
  for (const wrong of [
    [first, ...rest],
    [first, first, second, ...rest],
    [second, first, ...rest],
  ]) {
    const recorded = { ...expected, events: new Map([[property, wrong]]) };
    assert.match((await auditRecords(holding(recorded), expected)).join(), /^events of /);
  }
  const stale = replay(history.slice(0, 3), [], resolveToulon);
  const faults = await auditRecords(holding({ ...expected, properties: stale.properties }), expected);
  assert.equal(faults.length, 1);
  assert.match(String(faults[0]), new RegExp(`^property ${property} differs from its messages: /crawls/`));
  const nothing = { properties: new Map(), events: new Map() };
  assert.equal((await auditRecords(holding(nothing), expected)).length, 2);
  assert.equal((await auditRecords(holding(expected), nothing)).length, 2);
});

/** A database that returns these rows. */
function holding({ properties, events }: Pick<Expectation, 'properties' | 'events'>) {
  const propertyRows = [...properties].map(([uuid, { state, crawls }]) => ({
    ...{ uuid, crawls },
    state: stateText(state),
  }));
  const eventRows = [...events].flatMap(([uuid, told]) =>
    told.map(({ kind, advertUuid, createdAt, field }) => ({
      property_uuid: uuid,
      advert_uuid: advertUuid,
      kind,
      created_at: new Date(createdAt),
      field_name: field?.fieldName ?? null,
      field_old_value: field?.fieldOldValue ?? null,
      field_new_value: field?.fieldNewValue ?? null,
    })),
  );
  const query = async (text: string) => ({ rows: text.includes('from events') ? eventRows : propertyRows });
  return { query } as unknown as Parameters<typeof auditRecords>[0];
}
