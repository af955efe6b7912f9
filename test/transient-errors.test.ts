/** A transient error is logged once when it begins and once when it is over, however often it occurs. */

import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { pino } from 'pino';
import { createTransientErrors, type TransientErrors } from '../src/roles/transient-errors.ts';

const QUIET_MS = 30_000;
let lines: Record<string, unknown>[];
let transientErrors: TransientErrors;

beforeEach(() => {
  mock.timers.enable({ apis: ['setTimeout'] });
  lines = [];
  transientErrors = createTransientErrors(pino({ base: null }, { write: (line) => lines.push(JSON.parse(line)) }));
});
afterEach(() => mock.timers.reset());

const messages = () => lines.map(({ msg }) => msg);
const OCCURRED = 'A transient error occurred.';
const ENDED = 'A transient error has ended.';

/** A failure of the recorder, which tries again. */
function failed(error: Error): void {
  transientErrors.onFailure({ actor: 'recorder', error, isBug: false, isFinal: false, retryInMs: 100 });
}

test('sixteen pulls without their consumers are one transient error', () => {
  for (let partition = 0; partition < 16; partition++) {
    transientErrors.onTransientError('pull', new Error(`consumer courier-${partition}: 503 no responders`));
  }
  assert.deepEqual(messages(), [OCCURRED]);
  assert.equal(lines[0]?.what, 'pull');
  assert.match(JSON.stringify(lines[0]?.err), /courier-0: 503 no responders/);
});

test('a transient error is over when it has not recurred for half a minute, and the line states its count', () => {
  const recur = () => transientErrors.onTransientError('sweep', new Error('connect ECONNREFUSED 127.0.0.1:5432'));
  recur();
  for (let times = 0; times < 10; times++) {
    mock.timers.tick(QUIET_MS - 1);
    recur();
  }
  assert.deepEqual(messages(), [OCCURRED]);
  mock.timers.tick(QUIET_MS);
  assert.deepEqual(messages(), [OCCURRED, ENDED]);
  assert.equal(lines[1]?.count, 11);
  assert.equal(lines[1]?.reason, 'connect ECONNREFUSED 127.0.0.1:5432');
  recur();
  assert.deepEqual(messages(), [OCCURRED, ENDED, OCCURRED], 'the next one is logged again');
});

test('other work and other causes are other transient errors', () => {
  transientErrors.onTransientError('sweep', new Error('away'));
  transientErrors.onTransientError('pull', new Error('away'));
  transientErrors.onTransientError('pull', new Error('refused'));
  for (let times = 0; times < 2; times++) failed(new Error('away'));
  assert.deepEqual(messages(), [OCCURRED, OCCURRED, OCCURRED, 'An actor failed.']);
});

test('an outage is logged with its causes and no stack, and a possible bug with its stack', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' });
  const outage = Object.assign(new Error('no connection', { cause }), { code: 'ECONNREFUSED' });
  transientErrors.onTransientError('sweep', outage);
  failed(cause);
  transientErrors.onTransientError('sweep', new TypeError('undefined is not a function'));
  const [first, second, third] = lines;
  assert.equal(first?.reason, 'no connection: connect ECONNREFUSED 127.0.0.1:5432');
  assert.equal(second?.reason, 'connect ECONNREFUSED 127.0.0.1:5432');
  assert.deepEqual([first?.code, first?.err, second?.err], ['ECONNREFUSED', undefined, undefined]);
  assert.match(JSON.stringify(third?.err), /stack.*transient-errors\.test/);
});

test('the failure that ends an actor is always logged', () => {
  for (const isFinal of [false, true]) {
    const retryInMs = isFinal ? null : 100;
    transientErrors.onFailure({ actor: 'matcher', error: new Error('bug'), isBug: true, isFinal, retryInMs });
  }
  assert.deepEqual(messages(), ['An actor failed.', 'An actor crashed.']);
});

test('a full PostgreSQL is logged in one line, for all work and all files that it names', () => {
  const full = (file: string) =>
    Object.assign(new Error(`could not extend file "${file}": No space left on device`), { code: '53100' });
  transientErrors.onTransientError('request', full('base/5/16400'));
  failed(full('base/5/2619_fsm'));
  assert.deepEqual(messages(), [OCCURRED]);
  const refused = Object.assign(new Error('could not write init file'), { code: 'XX000', severity: 'FATAL' });
  transientErrors.onTransientError('sweep', refused);
  transientErrors.onTransientError('request', refused);
  assert.deepEqual(messages(), [OCCURRED, OCCURRED]);
  const bug = Object.assign(new Error('cache lookup failed'), { code: 'XX000', severity: 'ERROR' });
  transientErrors.onTransientError('sweep', bug);
  transientErrors.onTransientError('request', bug);
  assert.deepEqual(messages(), Array(4).fill(OCCURRED), 'a bug is logged for each work that fails');
});
