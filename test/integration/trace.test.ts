/** One advert's trace and log lines, from the message of its crawler to the request at the client's endpoint. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startScene } from '../support/operator-scene.ts';
import { until } from '../support/until.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`;
/** Entries of two vendors, with characters that are special in PostgreSQL's array syntax. */
const TRACESTATE = 'agency=t61rcWkgMzE,rojo="{null}';

test('the trace of a crawler is sent to the endpoint, on the first attempt and on a retry', async (t) => {
  const scene = await startScene(t, { VIGIE_RETRY_DELAY_MS: '100', VIGIE_LOG_LEVEL: 'debug' });
  const { daemon, receiver, search } = scene;
  receiver.script('/hook', { type: 'answer', status: 500, body: 'their secret' }, { type: 'answer', status: 200 });
  await scene.publishAdverts(1, { traceparent: TRACEPARENT, tracestate: TRACESTATE });
  await receiver.until((posts) => posts.length === 2);
  for (const { headers } of receiver.posts) {
    assert.equal(headers.traceparent, TRACEPARENT);
    assert.equal(headers.tracestate, TRACESTATE);
  }

  const attempts = await until(
    async () => daemon.log.filter(({ message }) => message === 'attempt'),
    (lines) => lines.length === 2,
  );
  assert.deepEqual(
    attempts.map(({ delivery, attempt, state, statusCode, traceId }) => [
      delivery,
      attempt,
      state,
      statusCode,
      traceId,
    ]),
    [
      [receiver.posts[0]?.id, 1, 'retry_wait', 500, TRACE],
      [receiver.posts[0]?.id, 2, 'delivered', 200, TRACE],
    ],
  );
  const log = JSON.stringify(daemon.log);
  assert.ok(!log.includes(search.token), 'the signing secret is not logged');
  assert.ok(!log.includes(scene.key), 'the API key is not logged');
  assert.ok(!log.includes('their secret'), 'the body of an answer is not logged');

  await scene.publishAdverts(1);
  await receiver.until((posts) => posts.length === 3);
  assert.equal(receiver.posts[2]?.headers.traceparent, undefined, 'no trace is invented');
  assert.equal(receiver.posts[2]?.headers.tracestate, undefined);
});

test('at level info the log reports when an endpoint begins to fail and when it answers again, without a line per attempt', async (t) => {
  const { daemon, receiver, publishAdverts } = await startScene(t);
  const failing = { type: 'answer', status: 500 } as const;
  receiver.script('/hook', failing, failing, failing, { type: 'answer', status: 200 });
  const linesOf = (message: string) => daemon.log.filter((line) => line.message === message);
  const untilLogged = (message: string) =>
    until(
      async () => linesOf(message).length,
      (count) => count > 0,
    );
  await publishAdverts(3);
  await receiver.until((posts) => posts.length === 3);
  await untilLogged('An endpoint fails.');
  await publishAdverts(1);
  await untilLogged('An endpoint answers again.');
  const counts = ['An endpoint fails.', 'An endpoint answers again.', 'attempt'].map(
    (message) => linesOf(message).length,
  );
  assert.deepEqual(counts, [1, 1, 0]);
});
