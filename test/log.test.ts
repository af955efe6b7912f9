/** The log: when lines are written, how output of libraries is included, and what is written when the process ends. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createLog } from '../src/log.ts';
import { LOADER, moduleUrl } from './support/checkout.ts';
import { valuesOf } from './support/lists.ts';

const LOG = moduleUrl('src/log').href;
const directory = mkdtempSync(join(tmpdir(), 'vigie-log-'));
after(() => rmSync(directory, { recursive: true }));

/** Messages of a process that logs two lines and ends in the same tick. */
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

  it('includes the output of libraries', () => {
    const { messages } = messagesOf(
      "adoptConsole(log); console.log('reader closed', new Error('parse error')); console.error('%d', 5);",
    );
    assert.match(messages[2] ?? '', /^reader closed Error: parse error\n/);
    assert.deepEqual(messages.slice(3), ['5']);
  });

  it('loses nothing when the process ends normally, by exit, or by an uncaught error', () => {
    assert.deepEqual(messagesOf(''), { messages: ['first', 'last'], status: 0 });
    assert.deepEqual(messagesOf('process.exit(3);'), { messages: ['first', 'last'], status: 3 });
    assert.deepEqual(messagesOf(`throw new Error('a bug');`), { messages: ['first', 'last'], status: 1 });
    assert.deepEqual(messagesOf(`Promise.reject(new Error('a bug'));`), { messages: ['first', 'last'], status: 1 });
  });

  it('writes a fatal line, and all lines before it, immediately; a killed process without one loses at most a tick', () => {
    const kill = `process.kill(process.pid, 'SIGKILL');`;
    assert.deepEqual(messagesOf(`log.fatal('the end'); ${kill}`).messages, ['first', 'last', 'the end']);
    assert.deepEqual(messagesOf(`setImmediate(() => { log.info('never'); ${kill} });`).messages, ['first', 'last']);
  });
});
