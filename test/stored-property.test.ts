/** The stored state of a property is read back unchanged, by the release that wrote it and by a later one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSampleCrawler } from '../bench/adverts/sample-adverts.ts';
import { applyMessage, type StoredProperty } from '../src/engine/domain/change.ts';
import { decodeIntakeMessage } from '../src/engine/domain/intake-message.ts';
import { readState, stateText } from '../src/engine/domain/stored-property.ts';
import { loadReference } from '../src/engine/reference/communes.ts';
import { heldAfter, minute, nextOrigin, upsertAt } from './support/adverts.ts';

test('any state is read back unchanged, from little more than half of its JSON', async () => {
  const crawler = createSampleCrawler({ seed: 7, reference: await loadReference(), startAt: new Date(minute(0)) });
  const properties = new Map<string, StoredProperty>();
  let [stored, asJson] = [0, 0];
  for (let sequence = 1; sequence <= 2_000; sequence++) {
    const message = decodeIntakeMessage(Buffer.from(JSON.stringify(crawler.next())));
    const before = properties.get(message.propertyUuid) ?? null;
    const { stored: held } = applyMessage(before, message, { stream: 1, sequence });
    if (held === null) continue;
    const text = stateText(held.state);
    assert.deepEqual(readState(text), held.state);
    properties.set(message.propertyUuid, held);
    stored += text.length;
    asJson += JSON.stringify(held.state).length;
  }
  assert.ok(stored < 0.6 * asJson, `${stored} of ${asJson}`);
});

test('unknown values and empty lists are distinguished', () => {
  const stations = [{ id: 1, name: null, lines: [] }];
  for (const property of [{ stations: null, pictures: null }, { stations: [], pictures: [] }, { stations }]) {
    const { state } = heldAfter(upsertAt(0, { property }));
    assert.deepEqual(readState(stateText(state)), state);
  }
});

test('members that an older release did not write are unknown, and cause no change while they stay unknown', () => {
  const stored = heldAfter(upsertAt(0, { advert: { price: 200_000 } }));
  const [uuid, [[advert, content, ...rest]]] = JSON.parse(stateText(stored.state));
  const older = JSON.stringify([uuid, [[advert, content.slice(0, 5), ...rest]]]);
  const state = readState(older);
  assert.deepEqual(state, stored.state);
  const again = upsertAt(1, { advert: { price: 200_000 } });
  assert.equal(applyMessage({ ...stored, state }, again, nextOrigin()).outcome, 'recrawled');
});
