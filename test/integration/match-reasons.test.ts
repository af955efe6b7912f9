/** The explanation of a match, or of its absence, states what was recorded at the time, and nothing else. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { AdvertContent } from '../../src/engine/domain/advert.ts';
import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import { randomUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import { recentFlat } from '../support/adverts.ts';
import { startRecordedApi } from '../support/recorded-api.ts';

const retentionDays = { events: 90, deliveries: 30, expired: 90 };
const recorded = await startRecordedApi({ after }, { overrides: { settings: { retentionDays } } });
const { api, scene, createSearch, explain } = recorded;

const ENDPOINT = 'https://hooks.example.com/matches';
const SEARCH = {
  title: 'Toulon',
  transactionType: 0,
  includedCities: ['/cities/83137'],
  budgetMax: 200_000,
  withCoherentPrice: null,
  notificationEnabled: true,
  endpointRecipient: ENDPOINT,
};
const SILENT = { notificationEnabled: false };

const create = (members: object = {}) => createSearch({ ...SEARCH, ...members });

async function change(search: string, members: object): Promise<void> {
  assert.equal((await api.call('PUT', search, members)).status, 200);
}

interface Reason {
  readonly code: string;
  readonly at: string | null;
  readonly reason: string;
}

async function reasonsOf(search: string, property: Uuid): Promise<readonly Reason[]> {
  const { status, body } = await explain(search, `property=${property}`);
  assert.equal(status, 200);
  for (const { code, reason } of body.matchReasons) {
    assert.doesNotMatch(reason, /null|undefined|NaN/, code);
    assert.ok(body.matchReason.includes(reason), code);
  }
  return body.matchReasons;
}

async function codesOf(search: string, property: Uuid): Promise<readonly string[]> {
  return (await reasonsOf(search, property)).map(({ code }) => code);
}

/** A property with one advert, whose changes are recorded one after the other. */
function newFlat(): { readonly property: Uuid; record(...contents: readonly Partial<AdvertContent>[]): Promise<void> } {
  const [property, advert] = [randomUuid(), randomUuid()];
  return {
    property,
    async record(...contents) {
      for (const content of contents) await scene.record([recentFlat(property, advert, content)]);
    },
  };
}

describe('statements that were wrong in earlier versions', () => {
  it('name a price and a surface with their values, each for its own property of the batch', async () => {
    const search = await create({ surfaceMin: 40 });
    const [dear, small, advert, another] = [randomUuid(), randomUuid(), randomUuid(), randomUuid()];
    const record = (price: number, surface: number) =>
      scene.record([
        recentFlat(dear, advert, { price, surface: 45 }),
        recentFlat(small, another, { price: 150_000, surface, url: 'x' }),
      ]);
    await record(250_000, 30);
    await record(190_000, 45);
    assert.match((await reasonsOf(search, dear))[0]?.reason ?? '', /from 250,000\s€ to 190,000\s€/);
    assert.match((await reasonsOf(search, small))[0]?.reason ?? '', /from 30\sm² to 45\sm²/);
  });
});

