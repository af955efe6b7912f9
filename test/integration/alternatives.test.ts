/** Alternatives of a search, from REST to its webhooks: one match, one delivery, one row, whichever alternative holds. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { randomUuid } from '../../src/engine/domain/ids.ts';
import { SiteCategoryInUseError, setSiteCategories } from '../../src/engine/store/site-categories.ts';
import type { Violation } from '../../src/rest/problem.ts';
import { recentFlat } from '../support/adverts.ts';
import { startRecordedApi } from '../support/recorded-api.ts';

const recorded = await startRecordedApi({ after });
const { api, scene, explain } = recorded;

const [TOULON, LA_SEYNE] = ['83137', '83126'];
const ALTERNATIVES = [
  { includedCities: [`/cities/${TOULON}`], budgetMax: 200_000 },
  { includedInseeCodes: [LA_SEYNE], budgetMax: 260_000 },
];
const SEARCH = {
  title: 'x',
  ...{ transactionType: '0', withCoherentPrice: null, notificationEnabled: true },
  ...{ endpointRecipient: 'https://hooks.example/match', eventEndpoint: 'https://hooks.example/event' },
  subscribedEvents: ['property.match.end', 'property.match.resume'],
  alternatives: ALTERNATIVES,
};

async function faultsOf(members: object, method = 'POST', path = '/searches'): Promise<readonly string[]> {
  const { status, body } = await api.call(method, path, method === 'POST' ? { title: 'x', ...members } : members);
  assert.equal(status, 422, JSON.stringify(body));
  return body.violations.map(({ propertyPath, code }: Violation) => `${propertyPath} ${code}`);
}

const createSearch = (members: object = {}) => recorded.createSearch({ ...SEARCH, ...members });

describe('alternatives', () => {
  it('are answered as they were sent, with references, and sent back unchanged', async () => {
    const path = await createSearch({
      alternatives: [...ALTERNATIVES, { transactionType: null, roomMin: 2, floorMin: 0 }],
    });
    const { body: search } = await api.call('GET', path);
    const [first, second, third] = search.alternatives;
    assert.deepEqual([first.includedCities[0]['@id'], first.budgetMax], [`/cities/${TOULON}`, 200_000]);
    assert.deepEqual([second, third], [ALTERNATIVES[1], { roomMin: 2, floorMin: 0 }]);
    const { status, body: same } = await api.call('PUT', path, search);
    assert.equal(status, 200);
    assert.deepEqual(same.alternatives, search.alternatives);
    const { body: cleared } = await api.call('PATCH', path, { alternatives: null });
    assert.deepEqual(cleared.alternatives, []);
  });

  it('are answered with their site categories, which cannot be removed, and with an ETag that a change accepts', async () => {
    const [category] = await setSiteCategories(api.database, ['Agence']);
    const iri = `/site_categories/${category?.id}`;
    const path = await createSearch({ alternatives: [{ includedSiteCategories: [iri] }] });
    const { body, headers } = await api.call('GET', path);
    assert.equal(body.alternatives[0].includedSiteCategories[0]?.['@id'], iri);
    const ifMatch = { 'If-Match': headers.get('ETag') as string };
    assert.equal((await api.call('PUT', path, { title: 'y' }, { headers: ifMatch })).status, 200);
    await assert.rejects(setSiteCategories(api.database, []), SiteCategoryInUseError);
  });

  it('are refused with the path of each fault', async () => {
    const of = (...alternatives: readonly unknown[]) => faultsOf({ alternatives });
    assert.deepEqual(await of({}), ['alternatives[0] required']);
    assert.deepEqual(await of({ roomMin: 0, budgetMax: null }), ['alternatives[0] required']);
    assert.deepEqual(await of(1), ['alternatives[0] invalid_type']);
    assert.deepEqual(await of({ roomMin: 1, alternatives: [] }), ['alternatives[0].alternatives not_in_alternative']);
    for (const name of ['excludedCities', 'excludedGeoShapes', 'excludedSiteCategories', 'withCoherentPrice', 'title'])
      assert.deepEqual(await of({ roomMin: 1, [name]: null }), [`alternatives[0].${name} not_in_alternative`]);
    assert.deepEqual(await of({ roomMn: 1 }), ['alternatives[0].roomMn unknown_member']);
    assert.deepEqual(await of({ roomMin: '1' }), ['alternatives[0].roomMin invalid_type']);
    assert.deepEqual(await of({ roomMin: 3, roomMax: 2 }), ['alternatives[0].roomMin min_above_max']);
    assert.deepEqual(await of({ roomMin: 3 }, { roomMin: 3, lat: 43 }), [
      ...['lon', 'radius'].map((name) => `alternatives[1].${name} incomplete_circle`),
    ]);
    assert.deepEqual(await of({ roomMin: 1 }, { roomMin: 1, includedCities: ['/cities/1'] }), [
      'alternatives[1].includedCities[0] unknown_reference',
    ]);
    assert.deepEqual(await of({ roomMin: 1, orMissing: ['room', 'energy'] }), [
      'alternatives[0].orMissing[1] criterion_not_set',
    ]);
    assert.deepEqual(await of(...Array.from({ length: 11 }, () => ({ roomMin: 1 }))), ['alternatives too_long']);
    const zipcodes = { includedZipcodes: Array.from({ length: 101 }, () => '83000') };
    assert.deepEqual(await of(zipcodes), ['alternatives[0] too_long']);
  });

  it('are refused where the search sets the same criterion, whichever is written last', async () => {
    const twice = ['alternatives[0].roomMin set_on_search'];
    assert.deepEqual(await faultsOf({ roomMax: 4, alternatives: [{ roomMin: 1 }] }), twice);
    const path = await createSearch({ alternatives: [{ roomMin: 1 }] });
    assert.deepEqual(await faultsOf({ roomMax: 4 }, 'PATCH', path), twice);
    assert.deepEqual(await faultsOf({ orMissing: ['room'] }, 'PATCH', path), ['orMissing[0] criterion_not_set']);
  });
});

describe('a property that satisfies a search by alternatives', () => {
  it('is one match and one delivery, and is explained, listed and previewed by the first that holds', async () => {
    const both = [{ budgetMax: 300_000 }, { surfaceMin: 10 }, { includedInseeCodes: [TOULON] }];
    const search = await createSearch({ alternatives: both });
    const property = randomUuid();
    await scene.record([recentFlat(property, property, { price: 210_000, surface: 50 }, TOULON)]);
    const { body: matches } = await api.call('GET', `/matches?search=${search}`);
    assert.equal(matches['hydra:totalItems'], 1);
    const { body: feed } = await api.call('GET', `/feed?search=${search}`);
    assert.equal(feed.items.length, 1);
    const { body } = await explain(search, `property=${property}`);
    assert.match(body.matchReason, /It matches by alternative 1\./);
    assert.ok(body.matchReasons.some(({ code }: { readonly code: string }) => code === 'by-alternative'));
    assert.deepEqual(body.criteria.at(-1).actual, [[], [], []]);
    const { body: list } = await api.call('GET', `${search}/properties`);
    assert.deepEqual([list['hydra:totalItems'], list.estimated], [1, false]);
    const { body: preview } = await api.call('POST', '/searches/preview', { alternatives: ALTERNATIVES });
    const counts = preview.withoutCriterion.find((one: { criterion: string }) => one.criterion === 'alternatives');
    assert.deepEqual([preview.satisfiedNow, counts.satisfiedNow], [0, 1]);
  });
});
