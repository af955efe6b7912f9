/** With few file descriptors, Vigie closes excess connections at once, and the pipeline keeps its own descriptors. */

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { test } from 'node:test';
import { checkDescriptors } from '../../src/cli/doctor/doctor.ts';
import { readConfig } from '../../src/config.ts';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { connectCrawler, numberedFlat } from '../support/intake.ts';
import { everythingTo, restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { untilIs } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const FEW = 256;
const REQUESTS = 400;

/** Resolves with the status, or with the error code. */
function ask(agent: Agent, url: string, key: string): Promise<number | string> {
  return new Promise((resolve) => {
    const asked = request(url, { agent, headers: { 'X-API-KEY': key } }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
    });
    asked.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'error')).end();
  });
}

test('with 256 descriptors none of 400 requests hangs, and adverts are recorded and delivered', async (t) => {
  const servers = await startTestServers(t);
  const receiver = await startWebhookReceiver(t);
  const daemon = await startDaemon(t, servers, {}, { descriptorsMax: FEW });
  const key = await createApiKey(servers);
  await restClient(daemon, key).createSearch(everythingTo(receiver));
  // Connections are kept open after their answers.
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const asking = Promise.all(Array.from({ length: REQUESTS }, () => ask(agent, `${daemon.apiUrl}/searches`, key)));
  const crawler = await connectCrawler(t, servers.nats.url);
  await crawler.publish(numberedFlat(1, 200_000));
  await untilIs(() => receiver.posts.length, 1);
  const answers = await asking;
  assert.ok(answers.includes('ECONNRESET'), 'connections beyond the limit are closed at once');
  assert.ok(answers.some((answer) => typeof answer === 'number'));
  assert.equal((await fetch(`${daemon.operationsUrl}/readyz`)).status, 200);
  const warned = daemon.log.find(({ message }) => String(message).startsWith(`The limit of ${FEW} file descriptors`));
  assert.match(
    String(warned?.message),
    /^The limit of 256 file descriptors \(ulimit -n\) is low. It leaves room for \d+ connections of clients/,
  );
  assert.equal(daemon.log.find(({ message }) => message === 'starting')?.descriptors, FEW);
});

test('the doctor reports the limit, and what to do about a low one', () => {
  const { level, text, remedy } = checkDescriptors(readConfig({}), FEW);
  assert.deepEqual(
    [level, text.startsWith('The limit of 256 file descriptors'), /10000/.test(remedy)],
    ['look at', true, true],
  );
  assert.equal(checkDescriptors(readConfig({}), 10_000).level, 'fine');
});
