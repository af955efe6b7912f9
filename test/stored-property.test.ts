/** What is kept of a property is read back as it was, by the release that wrote it and by a later one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSampleCrawler } from '../bench/adverts/sample-adverts.ts';
import { applyMessage, type HeldProperty } from '../src/engine/domain/change.ts';
import { decodeIntakeMessage } from '../src/engine/domain/intake-message.ts';
import { readState, stateText } from '../src/engine/domain/stored-property.ts';
import { loadReference } from '../src/engine/reference/communes.ts';
import { heldAfter, minute, nextOrigin, upsertAt } from './support/adverts.ts';

test('any state is read back as it was, from little more than half of its JSON', async () => {
  const crawler = createSampleCrawler({ seed: 7, reference: await loadReference(), startAt: new Date(minute(0)) });
  const properties = new Map<string, HeldProperty>();
  let [stored, asJson] = [0, 0];
  for (let sequence = 1; sequence <= 2_000; sequence++) {
    const message = decodeIntakeMessage(Buffer.from(JSON.stringify(crawler.next())));
    const before = properties.get(message.propertyUuid) ?? null;
    const { held } = applyMessage(before, message, { stream: 1, sequence });
    if (held === null) continue;
    const text = stateText(held.state);
    assert.deepEqual(readState(text), held.state);
    properties.set(message.propertyUuid, held);
    stored += text.length;
    asJson += JSON.stringify(held.state).length;
  }
  assert.ok(stored < 0.6 * asJson, `${stored} of ${asJson}`);
});

test('what a crawler states as unknown and as an empty list stays apart where it is told apart', () => {
  const stations = [{ id: 1, name: null, lines: [] }];
  for (const property of [{ stations: null, pictures: null }, { stations: [], pictures: [] }, { stations }]) {
    const { state } = heldAfter(upsertAt(0, { property }));
    assert.deepEqual(readState(stateText(state)), state);
  }
});

test('members that the writer did not know are unknown, and no change when they still are', () => {
  const held = heldAfter(upsertAt(0, { advert: { price: 200_000 } }));
  const [uuid, [[advert, content, ...rest]]] = JSON.parse(stateText(held.state));
  const older = JSON.stringify([uuid, [[advert, content.slice(0, 5), ...rest]]]);
  const state = readState(older);
  assert.deepEqual(state, held.state);
  const again = upsertAt(1, { advert: { price: 200_000 } });
  assert.equal(applyMessage({ ...held, state }, again, nextOrigin()).outcome, 'recrawled');
});
