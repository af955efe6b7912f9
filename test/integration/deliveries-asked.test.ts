/** Clients find missed deliveries by any known details, resend them, and safely repeat requests. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { DeliveryState, DueDelivery } from '../../src/engine/domain/delivery.ts';
import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import { randomUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import { readingOf } from '../../src/engine/domain/property-document.ts';
import { type DeliveryRead, readDelivery } from '../../src/engine/store/delivery-reads.ts';
import { insertProperties } from '../../src/engine/store/properties.ts';
import { insertSummaries } from '../../src/engine/store/property-summaries.ts';
import { resendDelivery } from '../../src/engine/store/resends.ts';
import { deliveryDocument } from '../../src/rest/deliveries.ts';
import { heldAfter, upsertAt } from '../support/adverts.ts';
import { startTestApi } from '../support/api.ts';
import { openDeliveryStage } from '../support/courier.ts';
import { createGate } from '../support/gate.ts';
import { tuplesOf, valuesOf } from '../support/lists.ts';
import { putInState, seedDeliveries, seedSearch } from '../support/seeded-deliveries.ts';
import type { Cleanup } from '../support/servers.ts';
import { runStatements, untilLocked } from '../support/statements.ts';
import { until, untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const announced: DueDelivery[] = [];
const api = await startTestApi({ after }, { announceDue: (due) => void announced.push(...due) });
const { database } = api;
const ENDPOINTS = { match: 'https://h.example.com/matches', event: 'https://h.example.com/events' };

interface Row {
  readonly search: string;
  readonly property: Uuid;
  readonly match: string;
  readonly channel: 'match' | 'event';
  readonly event: string;
  readonly status: DeliveryState;
  readonly endpoint: string;
  readonly createdAt: Date;
  readonly id: string;
}

/** Two searches, three properties, both webhook channels and some states; the deliveries are an hour apart. */
async function seedRows(key: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const properties = Array.from({ length: 3 }, () => randomUuid());
  for (let search = 0; search < 2; search++) {
    const created = await api.call(
      'POST',
      '/searches',
      {
        ...{ title: 's', notificationEnabled: true },
        ...{ endpointRecipient: ENDPOINTS.match, eventEndpoint: ENDPOINTS.event },
        subscribedEvents: ['ad.update.price'],
      },
      { key },
    );
    const id = created.body['@id'].slice(10);
    const clientId = created.body.user.slice('/users/'.length);
    for (const property of properties) {
      const match = randomUuid()
        .replace(/^(.{14})4/, '$17')
        .replace(/^.{13}/, '019b0000-0000');
      await database.query(
        `insert into matches (id, search_number, property_uuid, created_at, updated_at, has_begun, channel, search_version,
           last_sequence, last_delivery_id, cause)
         select $1, number, $3, now() - interval '100 days', now(), true, 'match', version, 2, $1, '[]'
         from searches where id = $2`,
        [match, id, property],
      );
      for (const [channel, event] of [
        ['match', 'property.ad.create'],
        ['event', 'ad.update.price'],
      ] as const) {
        const status = (['delivered', 'failed', 'retry_wait', 'cancelled'] as const)[rows.length % 4] as DeliveryState;
        const createdAt = new Date(Date.UTC(2026, 0, 1) + rows.length * 3_600_000);
        const endpoint = ENDPOINTS[channel];
        const row = {
          ...{ search: created.body['@id'], property, match, channel, event, status, endpoint, createdAt },
          id: randomUuid(),
        };
        await database.query(
          `insert into deliveries (id, search_number, match_id, channel, kind, endpoint, endpoint_key, head, snapshot_id,
             created_at, sequence)
           values ($1, (select number from searches where id = $2), $3, $4, $5, $6, $8, '', $3, $7, 1)`,
          [row.id, id, match, channel, event, endpoint, createdAt, endpointKeyOf(clientId, endpoint)],
        );
        await putInState(database, [row.id], status, 6);
        rows.push(row);
      }
    }
  }
  return rows;
}