describe('reasons for silence', () => {
  it('without an endpoint, only the feed has the match', async () => {
    const { property, record } = newFlat();
    const search = await create({ endpointRecipient: null });
    await record({ price: 150_000 });
    await change(search, { endpointRecipient: ENDPOINT });
    assert.deepEqual(await codesOf(search, property), ['began-with-advert', 'no-endpoint']);
  });

  it('without an endpoint but with an e-mail address, the feed is not the only channel', async () => {
    const { property, record } = newFlat();
    const search = await create({ endpointRecipient: null, notificationRecipient: 'jo@example.org' });
    await record({ price: 150_000 });
    assert.deepEqual(await codesOf(search, property), ['began-with-advert']);
    await change(search, { notificationRecipient: null });
    assert.deepEqual(await codesOf(search, property), ['began-with-advert'], 'the search had an address then');
  });

  it('cancelled with the notifications', async () => {
    const { property, record } = newFlat();
    const search = await create();
    await record({ price: 150_000 });
    await change(search, SILENT);
    assert.deepEqual(await codesOf(search, property), ['began-with-advert', 'cancelled', 'notifications-off']);
  });

  it('paused by an operator', async () => {
    const { property, record } = newFlat();
    const endpoint = `https://hooks.example.com/${randomUuid()}`;
    const search = await create({ endpointRecipient: endpoint });
    await record({ price: 150_000 });
    const { rows } = await api.database.query<{ id: Uuid }>('select client_id as id from searches limit 1');
    const key = endpointKeyOf(rows[0]?.id as Uuid, endpoint);
    await api.database.query('insert into endpoints (key, url, operator_paused_at) values ($1, $2, now())', [
      key,
      endpoint,
    ]);
    assert.deepEqual(await codesOf(search, property), ['began-with-advert', 'paused']);
  });

  it('unsubscribed by the recipient', async () => {
    const { property, record } = newFlat();
    const search = await create({ notificationRecipient: 'buyer@example.com' });
    await record({ price: 150_000 });
    await api.database.query(
      `insert into mail_choices (recipient_key, client_id, kind, scope, value, at)
       select mail_key, client_id, 'unsubscription', 'sender', 'true', now() from searches where id = $1`,
      [search.split('/').at(-1)],
    );
    assert.deepEqual(await codesOf(search, property), ['began-with-advert', 'unsubscribed']);
  });
});

it('the end and the return of a match are in its history', async () => {
  const { property, record } = newFlat();
  const search = await create({ subscribedEvents: ['property.match.end', 'property.match.resume'] });
  await record({ price: 190_000 }, { price: 250_000 });
  const [, ended] = await reasonsOf(search, property);
  assert.equal(ended?.code, 'end-notified');
  assert.match(ended.reason, /^The end of the match was notified on .*\(criterion: budget\)\.$/);
  assert.deepEqual((await codesOf(search, property)).slice(2), ['left', 'unsatisfied']);
  await record({ price: 180_000 });
  assert.deepEqual((await codesOf(search, property)).slice(0, 3), [
    'began-with-advert',
    'end-notified',
    'return-notified',
  ]);
  await record({ price: 260_000 });
  assert.deepEqual((await codesOf(search, property)).slice(1, 3), ['return-notified', 'end-notified']);
});

describe('facts that are no longer recorded', () => {
  it('are reported as such: versions of the search, events of the property', async () => {
    const { property, record } = newFlat();
    const search = await create();
    await record({ price: 250_000 }, { price: 190_000 });
    await change(search, { budgetMax: 300_000 });
    await api.database.query(
      'delete from search_changes where search_number = (select number from searches where id = $1)',
      [search.split('/').at(-1)],
    );
    assert.deepEqual(await codesOf(search, property), ['began', 'not-recorded']);
    const stood = await create();
    const old = "now() - interval '100 days'";
    await api.database.query('delete from events where property_uuid = $1', [property]);
    await api.database.query(`update properties set created_at = ${old} where uuid = $1`, [property]);
    await api.database.query(`update searches set created_at = ${old} where id = $1`, [stood.split('/').at(-1)]);
    assert.deepEqual(await codesOf(stood, property), ['satisfied', 'not-notified', 'not-recorded']);
  });

  it('limit the statements about a property to the events that were read', async () => {
    const { property, record } = newFlat();
    const search = await create(SILENT);
    await record({ price: 190_000 });
    await change(search, { notificationEnabled: true });
    assert.equal((await codesOf(search, property))[2], 'began-while-silent');
    await api.database.query(
      `insert into events (property_uuid, advert_uuid, kind, created_at)
       select $1, advert_uuid, 'ad.update.pictures', now() + interval '1 second' * n
       from events, generate_series(1, 2000) n where property_uuid = $1`,
      [property],
    );
    assert.deepEqual((await codesOf(search, property)).slice(0, 3), ['satisfied', 'not-notified', 'not-recorded']);
  });
});
