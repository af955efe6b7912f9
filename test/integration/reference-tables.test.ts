/** Tables of reference data in PostgreSQL: points of interest, site categories. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import type { PointOfInterest } from '../../src/engine/domain/point-of-interest.ts';
import {
  listPointSources,
  pointsRevision,
  readPoints,
  removePointSource,
  replacePointSource,
} from '../../src/engine/store/points-of-interest.ts';
import {
  listSiteCategories,
  SiteCategoryInUseError,
  setSiteCategories,
} from '../../src/engine/store/site-categories.ts';
import { openTestDatabase } from '../support/database.ts';
import { tuplesOf, valuesOf } from '../support/lists.ts';
import { ownDatabase } from '../support/own-database.ts';

const database = openTestDatabase({ after }, await ownDatabase({ after }), 5);

function point(name: string): PointOfInterest {
  return {
    facility: 'school',
    lat: 43.1,
    lon: 5.9,
    name,
    attributes: { schoolType: 'collège', operatorType: 'public' },
  };
}

async function* batches(...names: readonly (readonly string[])[]): AsyncGenerator<readonly PointOfInterest[]> {
  for (const batch of names) yield batch.map(point);
}

async function storedPoints(): Promise<readonly PointOfInterest[]> {
  const stored: PointOfInterest[] = [];
  await readPoints(database, (points) => void stored.push(...points));
  return stored;
}

async function names(): Promise<readonly string[]> {
  return (await storedPoints()).map(({ name }) => name ?? '').sort((a, b) => a.localeCompare(b));
}

describe('points of interest by source', () => {
  it('are read back unchanged', async () => {
    const nameless: PointOfInterest = { facility: 'parking', lat: -12.5, lon: 45.25, name: null, attributes: {} };
    await replacePointSource(
      database,
      'odd',
      (async function* () {
        yield [nameless, point('é"\\,{}')];
      })(),
    );
    assert.deepEqual(await storedPoints(), [nameless, point('é"\\,{}')]);
    assert.equal(await removePointSource(database, 'odd'), true);
    assert.equal(await removePointSource(database, 'odd'), false);
    assert.deepEqual(await names(), []);
  });

  it('are replaced per source, and every change increases the revision', async () => {
    const revisions = new Set([await pointsRevision(database)]);
    assert.equal(await replacePointSource(database, 'a', batches(['a1', 'a2'], ['a3'])), 3);
    revisions.add(await pointsRevision(database));
    await replacePointSource(database, 'b', batches(['b1']));
    revisions.add(await pointsRevision(database));
    await replacePointSource(database, 'a', batches(['a4']));
    revisions.add(await pointsRevision(database));
    assert.deepEqual(await names(), ['a4', 'b1']);
    assert.equal(revisions.size, 4);
    assert.equal(await readPoints(database, () => undefined), await pointsRevision(database));
    const sources = await listPointSources(database);
    assert.deepEqual(tuplesOf(sources, 'name', 'pointCount'), [
      ['a', 1],
      ['b', 1],
    ]);
  });

  it('stay unchanged until the import commits', async () => {
    const observed: (readonly string[])[] = [];
    const watching = (async function* () {
      yield* batches(['a5']);
      observed.push(await names());
      yield* batches(['a6']);
    })();
    await replacePointSource(database, 'a', watching);
    assert.deepEqual(observed, [['a4', 'b1']]);
    assert.deepEqual(await names(), ['a5', 'a6', 'b1']);
  });

  it('after two simultaneous imports of a source are those of one of them', async () => {
    const left = Array.from({ length: 500 }, (_, i) => `left ${i}`);
    const right = Array.from({ length: 500 }, (_, i) => `right ${i}`);
    await Promise.all([
      replacePointSource(database, 'a', batches(left)),
      replacePointSource(database, 'a', batches(right)),
    ]);
    const sides = new Set((await names()).filter((name) => name !== 'b1').map((name) => name.split(' ')[0]));
    assert.equal(sides.size, 1);
  });
});

describe('site categories', () => {
  it('are replaced as a whole, and remaining ones keep their ids', async () => {
    const before = await listSiteCategories(database);
    const agency = before.find(({ name }) => name === 'Agence');
    const after = await setSiteCategories(database, ['Agence', 'Étude']);
    assert.deepEqual(valuesOf(after, 'name'), ['Agence', 'Étude']);
    assert.equal(after[0]?.id, agency?.id);
  });

  it('stay unchanged if a search names one that would be removed', async () => {
    const [agency] = await listSiteCategories(database);
    const clientId = randomUUID();
    await database.query('insert into clients (id, name) values ($1, $2)', [clientId, 'test']);
    await database.query(
      `insert into searches (id, client_id, title, title_folded, members, notification_enabled, subscribed_events,
         hide_property_contact, token)
       values ($1, $2, 't', 't', $3, false, '{}', false, 'whsec_')`,
      [randomUUID(), clientId, JSON.stringify({ includedSiteCategories: [agency?.id], excludedSiteCategories: [] })],
    );
    await assert.rejects(setSiteCategories(database, ['Notaire']), SiteCategoryInUseError);
    assert.equal((await listSiteCategories(database)).length, 2);
  });
});
