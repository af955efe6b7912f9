/** The random numbers and adverts of the demonstration are the same for a seed. */

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createSampleCrawler, type IntakeMessageJson, SAMPLE_CHANGES } from '../bench/adverts/sample-adverts.ts';
import { samplePointsOfInterest } from '../bench/adverts/sample-places.ts';
import { createRandom } from '../bench/adverts/seeded-random.ts';
import { decodeIntakeMessage, type IntakeMessage } from '../src/engine/domain/intake-message.ts';
import { FACILITIES } from '../src/engine/domain/point-of-interest.ts';
import { loadReference, type Reference } from '../src/engine/reference/communes.ts';

const START = new Date('2026-03-10T07:15:00Z');
const decode = (message: IntakeMessageJson): IntakeMessage => decodeIntakeMessage(Buffer.from(JSON.stringify(message)));

describe('seeded random numbers', () => {
  it('are the same for a seed, now and in later versions', () => {
    const random = createRandom(42);
    const drawn = [random.integer(0, 999), random.integer(0, 999), random.integer(0, 999), random.uuid()];
    assert.deepEqual(drawn, [374, 796, 950, '2ef5950e-bb63-446a-8799-d4479941aebc']);
  });
});

describe('the sample crawler', () => {
  let reference: Reference;
  before(async () => {
    reference = await loadReference();
  });

  const messages = (count: number, seed = 1) => {
    const crawler = createSampleCrawler({ seed, reference, startAt: START });
    return Array.from({ length: count }, () => crawler.next());
  };

  it('says the same for a seed and otherwise for another', () => {
    assert.deepEqual(messages(2_000), messages(2_000));
    assert.notDeepEqual(messages(10, 1), messages(10, 2));
  });

  it('writes only messages the intake understands, in order of crawl', () => {
    let last = START.toISOString();
    for (const message of messages(5_000)) {
      const { crawledAt } = decode(message);
      assert.ok(crawledAt > last);
      last = crawledAt;
    }
  });

  it('states places that resolve, populous ones more often', () => {
    const departments = new Map<string, number>();
    let adverts = 0;
    for (const message of messages(5_000)) {
      if (message.kind !== 'upsert') continue;
      const { city, locations } = message.property;
      const unstated = { insee: null, zipcode: null, name: null };
      const place = reference.resolvePlace({ ...unstated, ...city, lat: null, lon: null });
      assert.ok(place?.city, JSON.stringify(city));
      adverts++;
      departments.set(place.city.department.code, (departments.get(place.city.department.code) ?? 0) + 1);
      assert.ok(locations === undefined || locations !== null);
    }
    assert.ok((departments.get('59') ?? 0) > (departments.get('48') ?? 0));
    assert.ok((departments.get('75') ?? 0) / adverts > 0.015);
    assert.ok(departments.size > 90);
  });

  it('makes the change it is asked for', () => {
    const crawler = createSampleCrawler({ seed: 5, reference, startAt: START });
    const latest = new Map<string, IntakeMessageJson>();
    for (let i = 0; i < 200; i++) {
      const message = crawler.newAdvert();
      latest.set(message.advert.uuid, message);
    }
    for (const kind of SAMPLE_CHANGES) {
      for (let i = 0; i < 50; i++) {
        const message = crawler.change(kind);
        const before = latest.get(message.advert.uuid);
        assert.ok(before, 'a change is of a known advert');
        assert.equal(before.property.uuid, message.property.uuid);
        if (kind === 'expiry') assert.equal(message.kind, 'expire');
        if (kind === 'none') assert.deepEqual(message.advert, before.advert);
        if (kind === 'comeback') assert.equal(before.kind, 'expire');
        if (kind === 'pictures') assert.notDeepEqual(message.advert, before.advert);
        latest.set(message.advert.uuid, message);
      }
    }
  });
});

describe('sample points of interest', () => {
  it('are the same for a seed, of every facility, in or near France', async () => {
    const reference = await loadReference();
    const points = [...samplePointsOfInterest({ seed: 9, reference, count: 5_000 })];
    assert.deepEqual(points, [...samplePointsOfInterest({ seed: 9, reference, count: 5_000 })]);
    assert.equal(points.length, 5_000);
    assert.deepEqual(new Set(points.map(({ facility }) => facility)), new Set(FACILITIES));
    assert.ok(points.every(({ lat, lon }) => Math.abs(lat) < 60 && Math.abs(lon) < 180));
  });
});
