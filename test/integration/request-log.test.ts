/** The log has one line of each request that was answered. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { startTestServers } from '../support/servers.ts';

test('a daemon that is told to end has logged every request it answered, once', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startDaemon(t, servers, { VIGIE_LOG_LEVEL: 'debug' });
  const key = await createApiKey(servers);
  const closed = once(daemon.process, 'close');
  const ids = Array.from({ length: 200 }, (_, i) => `request-${i}`);
  const answers = await Promise.all(
    ids.map(async (id) => {
      const headers = { 'X-API-KEY': key, 'X-Request-Id': id };
      const answer = await fetch(`${daemon.apiUrl}/indicators/points_of_interest?lat=43&lon=5`, { headers });
      await answer.arrayBuffer();
      return answer.status;
    }),
  );
  assert.ok(answers.every((status) => status === 200));
  assert.equal(await daemon.end('SIGTERM'), 0);
  await closed;
  const logged = daemon.log.filter(({ message }) => message === 'request').map(({ requestId }) => requestId);
  assert.deepEqual(logged.toSorted(), ids.toSorted());
  assert.equal(daemon.log.at(-1)?.message, 'stopped');
});
