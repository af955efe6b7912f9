/** Publishers of adverts in searches, events, previews, lists, explanations and completion. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { AdvertContent } from '../../src/engine/domain/advert.ts';
import { randomUuid, type Uuid } from '../../src/engine/domain/ids.ts';
import { sweep } from '../../src/engine/maintenance/retention.ts';
import { resolveToulon, upsertAt } from '../support/adverts.ts';
import { startRecordedApi } from '../support/recorded-api.ts';

let now = new Date();
const options = { resolvePlace: resolveToulon, clock: () => now };
const { api, scene, createSearch, explain } = await startRecordedApi({ after }, options);

interface Names {
  readonly name?: string | null;
  readonly type?: number | null;
  readonly agency?: string | null;
  readonly person?: string;
}

function contentOf({ name = null, type = null, agency = null, person }: Names): Partial<AdvertContent> {
  const contact = { agency, email: null, fax: null, name: person ?? null, phone: null, reference: null };
  return { price: 200_000, publisher: { name, type, category: null }, contact };
}

const property = { transactionType: 0, propertyType: 0, city: { insee: '83137', zipcode: null, name: null } };
let minutes = 0;

async function publish(propertyUuid: Uuid, advertUuid: Uuid, names: Names): Promise<void> {
  minutes += 1;
  await scene.record([upsertAt(minutes, { propertyUuid, advertUuid, property, advert: contentOf(names) })]);
}

describe('publishers in a search', () => {
  it('are refused if both lists name them, also by a change, and cleared with their acceptance of unknown values', async () => {
    const iri = await createSearch({ includedPublishers: ['Foncia'], orMissing: ['includedPublishers'] });
    const { status, body } = await api.call('PATCH', iri, { excludedPublishers: ['FONCIA'] });
    const [{ propertyPath, code }] = body.violations;
    assert.deepEqual([status, propertyPath, code], [422, 'excludedPublishers[0]', 'in_both_lists']);
    const { body: cleared } = await api.call('PATCH', iri, { includedPublishers: null });
    assert.deepEqual([cleared.includedPublishers, cleared.orMissing], [[], []]);
  });

  it('are explained, listed and previewed; their names are withheld if the search hides contacts', async () => {
    const [uuid, advert] = [randomUuid(), randomUuid()];
    await publish(uuid, advert, { name: 'Cabinet Noël', type: 1, agency: 'Agence du Port' });
    const explained = async (members: Readonly<Record<string, unknown>>) => {
      const iri = await createSearch(members);
      const { body } = await explain(iri, `property=${uuid}`);
      const { body: list } = await api.call('GET', `${iri}/properties`);
      const isListed = list['hydra:member'].some((one: { uuid: Uuid }) => one.uuid === uuid);
      assert.equal(isListed, body.satisfied);
      const [row] = body.criteria.filter(
        (one: { criterion: string; holds: boolean }) =>
          ['includedPublishers', 'liveAdvert'].includes(one.criterion) &&
          (one.criterion !== 'liveAdvert' || !one.holds),
      );
      return [body.satisfied, row?.criterion, row?.expected, row?.actual, row?.reason];
    };
    const [named, by, notBy] = [
      ['Cabinet Noël', 'Agence du Port'],
      'An advert is by a requested publisher.',
      'No advert is by a requested publisher.',
    ];
    const wanted = (name: string) => ({ includedPublishers: [name] });
    const row = (holds: boolean, name: string, actual: readonly string[]) =>
      [holds, 'includedPublishers', [name], actual, holds ? by : notBy] as const;
    assert.deepEqual(await explained(wanted('agence du port')), row(true, 'agence du port', named));
    assert.deepEqual(await explained(wanted('Agence')), row(false, 'Agence', named));
    const hidden = { ...wanted('Agence du port'), hidePropertyContact: true };
    assert.deepEqual(await explained(hidden), row(true, 'Agence du port', []));
    const [isSatisfied, criterion, , actual, reason] = await explained({ excludedPublishers: ['Cabinet NOEL'] });
    assert.deepEqual([isSatisfied, criterion, actual], [false, 'liveAdvert', 0]);
    assert.equal(reason, 'No advert is online, apart from those that the search excludes.');
    const { body: preview } = await api.call('POST', '/searches/preview', { excludedPublishers: ['cabinet noel'] });
    const { body: all } = await api.call('POST', '/searches/preview', {});
    const [without] = preview.withoutCriterion.filter((one: { criterion: string }) => one.criterion === 'liveAdvert');
    assert.equal(preview.satisfiedNow, all.satisfiedNow - 1);
    assert.equal(without.satisfiedNow, all.satisfiedNow);
  });
});

describe('completion of publishers', () => {
  const completed = async (name: string): Promise<readonly string[]> => {
    const { status, body } = await api.call('GET', `/publishers?name=${encodeURIComponent(name)}`);
    assert.equal(status, 200);
    assert.equal(body['hydra:totalItems'], body['hydra:member'].length);
    return body['hydra:member'].map((one: { name: string }) => one.name);
  };
  const rows = async () => (await api.database.query<{ xmin: string }>('select xmin from publishers')).rows;

  it('names professionals and agencies, never individuals', async () => {
    const named: readonly Names[] = [
      { name: 'Zénith Immo', type: 1 },
      { name: 'Zénith Jean', type: 0, agency: 'Zénith Jean' },
      { name: 'Zénith Paul', agency: 'Zénith Agence', person: 'Zénith Marie' },
      { name: 'Zénith Luc', type: null },
      { name: 'S.A. Zenith  Immo', type: 1 },
      { name: 'z'.repeat(201), type: 1 },
    ];
    for (const names of named) await publish(randomUuid(), randomUuid(), names);
    assert.deepEqual(await completed('zeni'), ['Zénith Agence', 'Zénith Immo']);
    assert.deepEqual(await completed('SARL ZÉNITH i'), ['Zénith Immo']);
    assert.deepEqual(await completed('Zénith Immo, S.A.R.L.'), ['Zénith Immo']);
    assert.deepEqual(await completed('immo'), []);
    assert.deepEqual(await completed('%'), []);
    for (let i = 0; i < 25; i++) await publish(randomUuid(), randomUuid(), { agency: `Quartier ${100 + i}` });
    const twenty = Array.from({ length: 20 }, (_, i) => `Quartier ${100 + i}`);
    assert.deepEqual(await completed('quartier'), twenty);
    assert.equal((await api.call('GET', '/publishers')).status, 400);
    assert.equal((await api.call('GET', '/publishers?name=a', undefined, { key: null })).status, 401);
  });

  it('writes a name once a day, and forgets it 90 days after its last advert', async () => {
    const first = await rows();
    await publish(randomUuid(), randomUuid(), { name: 'Zénith Immo', type: 1, agency: 'Quartier 100' });
    assert.deepEqual(await rows(), first);
    await api.database.query('update publishers set seen_on = current_date - 1');
    now = new Date(now.getTime() + 86_400_000);
    await publish(randomUuid(), randomUuid(), { agency: 'Quartier 100' });
    const { rows: seen } = await api.database.query('select name from publishers where seen_on = current_date');
    assert.deepEqual(seen, [{ name: 'Quartier 100' }]);
    await api.database.query('update publishers set seen_on = current_date - 91 where seen_on < current_date');
    assert.deepEqual([await completed('quartier'), await completed('zen')], [['Quartier 100'], []]);
    const days = { events: 0, deliveries: 0, expired: 0 };
    const { removed } = await sweep({ database: api.database, days }, { restFactor: 0 });
    assert.equal(removed.publishers, first.length - 1);
    assert.equal((await rows()).length, 1);
  });
});
