/** The crawlers of the README, as they stand there: what they publish is recorded, what is refused they print. */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { numberedUuid, upsert } from '../support/intake.ts';
import { startTestServers } from '../support/servers.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const servers = await startTestServers({ after });
await startDaemon({ after }, servers);
const database = connectDatabase({ after }, servers.postgres.url);
const readme = await readFile(join(ROOT, 'README.md'), 'utf8');

function snippet(language: string): string {
  const section = readme.split('## A crawler in ten lines')[1]?.split('\n## ')[0] ?? '';
  const code = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(section)?.[1];
  assert.ok(code, language);
  return code;
}

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vigie-crawler-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** One good advert and one that is refused; the input stays open until both are seen. */
async function crawl(number: number, folder: string, command: string, args: readonly string[]): Promise<void> {
  const property = numberedUuid('property', number);
  const good = upsert({
    property,
    advert: numberedUuid('advert', number),
    crawledAt: '2026-03-10T08:15:00Z',
    price: 1,
  });
  const wrong = { ...good, crawledAt: '2026-03-10T08:16:00Z', advert: { ...good.advert, price: -1 } };
  const crawler = spawn(command, args, { cwd: folder, env: { ...process.env, NATS_URL: servers.nats.url } });
  let told = '';
  crawler.stderr.on('data', (chunk) => {
    told += chunk;
  });
  const exited = once(crawler, 'exit') as Promise<[number | null]>;
  crawler.stdin.write(`${JSON.stringify(good)}\n${JSON.stringify(wrong)}\n`);
  await until(
    async () => {
      assert.equal(crawler.exitCode, null, told);
      return (await database.query('select 1 from properties where uuid = $1', [property])).rowCount;
    },
    (count) => count === 1 && /advert\.price: must be 0/.test(told),
  );
  crawler.stdin.end();
  assert.equal((await exited)[0], 0, told);
}

/** Skips the test with a word about what it needs. */
async function prepared(t: TestContext, needs: string, prepare: () => Promise<unknown>): Promise<boolean> {
  try {
    await prepare();
    return true;
  } catch (error) {
    t.skip(`needs ${needs}: ${(error as Error).message.split('\n')[0]}`);
    return false;
  }
}

test('in TypeScript', async (t) => {
  const folder = await folderOf(t);
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'crawler.mts'), snippet('ts'));
  await crawl(1, folder, process.execPath, ['--import', 'tsx', 'crawler.mts']);
});

test('in Python', async (t) => {
  const folder = await folderOf(t);
  await writeFile(join(folder, 'crawler.py'), snippet('python'));
  const python = join(folder, 'environment/bin/python');
  const isReady = await prepared(t, 'python3 with venv, and nats-py from its registry', async () => {
    await run('python3', ['-m', 'venv', join(folder, 'environment')]);
    await run(python, ['-m', 'pip', 'install', '--quiet', 'nats-py']);
  });
  if (isReady) await crawl(2, folder, python, ['crawler.py']);
});

test('in Go', async (t) => {
  const folder = await folderOf(t);
  await writeFile(join(folder, 'main.go'), snippet('go'));
  const isReady = await prepared(t, 'go, and github.com/nats-io/nats.go from its proxy', async () => {
    await run('go', ['mod', 'init', 'crawler'], { cwd: folder });
    await run('go', ['mod', 'tidy'], { cwd: folder });
  });
  if (!isReady) return;
  await run('go', ['build', '-o', 'crawler', '.'], { cwd: folder });
  await crawl(3, folder, join(folder, 'crawler'), []);
});
