/** The log: when lines are written, what libraries print, and what an end of the process leaves. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { AttemptError } from '../src/engine/domain/delivery.ts';
import { timeOrderedUuid } from '../src/engine/domain/ids.ts';
import type { SettledAttempt } from '../src/engine/store/attempts.ts';
import { createLog } from '../src/log.ts';
import { createMetrics } from '../src/metrics.ts';
import { createObservers } from '../src/observers.ts';
import { LOADER, moduleUrl } from './support/checkout.ts';
import { valuesOf } from './support/lists.ts';

const LOG = moduleUrl('src/log').href;
const ID = timeOrderedUuid(new Date(0));
const directory = mkdtempSync(join(tmpdir(), 'vigie-log-'));
after(() => rmSync(directory, { recursive: true }));

/** What a process has written that logs two lines and comes to its end in the same tick. */
function messagesOf(ending: string): { readonly messages: string[]; readonly status: number | null } {
  const script = `
    import { adoptConsole, createLog } from ${JSON.stringify(LOG)};
    const log = createLog('info');
    log.info('first');
    log.info('last');
    ${ending}`;
  const { stdout, status } = spawnSync(process.execPath, [...LOADER, '--input-type=module', '-e', script]);
  const lines = stdout.toString().split('\n').filter(Boolean);
  return { messages: lines.map((line) => JSON.parse(line).message), status };
}

describe('the log', () => {
  it('writes the lines of one tick together, when the tick is over', async () => {
    const path = join(directory, 'tick');
    const log = createLog('info', openSync(path, 'w'));
    for (const number of [1, 2, 3]) log.info({ number }, 'fact');
    assert.equal(readFileSync(path, 'utf8'), '');
    await setImmediate();
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const entries = lines.map((line) => JSON.parse(line));
    assert.deepEqual(valuesOf(entries, 'number'), [1, 2, 3]);
    const [{ time, level, message }] = entries;
    assert.deepEqual([new Date(time).toISOString(), level, message], [time, 30, 'fact']);
  });

  it('has one line at info where an endpoint begins to fail, and one where it answers again', async () => {
    const path = join(directory, 'endpoint');
    const log = createLog('info', openSync(path, 'w'));
    const observers = createObservers(createMetrics('1'), log, {
      publish: () => undefined,
      watch: async () => () => undefined,
    });
    const attempt = (error: AttemptError | null): void =>
      observers.onAttempt({
        ...{ id: ID, endpointKey: 'key', attemptCount: 1, traceparent: null, channel: 'match', createdAt: new Date(0) },
        outcome: { startedAt: new Date(0), durationMs: 5, statusCode: null, error, reason: null, responseHead: null },
        after: { state: error === null ? 'delivered' : 'retry_wait', dueAt: null },
      } as unknown as SettledAttempt);
    for (const error of ['connect', 'connect', 'aborted', null, null, 'timeout'] as const) attempt(error);
    await setImmediate();
    const messages = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).message.split(':')[0]);
    assert.deepEqual(messages, ['endpoint fails', 'endpoint answers again', 'endpoint fails']);
  });

  it('takes in what libraries print', () => {
    const { messages } = messagesOf(
      "adoptConsole(log); console.log('reader closed', new Error('parse error')); console.error('%d', 5);",
    );
    assert.match(messages[2] ?? '', /^reader closed Error: parse error\n/);
    assert.deepEqual(messages.slice(3), ['5']);
  });

  it('loses nothing when the process ends by itself, by exit, or by an error that nobody catches', () => {
    assert.deepEqual(messagesOf(''), { messages: ['first', 'last'], status: 0 });
    assert.deepEqual(messagesOf('process.exit(3);'), { messages: ['first', 'last'], status: 3 });
    assert.deepEqual(messagesOf(`throw new Error('a bug');`), { messages: ['first', 'last'], status: 1 });
    assert.deepEqual(messagesOf(`Promise.reject(new Error('a bug'));`), { messages: ['first', 'last'], status: 1 });
  });

  it('writes a fatal line, and all before it, at once; killed without one, it loses the tick and no more', () => {
    const kill = `process.kill(process.pid, 'SIGKILL');`;
    assert.deepEqual(messagesOf(`log.fatal('the end'); ${kill}`).messages, ['first', 'last', 'the end']);
    assert.deepEqual(messagesOf(`setImmediate(() => { log.info('never'); ${kill} });`).messages, ['first', 'last']);
  });
});
