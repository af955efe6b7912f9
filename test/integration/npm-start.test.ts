/** SIGTERM reaches the daemon through npm as it does directly, and leaves no process behind. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startTestServers } from '../support/servers.ts';
import { until } from '../support/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Names the processes of one test, whoever their parents are. */
const MARK = 'VIGIE_CACHE_DIR';

for (const script of ['start', 'demo']) {
  test(`SIGTERM to npm run ${script} ends what it started in order, and all of it`, async (t) => {
    const mark = `/tmp/vigie-mark-${process.pid}-${script}`;
    const { npm, lines } = await startScript(t, script, mark);
    const isUp = script === 'start' ? /"message":"ready"/ : /API key/;
    await until(
      async () => [...lines],
      (seen) => seen.some((line) => isUp.test(line)),
    );
    assert.ok((await processesOf(mark)).length > 1, 'npm and the daemon run');
    npm.kill('SIGTERM');
    const [code, signal] = (await once(npm, 'exit')) as [number | null, NodeJS.Signals | null];
    await until(
      () => processesOf(mark),
      (left) => left.length === 0,
    );
    if (script === 'start')
      assert.ok(
        lines.some((line) => /"message":"stopped"/.test(line)),
        lines.at(-1),
      );
    assert.deepEqual({ code, signal }, { code: 0, signal: null });
  });
}

test('the demonstration ends by itself after its seconds', async (t) => {
  const mark = `/tmp/vigie-mark-${process.pid}-seconds`;
  const { npm, lines } = await startScript(t, 'demo', mark, ['--seconds', '8']);
  const [code] = (await once(npm, 'exit')) as [number | null];
  assert.equal(code, 0, lines.slice(-20).join('\n'));
  assert.match(lines.join('\n'), /adverts and changes in/);
  assert.deepEqual(await processesOf(mark), []);
});

async function startScript(t: TestContext, script: string, mark: string, args: readonly string[] = []) {
  const servers = await startTestServers(t);
  const npm = spawn('npm', ['run', '-s', script, '--', ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      DATABASE_URL: servers.postgres.url,
      NATS_URL: servers.nats.url,
      VIGIE_API_PORT: '0',
      VIGIE_OPERATIONS_PORT: '0',
      VIGIE_ADMIN_PORT: '0',
      VIGIE_ADMIN_TOKEN: 'token-of-the-tests-0123456789',
      VIGIE_DRAIN_ANNOUNCE_MS: '100',
      [MARK]: mark,
    },
  });
  t.after(async () => {
    for (const pid of await processesOf(mark)) process.kill(pid, 'SIGKILL');
  });
  const lines: string[] = [];
  createInterface({ input: npm.stdout }).on('line', (line) => lines.push(line));
  return { npm, lines };
}

/** Also of orphans: the environment stays with a process. */
async function processesOf(mark: string): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  const environments = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')));
  return pids.filter((_, position) => environments[position]?.split('\0').includes(`${MARK}=${mark}`));
}