/** Another spelling of the URL of the same endpoint. */
function otherSpelling(url: string): string {
  return `${url.replace(/^https:\/\/[^/]*/, (origin) => origin.toUpperCase())}#there`;
}

/** Stores a property with one advert, as the recorder does. */
async function hold(propertyUuid: Uuid, advertUuid: Uuid, url: string): Promise<void> {
  const stored = heldAfter(upsertAt(0, { propertyUuid, advertUuid, advert: { url } }));
  const reading = readingOf(stored.state, stored.crawls, api.reference.resolvePlace);
  await runStatements(database, [
    ...insertProperties([{ stored, expiredAt: null }]),
    ...insertSummaries([{ reading, crawls: stored.crawls }]),
  ]);
}

/** A courier that is not started, and a search whose endpoint is at a path of the receiver. */
async function openScene(t: Cleanup, retryDelayMs = 3_600_000) {
  const receiver = await startWebhookReceiver(t);
  const stage = await openDeliveryStage(t, { retryDelayMs });
  const search = await seedSearch(stage.database);
  const pointTo = (path: string) =>
    stage.database.query('update searches set endpoint_recipient = $1', [receiver.urlOf(path)]);
  return { receiver, stage, search, pointTo };
}

describe('deliveries', () => {
  it('are found by every combination of details that a client knows', async () => {
    const key = await api.newClient('asking');
    const rows = await seedRows(key);
    await seedRows(await api.newClient('neighbour'));
    const [some] = rows.slice(5);
    assert.ok(some);
    const [advert, url] = [randomUuid(), 'https://portal.example/annonce?id=7'];
    await hold(some.property, advert, url);
    const filters: Record<string, [value: string, holds: (row: Row) => boolean]> = {
      search: [some.search, ({ search }) => search === some.search],
      property: [`/documents/properties/${some.property}`, ({ property }) => property === some.property],
      advert: [advert, ({ property }) => property === some.property],
      url: [`${url}#photos`, ({ property }) => property === some.property],
      match: [`/matches/${some.match}`, ({ match }) => match === some.match],
      endpoint: [otherSpelling(some.endpoint), ({ endpoint }) => endpoint === some.endpoint],
      status: ['failed', ({ status }) => status === 'failed'],
      event: [some.event, ({ event }) => event === some.event],
      channel: [some.channel, ({ channel }) => channel === some.channel],
      'createdAt[after]': [
        '2026-01-01T04:00:00+01:00',
        ({ createdAt }) => createdAt >= new Date(Date.UTC(2026, 0, 1, 3)),
      ],
      'createdAt[before]': ['2026-01-01T09:00:00Z', ({ createdAt }) => createdAt <= new Date(Date.UTC(2026, 0, 1, 9))],
    };
    const names = Object.keys(filters);
    for (let combination = 0; combination < 1 << names.length; combination++) {
      const chosen = names.filter((_, bit) => (combination >> bit) & 1);
      // Tests all pairs of filters, and some of the larger combinations.
      if (chosen.length > 2 && combination % 31 !== 0) continue;
      const query = new URLSearchParams(chosen.map((name): [string, string] => [name, filters[name]?.[0] ?? '']));
      const { body, status } = await api.call('GET', `/deliveries?${query.toString()}`, undefined, { key });
      assert.equal(status, 200);
      const expected = rows.filter((row) => chosen.every((name) => filters[name]?.[1](row))).toReversed();
      assert.deepEqual(
        body['hydra:member'].map((one: Record<string, string>) => one['@id']?.slice(12)),
        expected.map(({ id }) => id),
        chosen.join(),
      );
      assert.equal(body['hydra:totalItems'], expected.length);
    }
  });

  it('are found in a range that begins and ends at their own times in answers', async () => {
    const key = await api.newClient('to the millisecond');
    const [row] = await seedRows(key);
    assert.ok(row);
    await database.query(`update deliveries set created_at = '2026-01-02T03:04:05.678901Z' where id = $1`, [row.id]);
    await database.query(`update matches set created_at = '2026-01-02T03:04:05.678901Z' where id = $1`, [row.match]);
    for (const path of [`/deliveries/${row.id}`, `/matches/${row.match}`]) {
      const { createdAt } = (await api.call('GET', path, undefined, { key })).body;
      const collection = path.slice(0, path.lastIndexOf('/'));
      const range = `createdAt[after]=${createdAt}&createdAt[before]=${createdAt}`;
      const { body } = await api.call('GET', `${collection}?${range}`, undefined, { key });
      assert.deepEqual(valuesOf(body['hydra:member'], '@id'), [path]);
    }
  });

  it('are not found for an unknown advert, or for two properties at once', async () => {
    const key = await api.newClient('elsewhere');
    const [row] = await seedRows(key);
    assert.ok(row);
    const advert = randomUuid();
    await hold(row.property, advert, 'https://portal.example/8');
    const count = async (query: string): Promise<number> =>
      (await api.call('GET', `/deliveries?${query}`, undefined, { key })).body['hydra:totalItems'];
    assert.equal(await count(`advert=/adverts/${advert}`), 4);
    assert.equal(await count(`advert=${advert}&url=https://portal.example/8&property=${row.property}`), 4);
    assert.equal(await count(`advert=${advert}&property=${randomUuid()}`), 0);
    assert.equal(await count(`advert=${randomUuid()}`), 0);
    assert.equal(await count('url=https://portal.example/none'), 0);
  });

  it('are sent again from every closed or waiting state, if their search still sends them', async () => {
    const key = await api.newClient('again');
    const rows = await seedRows(key);
    const patch = (search: string, members: object) => api.call('PATCH', search, members, { key });
    const resend = (id: string) => api.call('POST', `/deliveries/${id}/resend`, undefined, { key });
    for (const { id, status, endpoint } of rows.slice(0, 4)) {
      const { status: code, body } = await resend(id);
      assert.equal(code, 202, status);
      assert.equal(body.status, 'queued');
      assert.equal(body.attemptCount, 6, 'the count of attempts continues');
      assert.equal(body.endpoint, endpoint);
      assert.equal(announced.at(-1)?.id, id);
      const { rows: stored } = await database.query('select attempts_spent from delivery_states where id = $1', [id]);
      assert.equal(stored[0].attempts_spent, status === 'retry_wait' ? 0 : 6, 'six attempts of its own');
    }
    for (const [attempts, code] of [
      [30_000, 409],
      [29_999, 202],
    ]) {
      await database.query('update final_outcomes set attempt_count = $1 where delivery_id = $2', [
        attempts,
        rows[5]?.id,
      ]);
      assert.equal((await resend(String(rows[5]?.id))).status, code, `${attempts} attempts`);
    }
    const [first, second] = rows.slice(6);
    assert.ok(first?.channel === 'match' && second?.channel === 'event');
    await patch(first.search, { endpointRecipient: 'https://other.example.com/', subscribedEvents: [] });
    assert.equal((await resend(first.id)).body.endpoint, 'https://other.example.com/');
    assert.equal((await resend(second.id)).status, 409, 'it no longer subscribes');
    await patch(first.search, { endpointRecipient: null });
    assert.equal((await resend(first.id)).status, 409, 'there is no endpoint');
    await patch(first.search, { endpointRecipient: ENDPOINTS.match, notificationEnabled: false });
    assert.equal((await resend(first.id)).status, 409, 'it does not notify');
    await api.call('DELETE', first.search, undefined, { key });
    assert.equal((await resend(first.id)).status, 404);
    assert.equal((await resend(randomUuid())).status, 404);
  });

  it('arrive again with the same id, bytes and sequence, at the current endpoint', async (t) => {
    const { receiver, stage, search, pointTo } = await openScene(t);
    receiver.script('/broken', { type: 'answer', status: 500 });
    const addresses = await seedDeliveries(stage.database, search, [
      receiver.urlOf('/fine'),
      receiver.urlOf('/broken'),
    ]);
    stage.announcer.announce(addresses);
    await stage.start();
    await until(
      async () =>
        (await stage.database.query(`select state from delivery_states order by state`)).rows.map(({ state }) => state),
      (states) => states.join() === 'delivered,retry_wait',
    );
    await pointTo('/new');
    for (const { id } of addresses) {
      const outcome = await resendDelivery(stage.database, search.clientId, id);
      assert.ok(outcome?.type === 'sent');
      stage.announcer.announce(outcome.due);
    }
    await stage.untilAllEnded();
    for (const { id } of addresses) {
      const [before, again, ...more] = receiver.postsOf(id);
      assert.ok(before && again && more.length === 0);
      assert.equal(again.path, '/new');
      assert.deepEqual(again.body, before.body);
      assert.equal(again.headers['vigie-sequence'], before.headers['vigie-sequence']);
    }
    const { rows } = await stage.database.query('select state, attempt_count from delivery_states');
    assert.deepEqual(rows, [
      { state: 'delivered', attempt_count: 2 },
      { state: 'delivered', attempt_count: 2 },
    ]);
  });

  it('stay delivered if the resend fails, with the attempts of both', async (t) => {
    const { receiver, stage, search, pointTo } = await openScene(t, 20);
    const [address] = await seedDeliveries(stage.database, search, [receiver.urlOf('/once')]);
    assert.ok(address);
    await pointTo('/broken');
    receiver.script('/broken', { type: 'answer', status: 500 });
    stage.announcer.announce([address]);
    await stage.start();
    await stage.untilAllEnded();
    const read = async (): Promise<DeliveryRead> => {
      const delivery = await readDelivery(stage.database, search.clientId, address.id);
      assert.ok(delivery);
      return delivery;
    };
    const delivered = await read();
    const outcome = await resendDelivery(stage.database, search.clientId, address.id);
    assert.ok(outcome?.type === 'sent');
    stage.announcer.announce(outcome.due);
    await until(read, ({ state, attempts }) => state === 'delivered' && attempts.length > 1);
    const after = await read();
    assert.deepEqual(valuesOf(after.attempts, 'statusCode'), [200, 500, 500, 500, 500, 500, 500]);
    assert.deepEqual(after.finishedAt, delivered.finishedAt);
    const document = deliveryDocument(after, null) as { readonly status: string; readonly deliveredAt: Date };
    assert.equal(document.status, 'delivered');
    const [first] = after.attempts;
    assert.equal(document.deliveredAt.getTime(), (first?.startedAt.getTime() ?? 0) + (first?.durationMs ?? 0));
    const { rows } = await stage.database.query('select from final_outcomes');
    assert.equal(rows.length, 0, 'the delivery does not count as failed');
  });
});

