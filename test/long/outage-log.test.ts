/** An outage of a server causes few log lines, although the work of the service fails many times. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RunningService, runVigie } from '../support/daemon.ts';
import { tuplesOf } from '../support/lists.ts';
import { metricOf } from '../support/operator-scene.ts';
import { startTestServers } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { until, untilIs } from '../support/until.ts';

const FAILURES = 6;

const readiness =
  ({ operationsUrl }: RunningService) =>
  async () =>
    (await fetch(`${operationsUrl}/readyz`)).status;

test('a PostgreSQL outage causes one log line per kind of work, not per attempt, and a NATS outage causes a single line', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startHere(t, servers);
  const since = async (outage: () => Promise<void>) => {
    const { length } = daemon.log;
    await outage();
    await untilIs(readiness(daemon), 200);
    return daemon.log.slice(length).filter(({ level }) => Number(level) >= 40);
  };

  const failed = await metricOf(daemon, 'vigie_actor_failures_total');
  const withoutPostgres = await since(async () => {
    await servers.postgres.kill();
    await until(
      () => metricOf(daemon, 'vigie_actor_failures_total'),
      (count) => count >= failed + FAILURES,
    );
    await servers.postgres.restart();
  });
  const works = withoutPostgres
    .filter(({ message }) => message === 'A transient error occurred.' || message === 'An actor failed.')
    .map(({ what, actor, reason }) => JSON.stringify([what, actor, reason]));
  assert.ok(works.length > 0);
  assert.deepEqual(works, [...new Set(works)]);

  const withoutNats = await since(async () => {
    await servers.nats.kill();
    await untilIs(readiness(daemon), 503);
    const { code, stdout } = await runVigie(['admin', 'status', '--address', daemon.adminAddress], servers);
    assert.equal(code, 0, 'an operator still gets the status');
    assert.match(stdout, /NATS cannot be reached/);
    await servers.nats.restart();
  });
  assert.deepEqual(tuplesOf(withoutNats, 'message', 'status'), [
    ['The connection to NATS does not work.', 'disconnected'],
  ]);
  assert.ok(daemon.log.some(({ status }) => status === 'reconnected'));
});

test('a frozen NATS server causes one log line, for all kinds of work', async (t) => {
  const servers = await startTestServers(t);
  const daemon = await startHere(t, servers);
  const lineCount = daemon.log.length;
  const told = () => daemon.log.slice(lineCount).filter(({ level }) => Number(level) >= 40);
  const pid = Number(servers.nats.pid);
  process.kill(pid, 'SIGSTOP');
  try {
    await untilIs(readiness(daemon), 503);
    await until(
      async () => told().length,
      (count) => count > 0,
    );
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await untilIs(readiness(daemon), 200);
  assert.equal(told().length, 1, JSON.stringify(told()));
});
