/** What follows an attempt (specification, section 6.3; decisions, section 6), and which deliveries share an endpoint. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ATTEMPT_ERRORS,
  ATTEMPTS_MAX,
  type AttemptError,
  type AttemptOutcome,
  afterAttempt,
} from '../src/engine/domain/delivery.ts';

const HOUR_MS = 3_600_000;
const STARTED = new Date('2026-03-10T08:00:00Z');

function outcomeOf(error: AttemptError | null, durationMs = 15_000): AttemptOutcome {
  return { startedAt: STARTED, durationMs, statusCode: null, error, reason: null, responseHead: null };
}

test('a success delivers, on the first attempt as on the last', () => {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    assert.deepEqual(afterAttempt(attempt, outcomeOf(null), HOUR_MS), { state: 'delivered', dueAt: null });
  }
});

test('any failure is retried one hour after the end of the attempt', () => {
  for (const error of ATTEMPT_ERRORS) {
    const after = afterAttempt(1, outcomeOf(error, 15_000), HOUR_MS);
    assert.equal(after.state, 'retry_wait');
    assert.equal(after.dueAt?.toISOString(), '2026-03-10T09:00:15.000Z');
  }
});

test('five retries at most: the sixth failed attempt is the last', () => {
  const states = [1, 2, 3, 4, 5, 6].map((attempt) => afterAttempt(attempt, outcomeOf('status'), HOUR_MS).state);
  assert.deepEqual(states, [...Array(5).fill('retry_wait'), 'failed']);
  assert.equal(afterAttempt(6, outcomeOf('status'), HOUR_MS).dueAt, null);
});
