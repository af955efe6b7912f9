/** The random numbers, adverts and places of benchmarks are the same for the same seed. */

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createSampleCrawler, type IntakeMessageJson } from '../bench/adverts/sample-adverts.ts';
import { samplePointsOfInterest } from '../bench/adverts/sample-places.ts';
import { createRandom } from '../bench/adverts/seeded-random.ts';
import { decodeIntakeMessage, type IntakeMessage } from '../src/engine/domain/intake-message.ts';
import { FACILITIES } from '../src/engine/domain/point-of-interest.ts';
import { loadReference, type Reference } from '../src/engine/reference/communes.ts';

const START = new Date('2026-03-10T07:15:00Z');
const decode = (message: IntakeMessageJson): IntakeMessage => decodeIntakeMessage(Buffer.from(JSON.stringify(message)));

describe('seeded random numbers', () => {
  it('are the same for the same seed, now and in later versions', () => {
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

  it('gives the same messages for the same seed, and others for another seed', () => {
    assert.deepEqual(messages(2_000), messages(2_000));
    assert.notDeepEqual(messages(10, 1), messages(10, 2));
  });

  it('writes only valid messages, in order of crawl', () => {
    let last = START.toISOString();
    for (const message of messages(5_000)) {
      const { crawledAt } = decode(message);
      assert.ok(crawledAt > last);
      last = crawledAt;
    }
  });
});

describe('sample points of interest', () => {
  it('are the same for the same seed, have valid coordinates, and are of every facility', async () => {
    const reference = await loadReference();
    const points = [...samplePointsOfInterest({ seed: 9, reference, count: 5_000 })];
    assert.deepEqual(points, [...samplePointsOfInterest({ seed: 9, reference, count: 5_000 })]);
    assert.equal(points.length, 5_000);
    assert.deepEqual(new Set(points.map(({ facility }) => facility)), new Set(FACILITIES));
    assert.ok(points.every(({ lat, lon }) => Math.abs(lat) < 60 && Math.abs(lon) < 180));
  });
});
