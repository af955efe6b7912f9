/** The stored state of a property is read back unchanged. `test/long/new-member.test.ts` tests a later release. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSampleCrawler } from '../bench/adverts/sample-adverts.ts';
import { applyMessage, type StoredProperty } from '../src/engine/domain/change.ts';
import { decodeIntakeMessage } from '../src/engine/domain/intake-message.ts';
import { readState, stateText } from '../src/engine/domain/stored-property.ts';
import { loadReference } from '../src/engine/reference/communes.ts';
import { heldAfter, minute, upsertAt } from './support/adverts.ts';

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
