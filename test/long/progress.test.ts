/**
 * `/readyz` reports a lack of progress. Here the recorder waits for another session's lock while PostgreSQL still
 * answers, so a trivial query would succeed. A hanging endpoint with a backlog is not reported.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { readinessOf } from '../support/operator-scene.ts';
import { openPriceStory, STORY_SETTINGS } from '../support/price-story.ts';
import { lastFirst, startTestServers } from '../support/servers.ts';
import { RECOVERY_MAX_MS, until, untilIs } from '../support/until.ts';

const NOTICED_MAX_MS = 60_000;
/** Well beyond the 30 s after which a lack of progress is reported. */
const BACKLOG_MS = 45_000;

test('readiness fails if a role with work makes no progress, and a hanging endpoint counts as progress', async (t) => {
  const cleanup = lastFirst(t);
  const servers = await startTestServers(cleanup);
  const daemon = await startDaemon(cleanup, servers, STORY_SETTINGS);
  const story = await openPriceStory(cleanup, [servers.nats.url]);
  await story.begin(daemon, await createApiKey(servers));
  await story.tell(1);

  const holder = await connectDatabase(cleanup, servers.postgres.url).connect();
  await holder.query('begin');
  await holder.query('lock table properties in access exclusive mode');
  await story.publishRound();
  const stalled = await until(
    () => readinessOf(daemon),
    ({ status }) => status !== 200,
    NOTICED_MAX_MS,
  );
  assert.equal(stalled.checks['postgresql']?.status, 'ok', 'PostgreSQL itself answers');
  assert.match(stalled.checks['progress']?.reason ?? '', /no progress: intake for 3\d s/);
  await holder.query('rollback');
  holder.release();
  await untilIs(async () => (await readinessOf(daemon)).status, 200, RECOVERY_MAX_MS);
  await story.untilTold();

  // Each attempt hangs for its 20 s, two at a time, in front of a backlog.
  story.receiver.script('/events', { type: 'hang' });
  const { length } = story.receiver.posts;
  await story.publishRound();
  await story.receiver.until((posts) => posts.length >= length + 2, RECOVERY_MAX_MS);
  const deadline = performance.now() + BACKLOG_MS;
  await until(
    async () => {
      const { status, text } = await readinessOf(daemon);
      assert.equal(status, 200, text);
      return performance.now();
    },
    (now) => now > deadline,
    2 * BACKLOG_MS,
  );
  assert.equal(await daemon.end('SIGTERM'), 0);
});
