/** Where an advert lies, by what it states. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createApiKey } from '../support/daemon.ts';
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
  const daemon = await startHere(t, servers);
  const crawler = await connectCrawler(t, servers.nats.url);
  const client = restClient(daemon, await createApiKey(servers, 'places'));
  return {
    crawler,
    client,
    async inseeOf(property: string) {
      const { body } = await client.request<{ city?: { insee: string } | null }>(
        'GET',
        `/documents/properties/${property}`,
      );
      return body.city?.insee ?? null;
    },
  };
}

/** A flat that says where it is and nothing else of its place. */
function at(number: number, place: Readonly<Record<string, unknown>>) {
  const [property, advert] = [numberedUuid('property', number), numberedUuid('advert', number)];
  const message = upsert({ property, advert, crawledAt: '2026-03-10T08:00:00.000Z', price: 200_000 });
  return { ...message, property: { uuid: property, transactionType: 0, propertyType: 0, ...place } };
}

test('a zip code finds what states it, and of what states a commune only where that has no other', async (t) => {
  const { crawler, client, inseeOf } = await openScene(t);
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
      () => inseeOf(numberedUuid('property', number)),
      (insee) => insee !== null,
    );
  }
  assert.deepEqual(await ofToulon(), ['2']);
  assert.deepEqual(await ofLaGarde(), ['3']);
});