describe('deliveries that are resent during an attempt', () => {
  for (const status of [200, 500]) {
    it(`arrive again immediately if the attempt ends with ${status}`, async (t) => {
      const { receiver, stage, search, pointTo } = await openScene(t);
      await pointTo('/after');
      const { gate, open } = createGate();
      receiver.script('/before', { type: 'gated', gate, status });
      const [due] = await seedDeliveries(stage.database, search, [receiver.urlOf('/before')]);
      assert.ok(due);
      await stage.start();
      await receiver.until((posts) => posts.length === 1);
      for (const _ of ['one', 'more']) {
        assert.deepEqual(await resendDelivery(stage.database, search.clientId, due.id), { type: 'sent', due: [] });
      }
      open();
      await receiver.until((posts) => posts.length === 2);
      await stage.untilAllEnded();
      assert.deepEqual(
        tuplesOf(receiver.posts, 'path', 'id', 'body'),
        ['/before', '/after'].map((path) => [path, due.id, receiver.posts[0]?.body]),
        'each once, with the same body',
      );
      const { rows } = await stage.database.query('select state, attempt_count, attempts_spent from delivery_states');
      assert.deepEqual(rows, [{ state: 'delivered', attempt_count: 2, attempts_spent: 1 }]);
    });
  }

  it('are queued again if the attempt ends at that moment', async (t) => {
    const { receiver, stage, search, pointTo } = await openScene(t);
    await pointTo('/hook');
    const [due] = await seedDeliveries(stage.database, search, [receiver.urlOf('/hook')]);
    assert.ok(due);
    await putInState(stage.database, [due.id], 'sending');
    const settling = await stage.database.connect();
    await settling.query('begin');
    await settling.query('delete from open_deliveries');
    const asked = resendDelivery(stage.database, search.clientId, due.id);
    await untilLocked(stage.database);
    await settling.query('commit');
    settling.release();
    assert.deepEqual(await asked, { type: 'sent', due: [{ ...due, lane: 'retry' }] });
  });
});

