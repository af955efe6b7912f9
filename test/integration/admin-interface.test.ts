/** Every call of the administration interface over a real socket, and its answers to wrong requests. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { urlKeyOf } from '../../src/engine/domain/endpoint.ts';
import { AdminServiceService } from '../../src/grpc/generated/vigie/admin/v1/admin.ts';
import { genericCall } from '../support/admin.ts';
import { ROOT } from '../support/checkout.ts';
import { ADMIN_TOKEN } from '../support/daemon.ts';
import { assertNone, valuesOf } from '../support/lists.ts';
import { portalUrlOf, startScene } from '../support/operator-scene.ts';
import { restClient } from '../support/rest-client.ts';
import { lastFirst } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

const cleanup = lastFirst({ after });
const UNKNOWN = randomUUID();
/** The name that `createApiKey` of the test support gives to its client. */
const CLIENT_NAME = 'tests';
const called = new Set<string>();

const scene = await startScene(cleanup);
const [property = ''] = await scene.publishAdverts(1);
await scene.publishPoison();
await scene.receiver.until((posts) => posts.length === 1);
const delivery = `deliveries/${scene.receiver.posts[0]?.id}`;
await untilIs(async () => (await succeed('GetDelivery', { name: delivery })).state, 'STATE_DELIVERED');

async function succeed(method: string, request: unknown = {}) {
  called.add(method);
  const answer = await genericCall(scene.daemon, method, request);
  assert.equal(answer.code, null, `${method}: ${answer.message}`);
  return answer.body;
}

async function fail(method: string, request: unknown, code: string, detail: string): Promise<void> {
  const answer = await genericCall(scene.daemon, method, request);
  assert.equal(answer.code, code, `${method} ${JSON.stringify(request)}: ${answer.message}`);
  assert.deepEqual(answer.details, ['ErrorInfo', detail]);
}

const invalid = (method: string, request: unknown) => fail(method, request, 'invalid_argument', 'BadRequest');
const missing = (method: string, request: unknown) => fail(method, request, 'not_found', 'ResourceInfo');

/** Calls a method with a client that learns it through reflection. */
async function curl(method: string, request: unknown) {
  const child = spawn(join(ROOT, 'node_modules/.bin/buf'), [
    ...['curl', '--http2-prior-knowledge', '--protocol', 'grpc'],
    ...['--reflect-header', `authorization: Bearer ${ADMIN_TOKEN}`, '--header', `authorization: Bearer ${ADMIN_TOKEN}`],
    ...['--data', JSON.stringify(request), `http://${scene.daemon.adminAddress}/${method}`],
  ]);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.equal(stderr, '');
  return JSON.parse(stdout);
}

test('a generic gRPC client that uses reflection gets the same answers', async () => {
  const request = { name: delivery, includeBody: true };
  const answer = await curl('vigie.admin.v1.AdminService/GetDelivery', request);
  assert.deepEqual(answer, await succeed('GetDelivery', request));
  assert.deepEqual(await curl('grpc.health.v1.Health/Check', {}), { status: 'SERVING' });
});

test('AdoptStreams lists nothing if no stream has another owner', async () => {
  assert.deepEqual((await succeed('AdoptStreams', { validateOnly: true })).adopted ?? [], []);
});

