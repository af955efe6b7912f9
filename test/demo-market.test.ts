/** The recorded market of the demonstration is realistic, is located where it says, and can be played in a loop. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordMarket } from '../bench/adverts/market.ts';
import { type Played, play, readRecording } from '../src/cli/demo/recording.ts';
import { DEMO_SEARCHES } from '../src/cli/demo/set-up.ts';
import { EVENT_KINDS, LAND, RENT, SALE } from '../src/engine/domain/codes.ts';
import { decodeIntakeMessage, type IntakeMessage } from '../src/engine/domain/intake-message.ts';
import { loadReference } from '../src/engine/reference/communes.ts';

type Upsert = Extract<IntakeMessage, { kind: 'upsert' }>;

const recording = await readRecording();
const PARKING = 3;

/** The messages of `count` rounds, one every 200 ms; decoding throws if a message breaks the contract. */
function rounds(count: number): readonly IntakeMessage[] {
  let nowMs = Date.parse('2026-03-10T07:15:00Z');
  const market = play(recording, () => new Date((nowMs += 200)));
  return Array.from({ length: count * recording.messages.length }, () => {
    const { message } = market.next().value as Played;
    return decodeIntakeMessage(Buffer.from(JSON.stringify(message)));
  });
}

const isUpsert = (message: IntakeMessage): message is Upsert => message.kind === 'upsert';

describe('the recorded market', () => {
  it('equals the output of its script', () => {
    assert.deepEqual(JSON.parse(JSON.stringify(recordMarket())), recording);
  });

  it('is located in the communes that it states, most often in Toulon, Paris and Lyon', async () => {
    const reference = await loadReference();
    const towns = new Map<string, number>();
    for (const { property } of rounds(1).filter(isUpsert)) {
      const { city, locations } = property;
      const stated = reference.city(city?.insee ?? '');
      assert.ok(stated, JSON.stringify(city));
      const found = reference.resolvePlace({ insee: null, zipcode: null, name: null, ...locations } as never);
      // Compares cities, without their arrondissements.
      const whole = (insee: string | undefined): string => insee?.replace(/^(75|69|13)[123]\d\d$/, '$1') ?? '';
      assert.equal(whole(found?.city?.insee), whole(stated.insee), stated.name);
      towns.set(stated.name.replace(/ \d+er?$/, ''), (towns.get(stated.name.replace(/ \d+er?$/, '')) ?? 0) + 1);
    }
    const [first, second, third] = [...towns].sort(([, one], [, other]) => other - one).map(([name]) => name);
    assert.deepEqual([first, second, third], ['Toulon', 'Paris', 'Lyon']);
  });

  it('has well-formed texts and plausible prices', () => {
    for (const { property, advert } of rounds(1).filter(isUpsert)) {
      const { title, description, price } = advert;
      const all = `${title} ${description}`;
      assert.doesNotMatch(all, /\b0 (?:chambre|pièce|m²)|de une|undefined|null|NaN|\s{2}|\.\./, all);
      assert.doesNotMatch(title ?? '', /^\P{Ll}*$/u, 'a title has lower-case letters');
      assert.ok((title ?? '').length <= 80 && (description ?? '').length >= 120, all);
      assert.notEqual(property.bedroom, 0);
      const { transactionType, propertyType } = property;
      const [min, max] = propertyType === PARKING ? [10_000, 60_000] : [20_000, 3_000_000];
      const [low, high] = transactionType === RENT ? [40, 9_000] : [min, max];
      assert.ok(price !== null && price >= low && price <= high, `${title}: ${price} €`);
      assert.ok(transactionType === SALE || propertyType !== LAND);
    }
  });

  it('has new homes in each round, and fewer live ones at its end than the recording has adverts', () => {
    const seen = new Set<string>();
    const live = new Set<string>();
    const counts: number[] = [];
    const all = rounds(3);
    for (const [position, message] of all.entries()) {
      const { advertUuid } = message;
      if (isUpsert(message)) live.add(advertUuid);
      else assert.ok(live.delete(advertUuid), 'an expiring advert is live');
      seen.add(advertUuid);
      if ((position + 1) % recording.messages.length === 0) counts.push(live.size);
    }
    const adverts = new Set(recording.messages.map(({ advert }) => advert.uuid)).size;
    assert.ok(seen.size > 2.5 * adverts, `${seen.size} adverts in three rounds of ${adverts}`);
    assert.ok(Math.max(...counts) < adverts, `${counts.join(', ')} at a time`);
  });
});

describe('the searches of the demonstration', () => {
  it('subscribe to every kind of event', () => {
    const subscribed = new Set<string>(DEMO_SEARCHES.flatMap(({ subscribedEvents }) => subscribedEvents));
    assert.deepEqual([...subscribed].sort(), [...EVENT_KINDS].sort());
  });
});
