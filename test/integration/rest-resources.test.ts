/** Matches, property documents and reference data over REST. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { EVENT_KINDS } from '../../src/engine/domain/codes.ts';
import type { AttemptOutcome } from '../../src/engine/domain/delivery.ts';
import { timeOrderedUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import { FACILITIES, type PointOfInterest } from '../../src/engine/domain/point-of-interest.ts';
import { buildPointIndex } from '../../src/engine/matching/points/poi-index.ts';
import type { SingleDelivery } from '../../src/rest/dependencies.ts';
import { startTestApi } from '../support/api.ts';
import { tuplesOf, valuesOf } from '../support/lists.ts';
import { putInState } from '../support/seeded-deliveries.ts';
import { searchNumberOfId, seedMatch, seedSampleProperty } from '../support/seeded-matches.ts';
import { untilIs } from '../support/until.ts';

const POINTS: readonly PointOfInterest[] = [
  {
    facility: 'school',
    lat: 43.12,
    lon: 5.93,
    name: 'École',
    attributes: { schoolType: 'primaire', operatorType: 'public' },
  },
  { facility: 'school', lat: 43.121, lon: 5.93, name: null, attributes: { operatorType: 'private' } },
  { facility: 'parking', lat: 43.1201, lon: 5.93, name: null, attributes: {} },
  { facility: 'hospital', lat: 43.2, lon: 5.93, name: 'Hôpital', attributes: {} },
];

const sent: SingleDelivery[] = [];
const OUTCOME: AttemptOutcome = {
  startedAt: new Date(),
  durationMs: 12.4,
  statusCode: 200,
  error: null,
  reason: null,
  responseHead: 'merci',
};
let outcome = OUTCOME;
const index = await buildPointIndex((add) => add(POINTS));
const api = await startTestApi(
  { after },
  {
    pointsOfInterest: () => index,
    deliverOnce: async (delivery) => {
      sent.push(delivery);
      return outcome;
    },
  },
);
const get = async (path: string) => (await api.call('GET', path)).body;

async function newSearch(members: object = {}): Promise<{ iri: string; number: number }> {
  const { body } = await api.call('POST', '/searches', { title: 'x', ...members });
  return { iri: body['@id'], number: await searchNumberOfId(api.database, body['@id'].slice(10)) };
}

const newProperty = () => seedSampleProperty(api.database);

async function newMatch(number: number, propertyUuid: string, at: string, hasBegun = true): Promise<Uuid> {
  const id = timeOrderedUuid(new Date());
  await seedMatch(api.database, { id, searchNumber: number, propertyUuid, createdAt: new Date(at), hasBegun });
  return id;
}

describe('matches', () => {
  it('are listed newest first and paged in both directions, by their start or, without one, the first notification', async () => {
    const { iri, number } = await newSearch();
    const property = await newProperty();
    const ids: string[] = [];
    for (let day = 1; day <= 3; day++) {
      ids.unshift(await newMatch(number, day === 3 ? property : await newProperty(), `2026-03-0${day}T08:00:00Z`));
    }
    ids.splice(2, 0, await newMatch(number, await newProperty(), '2026-03-01T12:00:00Z', false));
    const list = await get(`${iri}/matches`);
    assert.deepEqual(
      valuesOf(list['hydra:member'], '@id'),
      ids.map((id) => `/matches/${id}`),
    );
    assert.equal(list['hydra:totalItems'], 4);
    assert.deepEqual((await get(`/matches?search=${iri}`))['hydra:member'], list['hydra:member']);
    const page = await get(`${iri}/matches?itemsPerPage=1&page=2`);
    assert.equal(page['hydra:member'][0]['@id'], `/matches/${ids[1]}`);
    const match = await get(`/matches/${ids[0]}`);
    assert.deepEqual(match, list['hydra:member'][0]);
    assert.equal(match.property, `/documents/properties/${property}`);
    assert.equal(match.search, iri);
    assert.equal(match.createdAt, '2026-03-03T08:00:00.000Z');
    assert.deepEqual(match.propertyDocument, await get(match.property));
  });

  it('leave out contacts if the search hides them', async () => {
    const property = await newProperty();
    for (const hidePropertyContact of [false, true]) {
      const { number } = await newSearch({ hidePropertyContact });
      const match = await get(`/matches/${await newMatch(number, property, '2026-03-01T00:00:00Z')}`);
      assert.equal('contact' in match.propertyDocument.adverts[0], !hidePropertyContact);
    }
  });
});

describe('property documents', () => {
  it('are read one by one and looked up several at a time', async () => {
    const [a, b] = [await newProperty(), await newProperty()];
    const document = await get(`/documents/properties/${a}`);
    assert.equal(document.uuid, a);
    assert.equal(document.city.insee, '83137');
    assert.ok(document.adverts[0].events.some((event: { fieldName: string }) => event.fieldName === 'price'));
    const found = await get(`/documents/properties?uuid[]=${b}&uuid[]=${randomUUID()}&uuid[]=${a.toUpperCase()}`);
    assert.deepEqual(valuesOf(found['hydra:member'], 'uuid'), [b, a]);
    for (const query of ['?uuid[]=x', `?${'uuid[]='.concat(a, '&').repeat(101)}`]) {
      assert.equal((await api.call('GET', `/documents/properties${query}`)).status, 400);
    }
  });
});

describe('deliveries', () => {
  it('are listed with their attempts, filtered by status, and read one by one', async () => {
    const { iri, number } = await newSearch();
    const [id, queued] = [randomUUID(), randomUUID()];
    await api.database.query(
      `insert into deliveries (id, search_number, match_id, channel, kind, endpoint, endpoint_key, head, snapshot_id,
         created_at, sequence) values
         ($1, $3, gen_random_uuid(), 'event', 'ad.update.price', 'https://h.example.com', 'k', '', gen_random_uuid(), '2026-03-01', 1),
         ($2, $3, gen_random_uuid(), 'match', 'property.ad.create', 'https://h.example.com', 'k', '',
          gen_random_uuid(), '2026-03-02', 2)`,
      [id, queued, number],
    );
    await putInState(api.database, [id], 'failed', 2);
    await putInState(api.database, [queued], 'queued');
    await api.database.query(
      `insert into attempts values ($1, 2, '2026-03-01T09:00Z', 12, 500, 'status', 'HTTP 500', 'oups'),
         ($1, 1, '2026-03-01T08:00Z', null, null, 'timeout', null, null)`,
      [id],
    );
    const list = await get(`${iri}/deliveries`);
    assert.deepEqual(valuesOf(list['hydra:member'], 'status'), ['queued', 'failed']);
    const failed = await get(`${iri}/deliveries?status=FAILED`);
    const [delivery] = failed['hydra:member'];
    // This delivery has no snapshot, as if it had been removed.
    assert.deepEqual(await get(`/deliveries/${id}`), { ...delivery, body: null, headers: null, withheld: false });
    assert.equal(delivery.exhausted, true);
    assert.equal(delivery.dueAt, null);
    assert.deepEqual(tuplesOf(delivery.attempts, 'number', 'statusCode'), [
      [1, null],
      [2, 500],
    ]);
    assert.equal(delivery.endpointHealth, null, 'nothing was ever sent there');
  });

  it('are answered one by one with the sent body, without contacts that their search now hides', async () => {
    const { iri, number } = await newSearch();
    const id = randomUUID();
    await api.database.query(
      `with kept as (insert into snapshots values (gen_random_uuid(), $3) returning id)
       insert into deliveries (id, search_number, match_id, channel, kind, endpoint, endpoint_key, head, snapshot_id, sequence)
       select $1, $2, gen_random_uuid(), 'match', 'property.ad.create', 'https://h.example.com', 'k',
         '{"match":{"propertyDocument":', id, 7 from kept`,
      [id, number, '{"price":1.50,"adverts":[{"contact":{"phone":"0494"}}]}'],
    );
    await putInState(api.database, [id], 'failed', 1);
    await api.database.query(
      `insert into attempts values ($1, 1, '2026-03-01T09:00:00.9Z', 12, 500, 'status', null, null)`,
      [id],
    );
    const { text } = await api.call('GET', `/deliveries/${id}`);
    const sent = '{"match":{"propertyDocument":{"price":1.50,"adverts":[{"contact":{"phone":"0494"}}]}}}';
    assert.ok(text.endsWith(`"withheld":false,"body":${sent}}`), 'byte for byte');
    const timestamp = String(Date.parse('2026-03-01T09:00:00Z') / 1_000);
    assert.deepEqual((await get(`/deliveries/${id}`)).headers, {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'vigie-sequence': '7',
    });
    await api.call('PATCH', iri, { hidePropertyContact: true });
    const { withheld, body } = await get(`/deliveries/${id}`);
    assert.equal(withheld, true);
    assert.deepEqual(body, { match: { propertyDocument: { price: 1.5, adverts: [{ contact: null }] } } });
  });
});

describe('reference data', () => {
  const namesOf = async (query: string) => valuesOf((await get(`/cities?${query}`))['hydra:member'], 'name');

  it('lists cities by INSEE code, zip code and beginning of the name', async () => {
    assert.deepEqual(await namesOf('insee=83137'), ['Toulon']);
    assert.deepEqual(await namesOf('insee=2a004'), ['Ajaccio']);
    assert.ok((await namesOf('zipcode=83200')).includes('Toulon'));
    const saints = await namesOf('name=saint etienne&itemsPerPage=100');
    assert.ok(saints.length > 30);
    assert.deepEqual(await namesOf('name=st etienne&itemsPerPage=100'), saints);
    assert.deepEqual(await namesOf('zipcode=00000'), []);
    assert.ok((await get('/cities'))['hydra:totalItems'] > 34_000);
  });

  it('lists cities by several codes, in the requested order', async () => {
    assert.deepEqual(await namesOf('inseeCodes[]=83137&inseeCodes[]=2a004'), ['Ajaccio', 'Toulon']);
    assert.deepEqual(await namesOf('inseeCodes[0]=83137&insee=75056'), []);
    assert.deepEqual(await namesOf('zipcodes[]=83000&zipcodes[]=75015'), ['Paris', 'Paris 15e', 'Toulon']);
    const named = 'name=toulon&order[name]';
    assert.deepEqual(await namesOf(`${named}=desc`), (await namesOf(`${named}=asc`)).toReversed());
    assert.deepEqual(await namesOf('inseeCodes[]=83137&inseeCodes[]=2A004&order[id]=asc'), ['Toulon', 'Ajaccio']);
  });

  it('completes places, with the member and value for a search', async () => {
    const { 'hydra:member': members, 'hydra:totalItems': total } = await get(
      '/public/location-autocomplete?query=83000',
    );
    assert.equal(total, 2);
    const [zipcode, toulon] = members;
    assert.deepEqual(zipcode, {
      ...{ '@context': '/contexts/Location', '@id': '/cities?zipcode=83000', '@type': 'Location', type: 'zipcode' },
      ...{ label: '83000 (Toulon)', name: '83000', code: '83000', zipcode: '83000', population: toulon.population },
      ...{ cities: ['/cities/83137'], criterion: 'includedZipcodes', value: '83000', matchedName: null },
    });
    const [annecy] = (await get('/public/location-autocomplete?query=seynod'))['hydra:member'];
    assert.deepEqual([annecy.label, annecy.matchedName, annecy.value], ['Annecy (74000)', 'Seynod', '/cities/74010']);
    const [department] = (await get('/public/location-autocomplete?query=var'))['hydra:member'];
    for (const { '@id': iri, criterion, value } of [zipcode, toulon, department]) {
      assert.equal((await api.call('GET', iri)).status, 200, iri);
      assert.equal((await api.call('POST', '/searches', { title: 'x', [criterion]: [value] })).status, 201, iri);
    }
    assert.deepEqual((await get('/public/location-autocomplete?query='))['hydra:member'], []);
  });

  it('lists departments and site categories, and reads each', async () => {
    const corse = await get('/departments/2A');
    assert.deepEqual(corse, await get('/departments/201'));
    assert.deepEqual(corse, await get('/departments/2a'));
    assert.equal((await get('/departments/01')).name, 'Ain');
    assert.ok((await get('/features/pool')).words.fr.includes('piscine'));
    const { 'hydra:member': features, 'hydra:totalItems': count } = await get('/features');
    assert.deepEqual([features.length, count, features[0].name], [19, 19, 'balcony']);
    const [first] = (await get('/site_categories'))['hydra:member'];
    assert.deepEqual(await get(first['@id']), first);
  });
});

describe('points of interest', () => {
  const path = '/indicators/points_of_interest';

  it('are answered nearest first, with attributes or an empty list', async () => {
    const found = await get(`${path}?lat=43.12&lon=5.93&radius=1`);
    assert.deepEqual(found['hydra:member'], [
      {
        lat: 43.12,
        lon: 5.93,
        name: 'École',
        type: 'school',
        attributes: { schoolType: 'primaire', operatorType: 'public' },
      },
      { lat: 43.1201, lon: 5.93, name: null, type: 'parking', attributes: [] },
      { lat: 43.121, lon: 5.93, name: null, type: 'school', attributes: { operatorType: 'private' } },
    ]);
    assert.equal(found['hydra:totalItems'], 3);
  });

  it('are chosen by facility, in any spelling of a repeated parameter', async () => {
    const countOf = async (query: string) => (await get(`${path}?lat=43.12&lon=5.93&${query}`))['hydra:totalItems'];
    assert.equal(await countOf('facilities[]=school'), 2);
    assert.equal(await countOf('facilities%5B%5D=school&facilities%5B%5D=parking'), 3);
    assert.equal(await countOf('facilities[0]=school&facilities[1]=hospital&radius=20'), 3);
    assert.equal(await countOf('radius=0'), 1);
  });

  it('have the categories of the specification', () => {
    assert.deepEqual([...FACILITIES], ['kindergarten', 'school', 'restaurant', 'hospital', 'parking']);
  });
});

describe('the webhook tester', () => {
  const path = '/webhook-tester?endpoint=https://hooks.example.com/x';

  for (const kind of EVENT_KINDS) {
    it(`sends one ${kind} in the form of a real one, and answers the sent body`, async () => {
      sent.length = 0;
      const { status, body } = await api.call('GET', `${path}&eventType=${kind}`);
      assert.equal(status, 200);
      assert.equal(sent.length, 1);
      const delivered = JSON.parse(sent[0]?.body ?? '');
      const { delivery, '@context': _context, '@id': _id, '@type': _type, ...answered } = body;
      assert.deepEqual(answered, delivered);
      assert.equal(delivered.event, kind);
      assert.equal('adEvent' in delivered, kind.startsWith('ad') || kind === 'property.match.end');
      const expected = { delivered: true, statusCode: 200, durationMs: 12, error: null, responseBody: 'merci' };
      assert.deepEqual(delivery, { ...expected, token: sent[0]?.token });
    });
  }

  it('signs with the secrets of the client, with a search and without', async () => {
    const { body: made } = await api.call('POST', '/webhook-secrets', {});
    const { body: search } = await api.call('POST', '/searches', { title: 'x' });
    for (const query of ['', `&search=${search['@id']}`]) {
      assert.equal((await api.call('GET', `${path}&eventType=ad.update.price${query}`)).status, 200);
      assert.deepEqual(sent.at(-1)?.secrets, [made.secret]);
    }
    assert.equal((await api.call('DELETE', made['@id'])).status, 204);
  });

  it('accepts type for eventType, signs with a search of the client, and reports a failure', async () => {
    const { body: search } = await api.call('POST', '/searches', { title: 'x' });
    outcome = { ...OUTCOME, statusCode: 500, error: 'status', reason: 'HTTP 500' };
    const { body } = await api.call('GET', `${path}&type=ad.update.price&search=${search['@id']}`);
    outcome = OUTCOME;
    assert.equal(sent.at(-1)?.token, search.token);
    assert.equal(body.match.search, search['@id']);
    assert.deepEqual(body.delivery.error, 'HTTP 500');
    assert.deepEqual([body.delivery.delivered, body.delivery.token], [false, null]);
    assert.equal((await api.call('GET', `${path}&type=ad.update.price&search=${randomUUID()}`)).status, 404);
  });

  it('makes four tests of a client at once, 64 in total, and tells further ones to try again later', async () => {
    const waiting: ((outcome?: AttemptOutcome | null) => void)[] = [];
    const gated = await startTestApi(
      { after },
      {
        deliverOnce: () => new Promise((resolve) => waiting.push((outcome = OUTCOME) => resolve(outcome))),
      },
    );
    const test = (key: string) => gated.call('GET', `${path}&eventType=ad.update.price`, undefined, { key });
    const keys = await Promise.all(Array.from({ length: 17 }, (_, n) => gated.newClient(`tester ${n}`)));
    const [first = '', ...others] = keys;
    const underWay = Array.from({ length: 4 }, () => test(first));
    await untilIs(() => waiting.length, 4);
    const refused = await test(first);
    assert.deepEqual([refused.status, refused.headers.get('Retry-After')], [429, '5']);
    for (const key of others.slice(0, 15)) underWay.push(...Array.from({ length: 4 }, () => test(key)));
    await untilIs(() => waiting.length, 64);
    assert.equal((await test(others[15] as string)).status, 429);
    for (const answer of waiting) answer();
    assert.deepEqual(new Set((await Promise.all(underWay)).map(({ status }) => status)), new Set([200]));
    const again = test(first);
    await untilIs(() => waiting.length, 65);
    waiting.at(-1)?.();
    assert.equal((await again).status, 200);
    const crowded = test(first);
    await untilIs(() => waiting.length, 66);
    // The lookup is refused because too many DNS lookups are in progress.
    waiting.at(-1)?.(null);
    assert.deepEqual([(await crowded).status, (await crowded).headers.get('Retry-After')], [429, '5']);
  });

  it('tests an endpoint that was saved under other rules', async () => {
    const { body: search } = await api.call('POST', '/searches', { title: 'x' });
    const former = 'https://hooks.example.com:81/x';
    await api.database.query(
      'update searches set members = jsonb_set(members::jsonb, $2, to_jsonb($3::text)), event_endpoint = $3 where id = $1',
      [search['@id'].split('/').at(-1), '{eventEndpoint}', former],
    );
    const query = `endpoint=${former}&eventType=ad.update.price`;
    assert.equal((await api.call('GET', `/webhook-tester?${query}`)).status, 400);
    assert.equal((await api.call('GET', `/webhook-tester?${query}&search=${search['@id']}`)).status, 200);
  });
});
