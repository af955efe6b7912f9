/** The npm scripts `start` and `demo`: no process outlives them, and the demonstration works. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { openPage } from '../support/browser.ts';
import { ROOT } from '../support/checkout.ts';
import { polirisFile } from '../support/poliris.ts';
import { emptyDirectory, startTestServers } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

/** Marks the processes of one test, whatever their parents are. */
const MARK = 'MARK_OF_THE_TEST';

for (const script of ['start', 'demo']) {
  test(`SIGTERM to npm run ${script} ends all started processes in order`, async (t) => {
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
    await untilIs(async () => (await processesOf(mark)).length, 0);
    if (script === 'start')
      assert.ok(
        lines.some((line) => /"message":"stopped"/.test(line)),
        lines.at(-1),
      );
    assert.deepEqual({ code, signal }, { code: 0, signal: null });
  });
}

test('the demonstration ends after the given seconds', async (t) => {
  const mark = `/tmp/vigie-mark-${process.pid}-seconds`;
  // The demonstration prints the service's log for people as well, not as JSON.
  const { npm, lines } = await startScript(t, 'demo', mark, ['--seconds', '8'], { VIGIE_LOG_LEVEL: 'info' });
  const [code] = (await once(npm, 'close')) as [number | null];
  const shown = lines.join('\n');
  assert.equal(code, 0, shown);
  assert.match(shown, /INFO: This instance leads intake/);
  assert.doesNotMatch(shown, /^\s*\{|\b0 %/m);
  assert.match(shown, /operators +VIGIE_DATA_DIR=\S* npm run -s vigie -- admin status --address \S+$/m);
  const last =
    /adverts and changes in; \d+ matches.*\n\nNext[^\n]*\n((?: {2}npm run -s vigie -- \w.* {3}\w.*\n?){3})$/.exec(
      shown,
    );
  assert.ok(last, shown.slice(-1_000));
  assert.deepEqual(await processesOf(mark), []);
});

test('the demonstration shows the adverts of a file', async (t) => {
  const mark = `/tmp/vigie-mark-${process.pid}-feed`;
  const file = join(await emptyDirectory(t), 'Annonces.csv');
  const rows = ['R1', 'R2', 'R3'].map((reference) => ({
    ...{ 1: 'agence', 2: reference, 3: 'Vente', 4: 'Appartement', 5: '83700', 6: 'Saint-Raphaël' },
    ...{ 11: '250000', 16: '60', 18: '3', 20: `Trois pièces ${reference}` },
  }));
  await writeFile(file, polirisFile(rows));
  const { npm, lines } = await startScript(t, 'demo', mark, ['--seconds', '8', '--feed', file, '--format', 'poliris']);
  assert.deepEqual(await once(npm, 'exit'), [0, null], lines.slice(-20).join('\n'));
  const shown = lines.join('\n');
  assert.match(shown, /feed +3 adverts, 3 new/);
  for (const { 20: title } of rows) assert.match(shown, new RegExp(`match +${title}.*250 000 €.*signature verified`));
  assert.deepEqual(await processesOf(mark), []);
});

test('the console tests the demonstration’s endpoint, which verifies the signature', async (t) => {
  const { lines } = await startScript(t, 'demo', `/tmp/vigie-mark-${process.pid}-console`);
  const page = await openPage(t);
  const seen = await until(
    async () => lines.join('\n'),
    (shown) => /API key/.test(shown) && /→ advert/.test(shown),
  );
  const [, address = ''] = /console +(\S+)/.exec(seen) ?? [];
  await page.do('goto', { url: address });
  await page.do('click', { selector: 'nav a[data-view=endpoints]' });
  const known = `document.querySelector('.wide datalist option')`;
  await page.do('until', { expression: `${known} !== null` });
  const endpoints = await page.do<string[]>('evaluate', {
    expression: `[...document.querySelectorAll('.wide datalist option')].map(({ value }) => value)`,
  });
  for (const endpoint of endpoints) {
    await page.do('fill', { selector: 'input[name=endpoint]', text: endpoint });
    await page.do('click', { selector: 'form .primary' });
    await page.do('until', {
      expression: `/200[^]*signature verified/.test(document.querySelector('.outcome[data-outcome=true]')?.innerText)`,
    });
    await page.do('evaluate', { expression: `document.querySelector('.outcome').remove(); 0` });
  }
  assert.match(lines.join('\n'), /“one of your searches, or a test”, signature verified/);
  assert.doesNotMatch(lines.join('\n'), /✗ refused/);
});

async function startScript(
  t: TestContext,
  script: string,
  mark: string,
  args: readonly string[] = [],
  settings: NodeJS.ProcessEnv = {},
) {
  const servers = await startTestServers(t);
  const npm = spawn('npm', ['run', '-s', script, '--', ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      DATABASE_URL: servers.postgres.url,
      NATS_URL: servers.nats.url,
      VIGIE_API_ADDRESS: '127.0.0.1:0',
      VIGIE_OPERATIONS_ADDRESS: '127.0.0.1:0',
      VIGIE_ADMIN_ADDRESS: '127.0.0.1:0',
      VIGIE_ADMIN_TOKEN: 'token-of-the-tests-0123456789',
      VIGIE_DRAIN_ANNOUNCE_MS: '100',
      [MARK]: mark,
      ...settings,
    },
  });
  t.after(async () => {
    for (const pid of await processesOf(mark)) process.kill(pid, 'SIGKILL');
  });
  const lines: string[] = [];
  for (const input of [npm.stdout, npm.stderr]) createInterface({ input }).on('line', (line) => lines.push(line));
  return { npm, lines };
}

/** Finds orphans too, because a process keeps its environment. */
async function processesOf(mark: string): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  const environments = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')));
  return pids.filter((_, position) => environments[position]?.split('\0').includes(`${MARK}=${mark}`));
}
