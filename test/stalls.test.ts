/** A role counts as stalled if it has had work for half a minute, but made no step. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStalls } from '../src/roles/measures.ts';

function look(stalls: ReturnType<typeof createStalls>, times: number): void {
  for (let second = 0; second < times; second++) stalls.check();
}

test('a role with work and no step for half a minute is named, and no other', () => {
  const stalls = createStalls();
  stalls.follow('intake', () => true);
  const step = stalls.follow('deliver', () => true);
  look(stalls, 29);
  stalls.assertProgress();
  step();
  look(stalls, 1);
  assert.throws(() => stalls.assertProgress(), /no progress: intake for 30 s$/);
  assert.deepEqual(Object.fromEntries(stalls.seconds), { intake: 30, deliver: 1 });
});

test('a step, or the end of the work, ends the stall', () => {
  const stalls = createStalls();
  let isDue = true;
  const step = stalls.follow('intake', () => isDue);
  look(stalls, 100);
  step();
  stalls.assertProgress();
  look(stalls, 100);
  isDue = false;
  look(stalls, 1);
  stalls.assertProgress();
});

test('a role without work never stalls, and neither does one whose backlog shrinks slowly', () => {
  const stalls = createStalls();
  stalls.follow('idle', () => false);
  const step = stalls.follow('slow', () => true);
  for (let minute = 0; minute < 60; minute++) {
    look(stalls, 25);
    step();
  }
  stalls.assertProgress();
});