test('status, stages and index are reported', async () => {
  const { instances, stages, streams, index } = await until(
    () => succeed('GetStatus'),
    (seen) => seen.index.instances?.[0]?.searchCount === 1,
  );
  assert.equal(instances.length, 1);
  assert.deepEqual(instances[0].roles, ['intake', 'deliver', 'api', 'admin', 'feeds']);
  assert.deepEqual(valuesOf(stages, 'name'), ['stages/intake', 'stages/deliver']);
  assert.deepEqual(valuesOf(streams, 'name'), ['streams/ADVERTS', 'streams/RETRIES', 'streams/REJECTED']);
  assert.equal(index.storedSearchCount, 1);

  const paused = await succeed('PauseStage', { name: 'stages/deliver', reason: 'maintenance' });
  assert.match(paused.state, /PAUS/);
  assert.equal(paused.pauseReason, 'maintenance');
  const drained = await succeed('DrainStage', { name: 'stages/deliver' });
  assert.equal(drained.state, 'STATE_PAUSED');
  assert.equal(drained.pauseReason, 'maintenance');
  assert.equal((await succeed('ResumeStage', { name: 'stages/deliver' })).state, 'STATE_RUNNING');
  await missing('PauseStage', { name: 'stages/nonsense' });
  await invalid('PauseStage', { name: 'deliver' });
  await invalid('PauseStage', { name: 'stages/deliver', reason: 'x'.repeat(201) });

  const built = (await succeed('GetIndex')).instances[0].buildTime;
  const rebuilt = await succeed('RebuildIndex');
  // Not compared as texts: without milliseconds, a text ends with the seconds.
  assert.ok(Date.parse(rebuilt.instances[0].buildTime) > Date.parse(built));
  assert.equal(rebuilt.instances[0].searchCount, 1);
  const indexed = await succeed('GetIndexedSearch', { name: `searches/${scene.search.id}` });
  assert.equal(indexed.indexed, true);
  assert.deepEqual(JSON.parse(indexed.criteriaJson).budget, { min: null, max: 300_000 });
  await missing('GetIndexedSearch', { name: `searches/${UNKNOWN}` });
});

test('an explanation equals that of the REST interface, and names the deliveries', async () => {
  const pair = { search: `searches/${scene.search.id}`, property: `properties/${property}` };
  const explained = JSON.parse((await succeed('ExplainMatch', pair)).explanationJson);
  const path = `/searches/${scene.search.id}/explanation?property=${property}`;
  const headers = { 'X-API-KEY': scene.key, 'Accept-Language': 'en' };
  const body = await (await fetch(`${scene.daemon.apiUrl}${path}`, { headers })).json();
  assert.deepEqual(explained, body, 'the answer of the REST interface');
  assert.equal(explained.satisfied, true);
  assert.deepEqual(valuesOf(explained.matchReasons, 'code'), ['began-with-advert']);
  assert.deepEqual(explained.deliveries, [`/${delivery}`]);
  await missing('ExplainMatch', { ...pair, property: `properties/${UNKNOWN}` });
  await missing('ExplainMatch', { ...pair, search: `searches/${UNKNOWN}` });
});

test('an explanation finds a property by its advert or URL, for every search of a client that it satisfies', async () => {
  const shown = await succeed('GetDelivery', { name: delivery, includeBody: true });
  const [{ uuid }] = JSON.parse(shown.body).match.propertyDocument.adverts;
  const search = `searches/${scene.search.id}`;
  const direct = await succeed('ExplainMatch', { search, property: `properties/${property}` });
  const ways = [{ advert: `adverts/${uuid}` }, { advertUrl: `${portalUrlOf(property)}#photos` }];
  for (const way of ways) assert.deepEqual(await succeed('ExplainMatch', { search, ...way }), direct);
  const advertUrl = portalUrlOf(property);
  for (const client of [CLIENT_NAME, shown.client]) {
    const told = await succeed('ExplainProperty', { client, advertUrl });
    assert.deepEqual([told.explanationsJson, told.totalSize], [[direct.explanationJson], 1]);
  }
  await invalid('ExplainProperty', { advertUrl });
  await invalid('ExplainProperty', { client: CLIENT_NAME });
  await missing('ExplainProperty', { client: 'nobody', advertUrl });
  await invalid('ExplainProperty', { client: 'no\0body', advertUrl });
  await missing('ExplainProperty', { client: `clients/${UNKNOWN}`, advertUrl });
  await missing('ExplainProperty', { client: CLIENT_NAME, advertUrl: 'https://x.example/' });
  await invalid('ExplainMatch', { search, advertUrl, property: `properties/${property}` });
});

