/** The documentation in a real browser: its examples work when a reader tries them. */

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { test } from 'node:test';
import { connectTestBroker } from '../support/broker.ts';
import { drive } from '../support/browser.ts';
import { createApiKey, startDaemon, warningsIn } from '../support/daemon.ts';
import { publishAdverts } from '../support/operator-scene.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { untilIs } from '../support/until.ts';

interface Seen {
  readonly tried: readonly { readonly name: string; readonly status: number; readonly body: string }[];
  readonly complaints: readonly string[];
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: object }>>>>;
}

test('every operation with a body succeeds when its example is tried in /docs', { timeout: 300_000 }, async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startDaemon(t, servers);
  const key = await createApiKey(servers);
  const rest = restClient(daemon, key);
  const search = await rest.createSearch({
    ...{ title: 'To be changed', eventEndpoint: 'https://hooks.example.com/events' },
  });
  const [property = ''] = await publishAdverts(await connectTestBroker(t, servers.nats.url), 1);
  await untilIs(async () => (await rest.request('GET', `/documents/properties/${property}`)).status, 200);
  const pictures = process.env.VIGIE_TEST_PICTURES;
  if (pictures !== undefined) await mkdir(pictures, { recursive: true });
  const { paths } = (await (await fetch(`${daemon.apiUrl}/openapi.json`)).json()) as OpenApi;
  const withBody = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { requestBody }]) => requestBody !== undefined)
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );

  const address = `${daemon.apiUrl}/docs`;
  const seen = await drive<Seen>('try-it-out.mjs', [
    ...[address, key, search.id, property, JSON.stringify(withBody)],
    ...(pictures === undefined ? [] : [pictures]),
  ]);

  assert.deepEqual(seen.tried.map(({ name }) => name).toSorted(), withBody.toSorted());
  for (const { name, status, body } of seen.tried)
    assert.ok(status >= 200 && status < 300, `${name}: ${status} ${body}`);
  assert.deepEqual(seen.complaints, []);
  assert.deepEqual([warningsIn(daemon), daemon.errors], [[], []]);
});
