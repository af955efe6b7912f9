/** Bugs stop intake for a while, or end the process. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIntakeBreaker } from '../src/engine/intake/breaker.ts';

const BUG = new TypeError('a bug');

test('a bug that recurs during the rest or the window after it ends the process, and a later one starts another rest', () => {
  for (const [againMs, endsProcess] of [
    [129, true],
    [130, false],
  ] as const) {
    let now = 0;
    const reasons: string[] = [];
    const times = { windowMs: 100, restMs: 30, nowMs: () => now };
    const breaker = createIntakeBreaker({ propertiesMax: 1, ...times, onRepeated: (reason) => reasons.push(reason) });
    const meet = (): readonly boolean[] => ['a', 'b'].map((property) => breaker.admits(property, BUG));
    const isResting = (): boolean => breaker.restReason !== null;
    assert.deepEqual([meet(), isResting()], [[true, false], true]);
    now = 29;
    assert.ok(isResting());
    now = 30;
    assert.ok(!isResting());
    now = againMs;
    assert.deepEqual([meet(), isResting(), reasons.length], [[true, false], true, Number(endsProcess)]);
  }
});
