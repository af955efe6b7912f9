/** Identifiers are accepted in any case, and new ones ascend with time. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  createdAtOf,
  firstUuidAt,
  parseUuid,
  randomUuid,
  searchNumberOf,
  timeOrderedUuid,
  uuidAfter,
  uuidOf,
} from '../src/engine/domain/ids.ts';

test('a UUID is read in any case and version, and answered in lower case', () => {
  assert.equal(parseUuid('0D9E0C6A-0000-4000-8000-0000000000AB'), '0d9e0c6a-0000-4000-8000-0000000000ab');
  fc.assert(fc.property(fc.uuid(), (uuid) => assert.equal(parseUuid(uuid.toUpperCase()), uuid)));
});

const MALFORMED = ['', 'x', '0d9e0c6a00004000800000000000000ab', '{0d9e0c6a-0000-4000-8000-0000000000ab}'];

test('text that is not exactly a UUID is null, for example with a blank or a line end', () => {
  for (const text of [
    ...MALFORMED,
    ' 0d9e0c6a-0000-4000-8000-0000000000ab',
    '0d9e0c6a-0000-4000-8000-0000000000ab\n',
  ]) {
    assert.equal(parseUuid(text), null, JSON.stringify(text));
  }
});

test('a time-ordered UUID has version 7, the RFC variant and its millisecond', () => {
  fc.assert(
    fc.property(fc.nat({ max: 253_402_300_799_999 }), fc.uint8Array({ minLength: 16, maxLength: 16 }), (ms, noise) => {
      const uuid = timeOrderedUuid(new Date(ms), () => Buffer.from(noise));
      assert.equal(parseUuid(uuid), uuid);
      assert.match(uuid, /^.{14}7.{4}[89ab]/);
      assert.equal(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16), ms);
    }),
  );
});

test('a UUID created after another one is greater, for any clock, and exceeds the later time by at most a millisecond', () => {
  const maxMs = 253_402_300_799_999;
  const noise = fc.oneof(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.constant(new Uint8Array(16).fill(0xff)));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: maxMs - 1 }), fc.integer({ min: -2, max: 2 }), noise, (ms, step, bytes) => {
      const previous = timeOrderedUuid(new Date(ms), () => Buffer.from(bytes));
      const at = new Date(ms + step);
      const next = uuidAfter(previous, at);
      assert.ok(next > previous);
      assert.match(next, /^.{14}7.{4}[89ab]/);
      assert.ok(createdAtOf(next).getTime() - Math.max(ms, at.getTime()) <= 1);
    }),
  );
  assert.equal(createdAtOf(uuidAfter(null, new Date(7))).getTime(), 7);
});

test('the first UUID of a millisecond separates earlier ids from later ones', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 253_402_300_799_999 }), (ms) => {
      const first = firstUuidAt(new Date(ms));
      assert.equal(parseUuid(first), first);
      assert.equal(createdAtOf(first).getTime(), ms);
      assert.ok(timeOrderedUuid(new Date(ms - 1)) < first);
      assert.ok(timeOrderedUuid(new Date(ms)) > first);
    }),
  );
});

test('the number of a search is positive and fits in 31 bits', () => {
  for (const number of [1, 2 ** 31 - 1]) assert.equal(searchNumberOf(number), number);
  for (const number of [0, -1, 1.5, 2 ** 31, Number.NaN]) assert.throws(() => searchNumberOf(number), RangeError);
});

test('reading a UUID from invalid text throws', () => {
  assert.equal(uuidOf('0D9E0C6A-0000-4000-8000-0000000000AB'), '0d9e0c6a-0000-4000-8000-0000000000ab');
  assert.throws(() => uuidOf('0d9e0c6a'), RangeError);
  const uuid = randomUuid();
  assert.equal(parseUuid(uuid), uuid);
});
