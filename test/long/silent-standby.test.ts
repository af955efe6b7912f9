/**
 * A synchronous standby falls silent: every commit waits for it, and clients give up. Nevertheless their requests are
 * executed once, the leader does not change, and each change is notified once.
 */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { queryOnce } from '../support/database.ts';
import { assertNone } from '../support/lists.ts';
import { startPostgresPair } from '../support/postgres-pair.ts';
import { openPriceStory, STORY_SETTINGS } from '../support/price-story.ts';
import { lastFirst, startTestNats } from '../support/servers.ts';
import { RECOVERY_MAX_MS, until, untilIs } from '../support/until.ts';

const SILENT_MS = 45_000;
const CLIENT_PATIENCE_MS = 15_000;

/** The server's process and its children: PostgreSQL has one process for each connection. */
async function processesOf(pid: number): Promise<readonly number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return [pid, ...children.trim().split(' ').map(Number)];
}

test('if a synchronous standby is silent for 45 s, nothing is done twice, and the leader stays', async (t) => {
  const cleanup = lastFirst(t);
  const pair = await startPostgresPair(cleanup);
  const nats = await startTestNats(cleanup);
  const servers = { postgres: pair, nats };
  const daemon = await startDaemon(cleanup, servers, STORY_SETTINGS);
  const key = await createApiKey(servers);
  const story = await openPriceStory(cleanup, [nats.url]);
  await story.begin(daemon, key);
  await story.tell(1);
  const [primary] = pair.urls;
  const term = () => queryOnce(primary, 'select term from intake_leader');
  const before = await term();
  const post = () =>
    fetch(`${daemon.apiUrl}/searches`, {
      method: 'POST',
      headers: { 'X-API-KEY': key, 'Content-Type': 'application/json', 'Idempotency-Key': 'once' },
      body: JSON.stringify({ title: 'asked for while commits wait' }),
      signal: AbortSignal.timeout(CLIENT_PATIENCE_MS),
    });

  const processes = await processesOf(Number(pair.standby.pid));
  for (const pid of processes) process.kill(pid, 'SIGSTOP');
  const silentSince = performance.now();
  try {
    await story.publishRound();
    await assert.rejects(post(), { name: 'TimeoutError' });
    // While the first request waits for its commit, a second one with the same key is refused, or waits as well.
    const meanwhile = await post().then(
      ({ status }) => status,
      ({ name }: Error) => name,
    );
    assert.ok([409, 503, 'TimeoutError'].includes(meanwhile), String(meanwhile));
    await until(
      async () => performance.now() - silentSince,
      (durationMs) => durationMs > SILENT_MS,
      RECOVERY_MAX_MS,
    );
  } finally {
    for (const pid of processes) process.kill(pid, 'SIGCONT');
  }

  const answer = await until(post, ({ status }) => status === 201);
  const { '@id': iri } = (await answer.json()) as { '@id': string };
  const again = (await (await post()).json()) as { '@id': string };
  assert.equal(again['@id'], iri);
  const found = await queryOnce(primary, `select from searches where title like 'asked for%'`);
  assert.equal(found.length, 1);
  await story.tell(1);
  assert.deepEqual(await term(), before, 'the leader is the same');
  await untilIs(async () => (await fetch(`${daemon.operationsUrl}/readyz`)).status, 200, RECOVERY_MAX_MS);
  await story.audit(primary);
  assertNone(daemon.log.filter(({ isBug }) => isBug === true));
  assert.equal(await daemon.end('SIGTERM'), 0);
});
