/**
 * PostgreSQL on a full disk. A running daemon continues and reports why it is not ready; a daemon that is started
 * during this time waits. Neither loses a change, and both work again once there is space.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, open, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { succeeds } from '../../src/engine/actor/waiting.ts';
import { freePort } from '../../src/local/child-server.ts';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { assertNone } from '../support/lists.ts';
import { readinessOf } from '../support/operator-scene.ts';
import { openPriceStory, STORY_SETTINGS } from '../support/price-story.ts';
import { type Cleanup, lastFirst, startTestNats, startTestPostgres, temporaryDirectory } from '../support/servers.ts';
import { RECOVERY_MAX_MS, until, untilIs } from '../support/until.ts';

const run = promisify(execFile);

const CHUNK = Buffer.alloc(64 * 1_024);
const DISK_BYTES = 512 * 1_024 ** 2;

/** A file system in memory. Only root may mount one. */
interface SmallDisk {
  readonly path: string;
  /** Uses every remaining byte; may be called again for freed space. Resolves with a function that frees the space. */
  fill(): Promise<() => Promise<void>>;
  /** For a cleanup that runs after all users of the disk have ended. */
  unmount(): Promise<void>;
}

/** Null if mounting is not permitted. */
async function mountSmallDisk(cleanup: Cleanup, bytes: number): Promise<SmallDisk | null> {
  const path = await temporaryDirectory('disk');
  if (!(await succeeds(run('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'vigie-test', path])))) {
    cleanup.after(() => rm(path, { recursive: true, force: true }));
    return null;
  }
  // The servers run as another user, which must be able to enter the directory.
  await chmod(path, 0o711);
  return {
    path,
    async fill() {
      const ballast = join(path, 'ballast');
      const file = await open(ballast, 'a');
      try {
        for (;;) await file.write(CHUNK);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        await file.close();
      }
      if ((await statfs(path)).bavail !== 0) throw new Error('the disk is not full');
      return () => rm(ballast);
    },
    async unmount() {
      await run('umount', ['--lazy', path]);
      await rm(path, { recursive: true, force: true });
    },
  };
}

test('a full disk of PostgreSQL is an outage for running and for starting daemons', async (t) => {
  const cleanup = lastFirst(t);
  const disk = await mountSmallDisk(cleanup, DISK_BYTES);
  if (disk === null) return t.skip('only root may mount a file system that can be filled');
  cleanup.after(disk.unmount);
  const postgres = await startTestPostgres(cleanup, { min_wal_size: '32MB', max_wal_size: '64MB' }, disk.path);
  const servers = { postgres, nats: await startTestNats(cleanup) };
  const daemon = await startDaemon(cleanup, servers, STORY_SETTINGS);
  const key = await createApiKey(servers);
  const story = await openPriceStory(cleanup, [servers.nats.url]);
  await story.begin(daemon, key);
  await story.tell(1);
  const post = async (apiUrl: string): Promise<Response | null> => {
    const headers = { 'X-API-KEY': key, 'Content-Type': 'application/json' };
    return fetch(`${apiUrl}/searches`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ title: randomBytes(100).toString('hex') }),
    }).catch(() => null);
  };

  const makeRoom = await disk.fill();
  const statuses = new Set<number>();
  await until(
    async () => {
      await story.publishRound();
      statuses.add((await post(daemon.apiUrl))?.status ?? 0);
      return readinessOf(daemon);
    },
    ({ status, text }) => status === 503 && statuses.has(503) && /PostgreSQL has no room .*No space left/.test(text),
    RECOVERY_MAX_MS,
  );
  // Writes can still succeed while pages have free space. Nevertheless the daemon refuses clients' writes, and answers
  // reads.
  const refused = (await post(daemon.apiUrl)) as Response;
  assert.deepEqual([refused.status, refused.headers.get('Retry-After')], [503, '60']);
  assert.match((await refused.json()).detail, /disk of the service is full/);
  assert.equal((await fetch(`${daemon.apiUrl}/searches`, { headers: { 'X-API-KEY': key } })).status, 200);
  assert.match(
    await (await fetch(`${daemon.operationsUrl}/metrics`)).text(),
    /^vigie_server_full\{server="PostgreSQL"\} 1$/m,
  );
  assertNone([...statuses].filter((status) => ![201, 429, 503].includes(status)));

  // PostgreSQL writes these files again at the next login, and reports XX000 if it cannot.
  const cluster = `/proc/${postgres.pid}/cwd`;
  const directories = (await readdir(join(cluster, 'base'))).map((name) => join('base', name));
  for (const directory of ['global', ...directories])
    await rm(join(cluster, directory, 'pg_internal.init'), { force: true });
  await disk.fill();
  const [api, operations] = [await freePort(), await freePort()];
  const starting = startDaemon(cleanup, servers, {
    ...STORY_SETTINGS,
    VIGIE_API_ADDRESS: `127.0.0.1:${api}`,
    VIGIE_OPERATIONS_ADDRESS: `127.0.0.1:${operations}`,
  });
  const late = await until(
    () => readinessOf({ operationsUrl: `http://127.0.0.1:${operations}` }),
    ({ status, text }) => status === 503 && /PostgreSQL at .*(?:No space left|could not write)/.test(text),
    RECOVERY_MAX_MS,
  );
  t.diagnostic(late.text);
  assert.equal((await post(`http://127.0.0.1:${api}`))?.status, 503);

  await makeRoom();
  await postgres.restart();
  for (const operationsUrl of [daemon.operationsUrl, `http://127.0.0.1:${operations}`]) {
    await untilIs(async () => (await readinessOf({ operationsUrl })).status, 200);
  }
  const started = await starting;
  await story.tell(1);
  await story.audit(postgres.url);
  assertNone(daemon.log.filter(({ isBug }) => isBug === true));
  const told = [daemon, started].map(
    ({ log }) => log.filter((line) => /No space left/.test(JSON.stringify(line))).length,
  );
  t.diagnostic(`lines of the log that name the reason: ${told.join(', ')}`);
  assert.ok(
    told.every((count) => count <= 2),
    'the reason is in the log at most twice, once for each SQLSTATE',
  );
  for (const each of [daemon, started]) assert.equal(await each.end('SIGTERM'), 0);
});
