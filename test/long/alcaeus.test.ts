/** The API through alcaeus, a Hydra client that uses only the API's own description. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { sampleChange } from '../../src/rest/webhook-tester.ts';
import { startTestApi } from '../support/api.ts';
import { walkWithAlcaeus } from '../support/hydra-clients.ts';
import { searchNumberOfId, seedMatch, seedProperty } from '../support/seeded-matches.ts';

const api = await startTestApi({ after });

async function seed(): Promise<{ readonly match: string; readonly property: string; readonly searches: string[] }> {
  const searches: string[] = [];
  for (const title of ['One', 'Two', 'Three']) {
    const { body } = await api.call('POST', '/searches', { title, propertyTypes: [0, 1], budgetMax: 1 });
    searches.push(body['@id']);
  }
  const { stored } = sampleChange('ad.update.price', new Date());
  const match = randomUUID();
  await seedProperty(api.database, stored);
  const searchNumber = await searchNumberOfId(api.database, String(searches[0]).slice('/searches/'.length));
  await seedMatch(api.database, { id: match, searchNumber, propertyUuid: stored.state.uuid });
  return { match: `/matches/${match}`, property: `/documents/properties/${stored.state.uuid}`, searches };
}

test('alcaeus walks from the entrypoint to collections, pages, members and their operations', async () => {
  const { match, property, searches } = await seed();
  const paths = ['/searches', '/searches?page=2&itemsPerPage=1', '/matches', match, property, '/cities/75115'];
  const { collections, loaded } = await walkWithAlcaeus(api.baseUrl, api.key, paths);
  const operations = Object.fromEntries(collections.map((one) => [one.id, one.operations]));
  assert.deepEqual(operations['/searches'], ['GET', 'POST #Search']);
  assert.deepEqual(Object.keys(operations).sort(), [
    ...['/cities', '/deliveries', '/departments', '/documents/properties', '/endpoints', '/features'],
    ...['/matches', '/recipients', '/recoveries', '/searches', '/site_categories', '/users', '/webhook-secrets'],
  ]);
  const [all, second, matches, one, document, city] = loaded;
  assert.ok(all?.types.includes('http://www.w3.org/ns/hydra/core#Collection'));
  assert.deepEqual([all?.total, all?.members], [3, searches]);
  // A client that follows a direct link finds the same operations as at the entrypoint.
  assert.deepEqual([all?.operations, second?.operations], [operations['/searches'], operations['/searches']]);
  assert.deepEqual([matches?.operations, operations['/matches']], [['GET'], ['GET']]);
  assert.deepEqual(all?.memberOperations, ['DELETE', 'GET', 'PATCH #Search', 'PUT #Search']);
  assert.deepEqual([second?.members, second?.next], [[searches[1]], '/searches?page=3&itemsPerPage=1']);
  assert.equal(all?.filters['order[title]'], 'https://schema.org/name');
  assert.equal(all?.filters.notificationEnabled, '#Search/notificationEnabled');
  assert.deepEqual(matches?.members, [match]);
  // Each member of the document is an RDF node or value of its own: RDF clients cannot read one opaque JSON value.
  assert.equal(one?.values['Match/propertyDocument'], property);
  assert.equal(document?.values['PropertyDocument/city'], '_');
  assert.match(String(document?.values['PropertyDocument/lastCrawledAdvert']), /^[0-9a-f-]{36}$/);
  assert.equal(city?.values['https://schema.org/name'], 'Paris 15e');
});
