/** The published example crawlers: their messages are recorded, and before they exit they print refused messages. */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { PRICE_HELD } from '../support/adverts.ts';
import { ROOT } from '../support/checkout.ts';
import { startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { startTestServers } from '../support/servers.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);

const servers = await startTestServers({ after });
await startDaemon({ after }, servers);
const database = connectDatabase({ after }, servers.postgres.url);
const CRAWLERS = join(ROOT, 'src/engine/intake/crawlers');

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vigie-crawler-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

interface Run {
  readonly code: number | null;
  readonly told: string;
}

/** Runs a crawler that reads all `lines` at once, as from a file. */
async function crawl(folder: string, [command, ...args]: Command, lines: readonly string[]): Promise<Run> {
  const crawler = spawn(command, args, { cwd: folder, env: { ...process.env, NATS_URL: servers.nats.url } });
  let told = '';
  crawler.stderr.on('data', (chunk) => {
    told += chunk;
  });
  const exited = once(crawler, 'close') as Promise<[number | null]>;
  crawler.stdin.end(lines.map((line) => `${line}\n`).join(''));
  const [code] = await exited;
  return { code, told };
}

type Command = readonly [string, ...string[]];

async function keepsItsPromises(number: number, folder: string, command: Command): Promise<void> {
  const property = numberedUuid('property', number);
  const advert = numberedUuid('advert', number);
  const crawledAt = '2026-03-10T08:15:00Z';
  const good = upsert({ property, advert, crawledAt, price: 250_000 });
  const priced = (price: number): string => JSON.stringify({ ...good, advert: { ...good.advert, price } });
  const state = async () => {
    const { rows } = await database.query<{ price: number; expired_at: Date | null }>(
      `select ${PRICE_HELD} as price, expired_at from properties where uuid = $1`,
      [property],
    );
    return rows[0];
  };

  // The last message is invalid, and so is another crawler's. Only this crawler's refusal is printed, with its reason.
  const another = connectCrawler({ after }, servers.nats.url);
  const poisoned = crawl(folder, command, [priced(250_000), priced(-1)]);
  await (await another).publish({
    ...good,
    property: { ...good.property, uuid: numberedUuid('property', 99) },
    kind: 'x',
  });
  const { code, told } = await poisoned;
  assert.equal(code, 1, told);
  assert.match(told, /refused: advert\.price: must be 0/);
  assert.equal(told.match(/refused:/g)?.length, 1, told);

  // A correction within a minute and an expiry of the same moment are not duplicates, but a message sent twice is.
  const expired = JSON.stringify({ kind: 'expire', crawledAt, property: { uuid: property }, advert: { uuid: advert } });
  const again = await crawl(folder, command, [priced(250_000), priced(240_000), expired]);
  assert.equal(again.code, 0, again.told);
  assert.equal(again.told.match(/is already in the stream/g)?.length, 1, again.told);
  const stored = await until(state, (seen) => seen?.expired_at !== null);
  assert.equal(stored?.price, 240_000);
}

/** If `prepare` fails, skips the test, with its requirements as the reason. */
async function prepared(t: TestContext, needs: string, prepare: () => Promise<unknown>): Promise<boolean> {
  try {
    await prepare();
    return true;
  } catch (error) {
    t.skip(`needs ${needs}: ${(error as Error).message.split('\n')[0]}`);
    return false;
  }
}

test('messages of the JavaScript crawler are recorded, and the crawler prints refused messages', async (t) => {
  const folder = await folderOf(t);
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await cp(join(CRAWLERS, 'crawler.mjs'), join(folder, 'crawler.mjs'));
  await keepsItsPromises(1, folder, [process.execPath, 'crawler.mjs']);
});

test('messages of the Python crawler are recorded, and the crawler prints refused messages', async (t) => {
  const folder = await folderOf(t);
  await cp(join(CRAWLERS, 'crawler.py'), join(folder, 'crawler.py'));
  const python = join(folder, 'environment/bin/python');
  const isReady = await prepared(t, 'python3 with venv, and nats-py from its registry', async () => {
    await run('python3', ['-m', 'venv', join(folder, 'environment')]);
    await run(python, ['-m', 'pip', 'install', '--quiet', 'nats-py']);
  });
  if (isReady) await keepsItsPromises(2, folder, [python, 'crawler.py']);
});

test('messages of the Go crawler are recorded, and the crawler prints refused messages', async (t) => {
  const folder = await folderOf(t);
  await cp(join(CRAWLERS, 'crawler.go'), join(folder, 'main.go'));
  const isReady = await prepared(t, 'go, and github.com/nats-io/nats.go from its proxy', async () => {
    await run('go', ['mod', 'init', 'crawler'], { cwd: folder });
    await run('go', ['mod', 'tidy'], { cwd: folder });
  });
  if (!isReady) return;
  await run('go', ['build', '-o', 'crawler', '.'], { cwd: folder });
  await keepsItsPromises(3, folder, [join(folder, 'crawler')]);
});

test('the README shows the JavaScript crawler unchanged', async () => {
  const [readme, crawler] = await Promise.all([
    readFile(join(ROOT, 'README.md'), 'utf8'),
    readFile(join(CRAWLERS, 'crawler.mjs'), 'utf8'),
  ]);
  assert.ok(readme.includes(`\`\`\`js\n${crawler}\`\`\``));
});