describe('an Idempotency-Key', () => {
  const create = (key: string, idempotencyKey: string, body: object) =>
    api.call('POST', '/searches', body, { key, headers: { 'Idempotency-Key': idempotencyKey } });

  it('is answered 409 while its first request is in progress', async () => {
    const key = await api.newClient('slow');
    const holding = await api.database.connect();
    await holding.query('begin');
    await holding.query(
      `select pg_advisory_xact_lock(x'5ea7'::integer, hashtext(id::text)) from clients where name = 'slow'`,
    );
    const statuses: number[] = [];
    const ask = async () => void statuses.push((await create(key, 'a', { title: 'slow' })).status);
    const asked = Promise.all([ask(), ask(), ask()]);
    await untilIs(() => statuses.join(), '409,409');
    await holding.query('commit');
    holding.release();
    await asked;
    assert.deepEqual(statuses, [409, 409, 201]);
  });

  it('creates one search, regardless of the number and speed of requests', async () => {
    const key = await api.newClient('once');
    const body = { title: 'once', budgetMax: 1 };
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(key, 'a', body)));
    assert.ok(answers.every(({ status }) => status === 201 || status === 409));
    const made = new Set(answers.flatMap(({ status, body: { '@id': id } }) => (status === 201 ? [id] : [])));
    assert.equal(made.size, 1);
    const [iri] = made;
    await api.call('PATCH', String(iri), { title: 'renamed' }, { key });
    const again = await create(key, 'a', body);
    assert.deepEqual([again.status, again.body['@id'], again.body.title], [201, iri, 'renamed'], 'the current title');
    assert.equal(again.headers.get('Location'), iri);
    const { body: listed } = await api.call('GET', '/searches', undefined, { key });
    assert.equal(listed['hydra:totalItems'], 1);
    const other = await create(key, 'a', { ...body, budgetMax: 2 });
    assert.equal(other.status, 422);
    assert.equal(other.body.violations[0].code, 'idempotency_key_reused');
    const stranger = await create(await api.newClient('another'), 'a', { title: 'mine' });
    assert.equal(stranger.status, 201, 'keys are the client’s own');
    assert.notEqual(stranger.body['@id'], iri);
    await api.call('DELETE', String(iri), undefined, { key });
    assert.equal((await create(key, 'a', body)).status, 410);
    await database.query(`update idempotency_keys set created_at = now() - interval '25 hours'`);
    assert.equal((await create(key, 'a', { title: 'another day' })).status, 201);
  });

  it('stores no refusal, and has at most 255 characters', async () => {
    const key = await api.newClient('mended');
    assert.equal((await create(key, 'b', { titel: 'x' })).status, 422);
    assert.equal((await create(key, 'b', { title: 'x' })).status, 201);
    assert.equal((await create(key, 'b'.repeat(256), { title: 'x' })).status, 400);
    assert.equal((await create(key, 'b'.repeat(255), { title: 'x' })).status, 201);
  });
});
