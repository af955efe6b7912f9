/** API Platform Admin, from test/clients/hydra, in a real browser, on a daemon with recorded adverts and deliveries. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { drive } from '../support/browser.ts';
import { createApiKey, startDaemon, warningsIn } from '../support/daemon.ts';
import { type ForeignClients, installed } from '../support/foreign-clients.ts';
import { connectCrawler } from '../support/intake.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { restClient } from '../support/rest-client.ts';
import { type Cleanup, startTestServers } from '../support/servers.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const HYDRA: ForeignClients = {
  folder: 'hydra',
  files: ['admin.jsx', 'bundle.mjs'],
  unpack: ['bundle.mjs'],
  unpacked: 'admin.js',
  environment: {},
};

const PAGE =
  '<!doctype html><title>Admin</title><link rel="icon" href="data:,"><div id="root"></div><script src="/admin.js"></script>';

/** Serves API Platform Admin as a separate site, as a client would; resolves with its address for an API and a key. */
async function serveAdmin(cleanup: Cleanup, baseUrl: string, key: string): Promise<string> {
  const script = await readFile(join(await installed(HYDRA), 'unpacked/admin.js'));
  const server = createServer(({ url }, response) => {
    const isScript = url === '/admin.js';
    response.setHeader('Content-Type', `text/${isScript ? 'javascript' : 'html'}; charset=utf-8`);
    response.end(isScript ? script : PAGE);
  });
  const address = `http://127.0.0.1:${await listenOnLoopback(cleanup, server)}/`;
  return `${address}?${new URLSearchParams({ entrypoint: baseUrl, key }).toString()}`;
}

interface Seen {
  /** By resource. */
  readonly lists: Readonly<Record<string, { readonly rows: number; readonly paging: string | null }>>;
  readonly opened: Readonly<Record<string, string>>;
  /** Titles of the searches. */
  readonly ascending: readonly string[];
  readonly descending: readonly string[];
  readonly filtered: readonly string[];
  /** The message shown at the field. */
  readonly violation: string;
  /** The body of the last request that creates a search. */
  readonly sent: Readonly<Record<string, unknown>>;
  readonly created: number;
  readonly changed: number;
  readonly left: readonly string[];
  readonly complaints: readonly string[];
  readonly refused: readonly string[];
}

const TITLES = ['Appartement Toulon', 'Maison Lyon', 'Zébulon'];

test('API Platform Admin lists, filters, sorts, opens, creates, edits and deletes', { timeout: 300_000 }, async (t) => {
  const servers = await startTestServers(t);
  const receiver = await startWebhookReceiver(t);
  const daemon = await startDaemon(t, servers);
  const key = await createApiKey(servers);
  const rest = restClient(daemon, key);
  for (const title of TITLES) {
    const endpointRecipient = receiver.urlOf('/matches');
    const places = {
      includedCities: ['/cities/83137'],
      geoShapes: [JSON.parse('[[5,43],[6,43],[6,44],[5,43]]')],
      includedZipcodes: ['83000'],
    };
    await rest.createSearch({
      title,
      ...places,
      notificationEnabled: true,
      endpointRecipient,
      notificationRecipient: 'jo@example.org',
    });
  }
  const [property, advert] = [randomUUID(), randomUUID()];
  const message = {
    kind: 'upsert',
    crawledAt: '2026-03-10T08:15:00+01:00',
    property: { uuid: property, transactionType: 0, propertyType: 0, city: { insee: '83137' } },
    advert: { uuid: advert, title: 'T3 vue mer', price: 250_000, surface: 62 },
  };
  const searchOf = async (title: string) => {
    const { body } = await rest.request<{ 'hydra:member': Record<string, unknown>[] }>(
      'GET',
      `/searches?title=${title}`,
    );
    return body['hydra:member'][0] ?? {};
  };
  const before = await searchOf('Maison');
  await (await connectCrawler(t, servers.nats.url)).publish(message);
  await until(
    async () => (await rest.request<{ 'hydra:totalItems': number }>('GET', '/deliveries?status=delivered')).body,
    (body) => body['hydra:totalItems'] === TITLES.length,
  );

  await rest.request('POST', '/webhook-secrets', {});
  await rest.request('POST', '/recoveries', { since: new Date(Date.now() - 60_000).toISOString() });

  const pictures = process.env.VIGIE_TEST_PICTURES;
  if (pictures !== undefined) await mkdir(pictures, { recursive: true });
  const address = await serveAdmin(t, daemon.apiUrl, key);
  const seen = await drive<Seen>('hydra-admin.mjs', [address, ...(pictures === undefined ? [] : [pictures])]);

  const rows = Object.fromEntries(Object.entries(seen.lists).map(([name, list]) => [name, list.rows]));
  assert.deepEqual(rows, {
    ...{ searches: 3, matches: 3, deliveries: 3, 'documents/properties': 1, cities: 10, departments: 10 },
    ...{ site_categories: 7, features: 10, endpoints: 1, users: 1, recipients: 1, recoveries: 1, 'webhook-secrets': 1 },
  });
  assert.match(String(seen.opened['documents/properties']), /T3 vue mer/);
  assert.match(String(seen.opened.deliveries), /Appartement Toulon|Maison Lyon|Zébulon/);
  assert.deepEqual([seen.ascending, seen.descending], [TITLES, TITLES.toReversed()]);
  assert.deepEqual(seen.filtered, ['Zébulon']);
  assert.equal(seen.violation, 'must not be above the maximum, which is 300');
  // Untouched members are not sent, so they get their defaults: no flag is switched off unintentionally.
  assert.equal(seen.sent.title, 'Created by hand');
  for (const flag of ['furnished', 'withCoherentPrice', 'withVirtualTour']) assert.ok(!(flag in seen.sent), flag);
  assert.deepEqual([seen.created, seen.changed], [1, 1]);
  assert.equal(seen.left.length, TITLES.length);
  const { updatedAt: _updatedAt, lastAlertAt: _lastAlertAt, ...after } = await searchOf('Maison');
  const matched = { newSinceSeen: 1, matchedLast7Days: 1 };
  assert.deepEqual({ ...before, ...after, budgetMax: null }, { ...before, ...matched });
  assert.equal(after.budgetMax, 250_000);
  assert.deepEqual(seen.refused, [`422 POST ${daemon.apiUrl}/searches`]);
  const unexpected = seen.complaints.filter((complaint) => !complaint.includes('422'));
  assert.deepEqual(unexpected, []);
  assert.deepEqual([warningsIn(daemon), daemon.errors], [[], []]);
});
