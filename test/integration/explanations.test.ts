/** Explanations of a search and a property, from the day of its recording until retention has removed it. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { randomUuid } from '../../src/engine/domain/ids.ts';
import { digested, recentFlat } from '../support/adverts.ts';
import { valuesOf } from '../support/lists.ts';
import { startRecordedApi } from '../support/recorded-api.ts';

const retentionDays = { events: 90, deliveries: 30, expired: 90 };
const recorded = await startRecordedApi({ after }, { overrides: { settings: { retentionDays } } });
const { api, scene, createSearch, explain } = recorded;

const SEARCH = {
  title: 'Toulon',
  transactionType: 0,
  includedCities: ['/cities/83137'],
  budgetMax: 200_000,
  withCoherentPrice: null,
  notificationEnabled: true,
  endpointRecipient: 'https://hooks.example.com/matches',
  eventEndpoint: 'https://hooks.example.com/events',
  subscribedEvents: ['ad.update.price'],
};

const create = (members: object = {}, key = api.key) => createSearch({ ...SEARCH, ...members }, key);

function codesOf({ matchReasons }: { matchReasons: readonly { code: string }[] }): readonly string[] {
  return matchReasons.map(({ code }) => code);
}

describe('an explanation', () => {
  it('states that nothing was notified, and that a match began when the price fell', async () => {
    const [property, advert] = [randomUuid(), randomUuid()];
    const search = await create();
    await scene.record([recentFlat(property, advert, { price: 250_000 })]);
    const never = (await explain(search, `property=${property}`)).body;
    assert.equal(never.satisfied, false);
    assert.equal(never.match, null);
    assert.deepEqual(never.deliveries, []);
    const budget = never.criteria.find(({ criterion }: { criterion: string }) => criterion === 'budget');
    assert.deepEqual(budget.expected, { min: null, max: 200_000 });
    assert.equal(budget.actual, 250_000);
    assert.equal(budget.holds, false);
    assert.match(budget.reason, /250,000\s€\) is above the maximum of 200,000/);
    assert.match(
      never.matchReason,
      /^The property does not match the search\. .*above the maximum.* No notification about the property was recorded\.$/,
    );
    assert.deepEqual(codesOf(never), ['unsatisfied', 'not-notified']);

    await scene.record([recentFlat(property, advert, { price: 190_000 })]);
    const { body: began, headers } = await explain(search, `property=/documents/properties/${property}`, 'fr');
    assert.equal(headers.get('Content-Language'), 'fr');
    assert.match(headers.get('Vary') ?? '', /Accept-Language/);
    assert.equal(began.satisfied, true);
    assert.match(
      began.matchReason,
      /\d\d:\d\d \(heure de Paris\)\s: le prix est alors passé de 250\s000\s€ à 190\s000\s€/,
    );
    assert.equal((await api.call('GET', began.match)).status, 200);
    assert.equal(began.deliveries.length, 2);
    for (const delivery of began.deliveries) assert.equal((await api.call('GET', delivery)).body.match, began.match);

    await scene.record([recentFlat(property, advert, { price: 230_000 })]);
    const left = (await explain(search, `property=${property}`)).body;
    assert.equal(left.satisfied, false);
    assert.equal(left.match, began.match);
    assert.match(left.matchReason, /from 250,000\s€ to 190,000\s€\. It no longer matches\..*above the maximum/s);
  });

  it('shows the department of a place with only a zip code, as alerts, lists and medians do', async () => {
    const property = randomUuid();
    const department = await create({ includedCities: [], includedDepartments: ['/departments/13'] });
    const city = await create({ includedCities: ['/cities/13001'] });
    const flat = recentFlat(property, randomUuid(), { price: 150_000 });
    assert.ok(flat.kind === 'upsert');
    const place = { city: { insee: null, zipcode: '13100', name: 'Nowhere' }, locations: null };
    await scene.record([{ ...flat, property: { ...flat.property, ...place } }]);
    const found = (await explain(department, `property=${property}`)).body;
    assert.deepEqual([found.satisfied, found.match !== null], [true, true]);
    const listed = (await api.call('GET', `${department}/properties`)).body['hydra:member'];
    assert.deepEqual(valuesOf(listed, 'property').map(String), [`/documents/properties/${property}`]);
    const { rows } = await api.database.query(
      'select department_code from property_summaries where property_uuid = $1',
      [property],
    );
    assert.deepEqual(rows, [{ department_code: '13' }]);
    const { matchReason } = (await explain(city, `property=${property}`)).body;
    assert.match(
      matchReason,
      /outside the area searched, according to what is known of its location: zip code 13100, department 13\./,
    );
  });

  it('distinguishes properties that existed when the search was created from later ones', async () => {
    const [standing, fresh] = [randomUuid(), randomUuid()];
    await scene.record([recentFlat(standing, randomUuid(), { price: 150_000 })]);
    const search = await create();
    await scene.record([recentFlat(fresh, randomUuid(), { price: 150_000 })]);
    const stood = (await explain(search, `property=${standing}`)).body;
    assert.equal(stood.satisfied, true);
    assert.equal(stood.match, null);
    assert.match(
      stood.matchReason,
      /^The property matches the search\. No notification about the property was recorded\. It already matched when the search was created on .*\.$/,
    );
    assert.match((await explain(search, `property=${fresh}`)).body.matchReason, /when an advert appeared\.$/);
    assert.match(
      (await explain(search, `property=${fresh}`, 'fr')).body.matchReason,
      /avec la parution d'une annonce, le .*\.$/,
    );
  });

  it('states that a property already matched when an event was notified, and explains a later match as a new one', async () => {
    const [property, advert] = [randomUuid(), randomUuid()];
    await scene.record([recentFlat(property, advert, { price: 150_000 })]);
    const search = await create({ eventEndpoint: 'https://example.com/e', subscribedEvents: ['ad.update.price'] });
    await scene.record([recentFlat(property, advert, { price: 140_000 })]);
    const { body } = await explain(search, `property=${property}`);
    assert.match(
      body.matchReason,
      /^The property already matched the search when an event was notified on .*\. It already matched when the search was created on .*\.$/,
    );
    assert.equal((await api.call('GET', body.match)).status, 200);
    await scene.record([
      recentFlat(property, advert, { price: 300_000 }),
      recentFlat(property, advert, { price: 120_000 }),
    ]);
    const began = (await explain(search, `property=${property}`)).body;
    assert.match(
      began.matchReason,
      /began to match the search on .*, when the price went from 300,000\s€ to 120,000\s€\.$/,
    );
  });

  it('states if retention has removed the deliveries, and if notifications are off', async () => {
    const property = randomUuid();
    const search = await create();
    await scene.record([recentFlat(property, randomUuid(), { price: 150_000 })]);
    await api.database.query('delete from events where property_uuid = $1', [property]);
    const ago = "now() - interval '100 days'";
    await api.database.query(`update matches set created_at = ${ago}, updated_at = ${ago} where property_uuid = $1`, [
      property,
    ]);
    await api.database.query('delete from deliveries');
    await api.call('PUT', search, { notificationEnabled: false });
    const { body } = await explain(search, `property=${property}`);
    // The reason of the start is stored with the match, even when its events have been removed.
    assert.match(
      body.matchReason,
      /when an advert appeared\. The deliveries are no longer kept\. The notifications of the search are off\.$/,
    );
    assert.deepEqual(body.deliveries, []);
  });

  it('finds the property by its advert and by the address on the portal, ignoring the fragment', async () => {
    const search = await create();
    const [property, advert, other, sameUrl] = [randomUuid(), randomUuid(), randomUuid(), randomUuid()];
    const url = `https://portal.example/${randomUuid()}?page=1`;
    await scene.record([
      recentFlat(property, advert, { url: `${url}#photos` }),
      recentFlat(property, other, { url: `https://portal.example/${'x'.repeat(100_000)}` }),
    ]);
    const by = async (query: string) => (await explain(search, query)).body.property;
    assert.equal(await by(`advert=${advert}`), `/documents/properties/${property}`);
    assert.equal(await by(`advert=${other}`), `/documents/properties/${property}`);
    assert.equal(await by(`url=${encodeURIComponent(`${url}#plan`)}`), `/documents/properties/${property}`);
    assert.equal((await explain(search, `url=${encodeURIComponent(`${url}&b`)}`)).status, 404);
    // Of several properties with the URL, the most recently crawled is found. A changed URL finds its property.
    await scene.record([recentFlat(sameUrl, randomUuid(), { url })]);
    assert.equal(await by(`url=${encodeURIComponent(url)}`), `/documents/properties/${sameUrl}`);
    await scene.record([
      recentFlat(sameUrl, randomUuid(), { url: null }),
      recentFlat(property, advert, { url: `${url}2` }),
    ]);
    assert.equal(await by(`url=${encodeURIComponent(`${url}2`)}`), `/documents/properties/${property}`);
  });

  it('resolves an address to the property last seen there, not to one that expired later', async () => {
    const search = await create();
    const [former, formerAdvert, present] = [randomUuid(), randomUuid(), randomUuid()];
    const url = `https://portal.example/${randomUuid()}`;
    await scene.record([recentFlat(former, formerAdvert, { url }), recentFlat(present, randomUuid(), { url })]);
    const { crawledAt } = recentFlat(former, formerAdvert, { url });
    await scene.record([
      digested({ kind: 'expire', crawledAt, propertyUuid: former, advertUuid: formerAdvert, expiredAt: null }),
    ]);
    const { body } = await explain(search, `url=${encodeURIComponent(url)}`);
    assert.equal(body.property, `/documents/properties/${present}`);
  });

  it('refuses a request that names no property, two, or an unknown one', async () => {
    const search = await create();
    const property = randomUuid();
    assert.equal((await explain(search, '')).status, 400);
    assert.equal((await explain(search, `property=${property}&advert=${property}`)).status, 400);
    assert.equal((await explain(search, 'property=12')).status, 400);
    const unknown = await explain(search, `property=${randomUuid()}`);
    assert.equal(unknown.status, 404);
    assert.match(unknown.body.detail, /This property is unknown/);
  });

  it('answers in French unless English is preferred', async () => {
    const search = await create();
    const property = randomUuid();
    await scene.record([recentFlat(property, randomUuid(), {})]);
    for (const [language, expected] of [
      ['en-US,en;q=0.9', 'en'],
      ['de', 'fr'],
      ['fr;q=0.5, en', 'en'],
      ['*', 'fr'],
    ] as const) {
      assert.equal((await explain(search, `property=${property}`, language)).headers.get('Content-Language'), expected);
    }
  });
});

describe('explanations of a property', () => {
  it('list the searches that it satisfies, by title as French sorts them, in pages', async () => {
    const key = await api.newClient('of many searches');
    const property = randomUuid();
    await scene.record([recentFlat(property, randomUuid(), { price: 150_000 })]);
    const [town, ete, flat3, balconies] = [
      await create({ title: 'Toulon' }, key),
      await create({ title: 'Été' }, key),
      await create({ title: 'appartement' }, key),
      await create({ title: 'Ferme', expressions: [{ word: 'balcons' }] }, key),
    ];
    // One fails by one criterion, the other by two.
    await create({ title: 'A', budgetMax: 100_000 }, key);
    await create({ title: 'B', budgetMax: 100_000, transactionType: 1 }, key);
    const expected = [flat3, ete, balconies, town];
    const list = async (query: string) =>
      (await api.call('GET', `/explanations?property=${property}${query}`, undefined, { key })).body;
    const all = await list('');
    assert.deepEqual(valuesOf(all['hydra:member'], 'search'), expected);
    assert.ok(all['hydra:member'].every((member: { satisfied: boolean }) => member.satisfied));
    const second = await list('&itemsPerPage=3&page=2');
    assert.equal(second['hydra:totalItems'], 4);
    assert.deepEqual(valuesOf(second['hydra:member'], 'search'), expected.slice(3));
    const [single] = all['hydra:member'];
    const alone = await api.call('GET', single['@id'], undefined, { key });
    assert.deepEqual(alone.body, single);
  });
});

describe('stored properties', () => {
  const found = async (search: string, url: string): Promise<number> =>
    (await api.call('GET', `${search}/explanation?url=${encodeURIComponent(url)}`)).status;

  it('are removed with their summaries', async () => {
    const property = randomUuid();
    await scene.record([recentFlat(property, randomUuid(), {})]);
    await api.database.query('delete from properties where uuid = $1', [property]);
    const { rows } = await api.database.query('select from property_summaries where property_uuid = $1', [property]);
    assert.equal(rows.length, 0);
  });

  it('are found even if 300 of them have an advert at one URL', async () => {
    const search = await create();
    const url = `https://portal.example/${randomUuid()}`;
    const messages = Array.from({ length: 300 }, () => recentFlat(randomUuid(), randomUuid(), { url }));
    await scene.record(messages);
    assert.equal(await found(search, url), 200);
  });
});
