/** Where an advert lies: by what it states, and by commune centres that are imported while daemons run. */

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createApiKey, type RunningService, runVigie } from '../support/daemon.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Found {
  readonly 'hydra:member': readonly { readonly property: string }[];
}

async function openScene(t: TestContext) {
  const servers = await startTestServers(t);
  const directory = await mkdtemp(join(tmpdir(), 'vigie-places-'));
  t.after(() => rm(directory, { recursive: true }));
  const daemon = await startHere(t, servers);
  const crawler = await connectCrawler(t, servers.nats.url);
  const key = await createApiKey(servers, 'places');
  const documentOf = async (asked: RunningService, property: string) =>
    (
      await restClient(asked, key).request<{ city?: { insee: string } | null }>(
        'GET',
        `/documents/properties/${property}`,
      )
    ).body;
  return {
    servers,
    daemon,
    crawler,
    client: restClient(daemon, key),
    inseeOf: async (asked: RunningService, property: string) => (await documentOf(asked, property)).city?.insee ?? null,
    async importCoordinates(rows: string) {
      const path = join(directory, 'centres.csv');
      await writeFile(path, `code,lat,lon\n${rows}`);
      const { code, stderr } = await runVigie(['import', 'coordinates', path], servers);
      assert.equal(code, 0, stderr);
    },
  };
}

/** A flat that says where it is and nothing else of its place. */
function at(number: number, place: Readonly<Record<string, unknown>>) {
  const [property, advert] = [numberedUuid('property', number), numberedUuid('advert', number)];
  const message = upsert({ property, advert, crawledAt: '2026-03-10T08:00:00.000Z', price: 200_000 });
  return { ...message, property: { uuid: property, transactionType: 0, propertyType: 0, ...place } };
}

test('imported centres take effect at once in every instance', async (t) => {
  const { servers, daemon, crawler, client, inseeOf, importCoordinates } = await openScene(t);
  const other = await startHere(t, servers, { VIGIE_ROLES: 'api' });
  const { id } = await client.createSearch({ title: 'one arrondissement', includedInseeCodes: ['75120'] });
  const around = { locations: { lat: 48.8401, lon: 2.2931 } };
  const [first, second] = [numberedUuid('property', 1), numberedUuid('property', 2)];
  await crawler.publish(at(1, around));
  await until(
    () => inseeOf(daemon, first),
    (insee) => insee === '75115',
  );

  await importCoordinates('75120,48.84,2.293\n');
  for (const instance of [daemon, other]) {
    await until(
      () => inseeOf(instance, first),
      (insee) => insee === '75120',
    );
  }
  await crawler.publish(at(2, around));
  const found = await until(
    async () => (await client.request<Found>('GET', `/searches/${id}/properties`)).body,
    ({ 'hydra:member': members }) => members.length > 0,
  );
  assert.deepEqual(
    found['hydra:member'].map(({ property }) => property),
    [`/documents/properties/${second}`],
  );
});

test('a zip code finds what states it, and of what states a commune only where that has no other', async (t) => {
  const { daemon, crawler, client, inseeOf } = await openScene(t);
  async function searchFor(zipcode: string) {
    const { id } = await client.createSearch({ title: zipcode, includedZipcodes: [zipcode] });
    return async () => {
      const { body } = await client.request<Found>('GET', `/searches/${id}/properties`);
      return body['hydra:member'].map(({ property }) => property.slice(-1));
    };
  }
  const ofToulon = await searchFor('83100');
  const ofLaGarde = await searchFor('83130');
  await crawler.publish(
    at(1, { city: { insee: '83137' } }),
    at(2, { city: { insee: '83137', zipcode: '83100' } }),
    at(3, { city: { insee: '83062' } }),
  );
  for (const number of [1, 2, 3]) {
    await until(
      () => inseeOf(daemon, numberedUuid('property', number)),
      (insee) => insee !== null,
    );
  }
  assert.deepEqual(await ofToulon(), ['2']);
  assert.deepEqual(await ofLaGarde(), ['3']);
});