test('deliveries are found by any details that a client reports', async () => {
  const count = async (request: object): Promise<number> =>
    ((await succeed('ListDeliveries', request)).deliveries ?? []).length;
  const { client, property: told } = await succeed('GetDelivery', { name: delivery });
  assert.equal(told, `properties/${property}`);
  for (const request of [
    ...[{ client }, { client: CLIENT_NAME }, { property: told }, { advertUrl: portalUrlOf(property) }],
    { client, property: told, kind: 'property.ad.create', channel: 'match', state: 'STATE_DELIVERED' },
  ]) {
    assert.equal(await count(request), 1, JSON.stringify(request));
  }
  for (const request of [
    { property: `properties/${UNKNOWN}` },
    ...[{ kind: 'ad.update.price' }, { channel: 'email' }, { state: 'STATE_FAILED' }].map((one) => ({
      client,
      ...one,
    })),
    { client, endTime: '2026-01-01T00:00:00Z' },
  ]) {
    assert.equal(await count(request), 0, JSON.stringify(request));
  }
  await missing('ListDeliveries', { client: 'nobody' });
  await missing('ListDeliveries', { advert: `adverts/${UNKNOWN}` });
  await invalid('ListDeliveries', { kind: 'gossip' });
});

test('a delivered webhook is sent again, and a recovery sends the requested deliveries', async () => {
  const { search: whose } = await succeed('GetDelivery', { name: delivery });
  const id = delivery.slice('deliveries/'.length);
  const again = await succeed('ResendDelivery', { name: delivery });
  assert.equal(again.replayCount, 1);
  await scene.receiver.until(() => scene.receiver.postsOf(id).length === 2);
  await missing('ResendDelivery', { name: `deliveries/${UNKNOWN}` });
  await untilIs(async () => (await succeed('GetDelivery', { name: delivery })).state, 'STATE_DELIVERED');

  const since = new Date(Date.now() - 3_600_000).toISOString();
  const asked = { client: CLIENT_NAME, startTime: since, includeDelivered: true, search: whose };
  const planned = await succeed('StartRecovery', { ...asked, validateOnly: true });
  assert.deepEqual([planned.name ?? '', planned.matchedCount, planned.remainingCount], ['', 1, 1]);
  assert.deepEqual(
    (await succeed('StartRecovery', { ...asked, includeDelivered: false, validateOnly: true })).matchedCount ?? 0,
    0,
  );
  assert.deepEqual((await succeed('ListRecoveries')).recoveries ?? [], [], 'nothing was started');
  // Deliveries are paused, so that the first recovery cannot have ended when the second is requested.
  await succeed('PauseStage', { name: 'stages/deliver' });
  const { name, client } = await succeed('StartRecovery', asked);
  await fail('StartRecovery', asked, 'failed_precondition', 'PreconditionFailure');
  await succeed('ResumeStage', { name: 'stages/deliver' });
  const done = await until(
    () => succeed('GetRecovery', { name }),
    ({ state }) => state === 'STATE_FINISHED',
  );
  assert.deepEqual([done.matchedCount, done.deliveredCount, done.remainingCount ?? 0], [1, 1, 0]);
  assert.equal(scene.receiver.postsOf(id).length, 3);
  assert.deepEqual((await succeed('ListRecoveries', { client: CLIENT_NAME })).recoveries, [done]);
  assert.deepEqual((await succeed('ListRecoveries')).recoveries, [done]);
  assert.deepEqual(await succeed('StopRecovery', { name }), done, 'stopping a finished recovery changes nothing');
  for (const [wrong, code, detail] of [
    [{ startTime: undefined }, 'invalid_argument', 'BadRequest'],
    [{ startTime: '2020-01-01T00:00:00Z' }, 'invalid_argument', 'BadRequest'],
    [{ endTime: '2020-01-01T00:00:00Z' }, 'invalid_argument', 'BadRequest'],
    [{ startTime: '9000-01-01T00:00:00Z', endTime: '9000-01-02T00:00:00Z' }, 'invalid_argument', 'BadRequest'],
    [{ client: '' }, 'invalid_argument', 'BadRequest'],
    [{ endpointUrl: 'x'.repeat(3_000) }, 'invalid_argument', 'BadRequest'],
    [{ endpointUrl: 'https://nobody.example.com/hook' }, 'invalid_argument', 'BadRequest'],
    [{ search: `searches/${UNKNOWN}` }, 'not_found', 'ResourceInfo'],
  ] as const) {
    await fail('StartRecovery', { ...asked, ...wrong }, code, detail);
  }
  const other = await succeed('CreateClient', { client: { displayName: 'Another' } });
  await missing('StartRecovery', { ...asked, client: other.name });
  await succeed('DeleteClient', { name: other.displayName });
  await missing('GetRecovery', { name: `recoveries/${UNKNOWN}` });
  await missing('StopRecovery', { name: `recoveries/${UNKNOWN}` });
  assert.match(client, /^clients\//);
});

test('deliveries are listed page by page, each once and newest first, and shown with their body and attempts', async () => {
  await scene.publishAdverts(3);
  await untilIs(async () => (await succeed('ListDeliveries', { state: 'STATE_DELIVERED' })).deliveries?.length, 4);
  const seen: { readonly name: string; readonly createTime: string }[] = [];
  const search = `searches/${scene.search.id}`;
  for (let pageToken = ''; ; ) {
    const page = await succeed('ListDeliveries', { pageSize: 3, pageToken, search });
    seen.push(...page.deliveries);
    pageToken = page.nextPageToken ?? '';
    if (pageToken === '') break;
    await invalid('ListDeliveries', { pageSize: 3, pageToken });
    const [conditions] = JSON.parse(Buffer.from(pageToken, 'base64url').toString());
    const forged = Buffer.from(JSON.stringify([conditions, 'no UUID'])).toString('base64url');
    await invalid('ListDeliveries', { pageSize: 3, pageToken: forged, search });
  }
  assert.equal(seen.length, 4);
  assert.equal(new Set(seen.map(({ name }) => name)).size, 4, 'each once');
  const times = seen.map(({ createTime }) => Date.parse(createTime));
  assert.deepEqual(
    times,
    times.toSorted((a, b) => b - a),
    'newest first',
  );
  await invalid('ListDeliveries', { pageToken: 'nonsense' });
  await invalid('ListDeliveries', { pageSize: -1 });

  const shown = await succeed('GetDelivery', { name: delivery, includeBody: true });
  assert.equal(shown.body, scene.receiver.posts[0]?.body.toString());
  assert.equal(shown.attempts[0].statusCode, 200);
  await missing('GetDelivery', { name: `deliveries/${UNKNOWN}` });
});

/** Encodes one member of a message as bytes, because protobuf's JSON format cannot express a year after 9999. */
function memberOf(number: number, bytes: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish();
}

test('an instant outside the years 1 to 9999 is an invalid argument', async () => {
  const at = (seconds: bigint) => new BinaryWriter().tag(1, WireType.Varint).int64(seconds).finish();
  const year10000 = at(253_402_300_800n);
  for (const [method, bytes, field] of [
    ['ListDeliveries', memberOf(7, year10000), 'end_time'],
    ['ListDeliveries', memberOf(7, at(-62_135_596_801n)), 'end_time'],
    ['ListDeliveries', memberOf(7, at(2n ** 63n - 1n)), 'request'],
    ['PurgeDeadLetters', memberOf(1, memberOf(5, year10000)), 'filter.end_time'],
  ] as const) {
    const { code, message } = await genericCall(scene.daemon, method, bytes);
    assert.equal(code, 'invalid_argument', message);
    assert.ok(message.startsWith(`${field} `), message);
  }
});

test('an error quotes at most 200 characters of the request, and its trailers stay below 8 KiB', async () => {
  const long = '€'.repeat(100_000);
  for (const [method, request] of [
    ['GetFeed', { name: `feeds/${long}` }],
    ['PauseStage', { name: long }],
    ['ExplainProperty', { client: CLIENT_NAME, advertUrl: long }],
    ['UpdateClient', { client: { name: CLIENT_NAME }, updateMask: long }],
  ] as const) {
    const { code, message, trailerBytes } = await genericCall(scene.daemon, method, request);
    assert.ok(code === 'not_found' || code === 'invalid_argument', `${method}: ${code} ${message}`);
    assert.ok(message.split('€').length - 1 <= 200, message);
    assert.ok(trailerBytes < 8_000, `${method}: ${trailerBytes}`);
  }
});

test('dead letters are listed, shown, requeued and purged', async () => {
  const { deadLetters } = await until(
    () => succeed('ListDeadLetters'),
    (listed) => listed.deadLetters?.length === 1,
  );
  const [{ name }] = deadLetters;
  const shown = await succeed('GetDeadLetter', { name });
  assert.equal(Buffer.from(shown.body, 'base64').toString(), '{"kind":"upsert"');
  await missing('GetDeadLetter', { name: 'deadLetters/999999' });
  await invalid('RequeueDeadLetters', {});
  await invalid('PurgeDeadLetters', { force: true });

  const filter = { names: [name] };
  assert.equal((await succeed('RequeueDeadLetters', { filter, validateOnly: true })).requeuedCount, 1);
  assert.equal((await succeed('RequeueDeadLetters', { filter })).requeuedCount, 1);
  const back = await until(
    () => succeed('ListDeadLetters'),
    (listed) => listed.deadLetters?.length === 1,
  );
  assert.notEqual(back.deadLetters[0].name, name, 'it is rejected again, as a new dead letter');
  const purge = { filter: { reason: 'json' } };
  assert.equal((await succeed('PurgeDeadLetters', purge)).purgeCount, 1);
  assert.equal((await succeed('PurgeDeadLetters', { ...purge, force: true })).purgeCount, 1);
  assert.deepEqual(await succeed('ListDeadLetters'), {});
});

test('endpoints are listed, paused and resumed', async () => {
  const name = `endpoints/${urlKeyOf(scene.receiver.urlOf('/hook'))}`;
  await untilIs(async () => (await succeed('ListEndpoints')).endpoints?.length, 1);
  assert.equal((await succeed('GetEndpoint', { name })).url, scene.receiver.urlOf('/hook'));
  assert.ok((await succeed('PauseEndpoint', { name, reason: 'theirs' })).pauseTime);
  assert.equal((await succeed('ListEndpoints', { pausedOnly: true })).endpoints.length, 1);
  assert.equal((await succeed('GetStatus')).pausedEndpointCount, 1);
  assert.equal((await succeed('ResumeEndpoint', { name })).pauseTime, undefined);
  await missing('PauseEndpoint', { name: 'endpoints/0123456789abcdef' });
  await invalid('GetEndpoint', { name: 'endpoints/nonsense' });
});

test('clients and keys are created, listed and revoked', async () => {
  const client = await succeed('CreateClient', { client: { displayName: 'Agence du port', rateLimitPerSecond: 5 } });
  await fail('CreateClient', { client: { displayName: 'Agence du port' } }, 'already_exists', 'ResourceInfo');
  for (const displayName of [' ', '\u00ad\u200b']) {
    await invalid('CreateClient', { client: { displayName } });
  }
  const listed = await succeed('ListClients', { pageSize: 1 });
  assert.equal(listed.clients.length, 1);
  assert.equal((await succeed('ListClients', { pageSize: 1, pageToken: listed.nextPageToken })).clients.length, 1);

  const update = (changes: object, paths: readonly string[]) =>
    succeed('UpdateClient', { client: { name: client.name, ...changes }, updateMask: paths.join(',') });
  assert.equal((await update({ searchesMax: 7 }, [])).rateLimitPerSecond, 5, 'without a mask, absent members stay');
  const updated = await update({ polygonCornersMax: 0 }, ['polygonCornersMax', 'rateLimitPerSecond']);
  assert.deepEqual([updated.searchesMax, updated.polygonCornersMax, updated.rateLimitPerSecond], [7, 0, undefined]);
  assert.equal(updated.searchTotals.searchCount ?? 0, 0, 'JSON leaves a zero out');
  await missing('UpdateClient', { client: { name: `clients/${UNKNOWN}` } });
  await invalid('UpdateClient', { client: { name: client.name, searchesMax: -1 } });
  const mask = { client: { name: client.name }, updateMask: 'displayName' };
  await invalid('UpdateClient', mask);
  await update({ searchesMax: undefined }, ['searchesMax', 'polygonCornersMax']);

  const notified = await succeed('UpdateClient', {
    client: { name: 'Agence du port', noticeAddress: 'ops@client.example' },
    updateMask: 'noticeAddress',
  });
  assert.equal(notified.noticeAddress, 'ops@client.example');
  assert.equal(notified.noticesUnavailable, true, 'there is no mail server');
  const { clients } = await succeed('ListClients');
  assert.equal(clients[0].noticeAddress, 'ops@client.example');
  const wrong = { name: client.name, noticeAddress: 'ops@client example' };
  await invalid('UpdateClient', { client: wrong });
  const named = await update({ publicName: ' Agence du Vieux-Port ' }, ['publicName']);
  assert.equal(named.publicName, 'Agence du Vieux-Port');
  assert.equal((await update({ publicName: '' }, ['publicName'])).publicName, undefined);
  await invalid('UpdateClient', { client: { name: client.name, publicName: 'x'.repeat(201) } });
  const none = await update({ noticeAddress: '' }, ['noticeAddress']);
  assert.deepEqual([none.noticeAddress, none.noticesUnavailable], [undefined, undefined]);

  const created = await succeed('CreateApiKey', { parent: client.name, displayName: 'first' });
  const { request } = restClient(scene.daemon, created.key);
  const ask = () => request('GET', '/searches');
  assert.equal((await ask()).status, 200);
  const post = () => request('POST', '/searches', { title: 'anything' });
  assert.equal((await post()).status, 201);
  const limited = await update({ matchesPerAdvertMax: 1 }, []);
  assert.deepEqual([limited.matchesPerAdvertMax, limited.searchTotals.matchesPerAdvert], [1, 1]);
  await untilIs(async () => (await post()).status, 403);
  const { name } = created.apiKey;
  assert.equal((await succeed('ListApiKeys', { parent: client.name })).apiKeys[0].prefix, created.apiKey.prefix);
  await succeed('RevokeApiKey', { name });
  await missing('RevokeApiKey', { name });
  await untilIs(async () => (await ask()).status, 401);
  await missing('CreateApiKey', { parent: `clients/${UNKNOWN}` });
  await succeed('DeleteClient', { name: client.name });
  await missing('DeleteClient', { name: client.name });
});

test('recipients are shown and erased, for one client or for all, and an error does not quote an unknown address', async () => {
  const address = 'jo@example.org';
  const rest = restClient(scene.daemon, scene.key);
  const { iri } = await rest.createSearch({ title: 'x', notificationRecipient: address });
  const request = { address: address.toUpperCase() };
  const shown = async (more: Readonly<Record<string, string>>) =>
    JSON.parse((await succeed('GetRecipients', { ...request, ...more })).documentJson).clients;
  const clients = await shown({ client: CLIENT_NAME });
  assert.deepEqual([clients.length, clients[0].searches[0].search], [1, iri]);
  const { erasures } = await succeed('EraseRecipients', request);
  assert.deepEqual([erasures.length, erasures[0].searchCount], [1, 1]);
  const [again] = await shown({});
  assert.ok(again.erasedAt);
  assert.deepEqual(again.searches, []);
  for (const method of ['GetRecipients', 'EraseRecipients']) {
    const { message } = await genericCall(scene.daemon, method, { address: 'nobody@example.org' });
    assert.ok(!message.includes('nobody'));
    await missing(method, { address: 'nobody@example.org' });
    await invalid(method, { address: 'nobody' });
    await missing(method, { ...request, client: 'nobody' });
  }
});

test('site categories are set, and points of interest imported and deleted', async () => {
  const { siteCategories } = await succeed('ListSiteCategories');
  const displayNames = [...siteCategories.map((each: { displayName: string }) => each.displayName), 'Bailleur'];
  const { siteCategories: set } = await succeed('SetSiteCategories', { displayNames });
  assert.equal(set.length, siteCategories.length + 1);
  for (const wrong of [
    ['Agence', 'Agence'],
    ['Bail\0leur', 'Agence'],
  ])
    await invalid('SetSiteCategories', { displayNames: wrong });

  const school = {
    facility: 'school',
    lat: 43.12,
    lon: 5.93,
    displayName: 'École',
    attributes: { operatorType: 'public' },
  };
  const imported = await succeed('ImportPointsOfInterest', [
    { source: 'pointSources/toulon' },
    { points: [school], last: true },
  ]);
  assert.equal(imported.pointCount, 1);
  const wrong = [{ source: 'pointSources/toulon' }, { points: [{ ...school, facility: 'pool' }] }];
  await invalid('ImportPointsOfInterest', wrong);
  const cut = [{ source: 'pointSources/toulon' }, { points: [] }];
  await invalid('ImportPointsOfInterest', cut);
  assert.equal((await succeed('ListPointSources')).pointSources[0].pointCount, 1, 'a broken import changes nothing');
  await succeed('DeletePointSource', { name: 'pointSources/toulon' });
  await missing('DeletePointSource', { name: 'pointSources/toulon' });
});

test('a wrong token is refused', async () => {
  for (const method of ['GetStatus', 'WatchActivity', 'CreateApiKey']) {
    const answer = await genericCall(scene.daemon, method, {}, { token: 'wrong' });
    assert.equal(answer.code, 'unauthenticated', method);
    assert.deepEqual(answer.details, ['ErrorInfo']);
  }
});

test('a watch ends at its caller’s deadline', async () => {
  called.add('WatchActivity');
  const answer = await genericCall(scene.daemon, 'WatchActivity', { kinds: ['changes'] }, { timeout: 3 });
  assert.equal(answer.code, 'deadline_exceeded');
  await invalid('WatchActivity', { kinds: ['gossip'] });
  await missing('WatchActivity', { search: `searches/${UNKNOWN}` });
});

test('without feeds the list is empty, and an unknown source is not found', async () => {
  assert.deepEqual((await succeed('ListFeeds')).feeds ?? [], []);
  for (const method of ['GetFeed', 'RunFeed']) {
    called.add(method);
    await missing(method, { name: 'feeds/agency' });
    await invalid(method, { name: 'agency' });
  }
});

test('the log records changes by operators with their values, without keys and addresses, and records no reads', async () => {
  const address = 'jo.logged@client.example';
  const people = { displayName: `logged (${address})`, noticeAddress: address };
  const { name: client } = await succeed('CreateClient', { client: people });
  await succeed('UpdateClient', { client: { name: client, ...people } });
  await fail('CreateClient', { client: people }, 'already_exists', 'ResourceInfo');
  await succeed('PauseStage', { name: 'stages/deliver', reason: 'the receiver moves' });
  await succeed('ResumeStage', { name: 'stages/deliver' });
  const { key } = await succeed('CreateApiKey', { parent: client, displayName: 'theirs' });
  await succeed('SetSiteCategories', {
    displayNames: Array.from({ length: 100 }, (_, number) => `category ${number}`),
  });
  await missing('PauseStage', { name: 'stages/none', reason: 'x' });
  const calls = scene.daemon.log.filter(({ message }) => message === 'admin call');
  assertNone(calls.filter(({ method }) => /^(?:Get|List|Explain|Watch)/.test(String(method))));
  const [pause, resume, create, categories, refused] = calls.slice(-5);
  assert.deepEqual(
    [pause?.method, pause?.arguments, pause?.reason, pause?.code],
    ['PauseStage', { name: 'stages/deliver' }, 'the receiver moves', 'OK'],
  );
  assert.equal(resume?.method, 'ResumeStage');
  assert.match(JSON.stringify(resume?.result), /"name":"stages\/deliver"/);
  assert.deepEqual(create?.arguments, { parent: client, displayName: 'theirs' });
  assert.equal(String(categories?.arguments).length, 1_000);
  assert.equal(refused?.code, 'NOT_FOUND');
  assert.match(String(refused?.error), /stages\/none/);
  const logged = JSON.stringify(scene.daemon.log);
  for (const secret of [key, address]) assert.ok(!logged.includes(secret), secret);
  assert.match(logged, /"displayName":"logged …"/);
});

test('the tests above call every method of the interface', () => {
  const methods = Object.values(AdminServiceService).map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
  assertNone(methods.filter((method) => !called.has(method)));
});
