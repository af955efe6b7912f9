/** How long nobody took adverts in is known to everybody, while it lasts and afterwards. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { migrate } from '../../src/store/database.ts';
import { openLeaderSession, readIntakeLead } from '../../src/store/intake-leader.ts';
import { connectDatabase } from '../support/database.ts';
import { startTestServers } from '../support/servers.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

test('the time without a leader is told by whoever looks, and then by the next leader', async (t) => {
  const { postgres } = await startTestServers(t);
  await migrate(postgres.url);
  const database = connectDatabase(t, postgres.url);
  assert.deepEqual(await readIntakeLead(database), { beganAt: null, gapSeconds: 0, leaderlessSeconds: 0 });

  const first = await openLeaderSession(postgres.url);
  assert.equal(await first.stand(), '1');
  await first.showLead();
  const led = await readIntakeLead(database);
  assert.ok(led.beganAt);
  assert.deepEqual([led.gapSeconds, led.leaderlessSeconds], [0, 0], 'nobody led before it');
  await first.close();

  await database.query(`update intake_leads set seen_at = seen_at - interval '40 seconds'`);
  const orphaned = await readIntakeLead(database);
  assert.ok(orphaned.leaderlessSeconds >= 40);
  const second = await openLeaderSession(postgres.url);
  t.after(() => second.close());
  assert.equal(await second.stand(), '2');
  assert.ok((await readIntakeLead(database)).leaderlessSeconds >= 40, 'a term is no work yet');
  await second.showLead();
  const { beganAt, gapSeconds, leaderlessSeconds } = await readIntakeLead(database);
  assert.ok(gapSeconds >= 40);
  assert.equal(leaderlessSeconds, 0);
  assert.ok(beganAt && beganAt > led.beganAt);
});

test('a leader whose PostgreSQL says nothing for a while asks one thing at a time', async (t) => {
  const { postgres } = await startTestServers(t);
  await migrate(postgres.url);
  const proxy = await startTcpProxy(t, Number(new URL(postgres.url).port));
  const url = Object.assign(new URL(postgres.url), { port: String(proxy.port) }).href;
  const warnings: string[] = [];
  const note = ({ name, message }: Error): void => {
    if (name === 'DeprecationWarning') warnings.push(message);
  };
  process.on('warning', note);
  t.after(() => void process.off('warning', note));
  t.mock.timers.enable({ apis: ['setInterval'] });
  const session = await openLeaderSession(url);
  t.after(() => session.close());
  assert.equal(await session.stand(), '1');
  proxy.stall();
  for (let second = 0; second < 5; second++) t.mock.timers.tick(1_000);
  proxy.heal();
  await session.showLead();
  assert.equal(session.isLost, false);
  // Told in a turn of its own.
  await turn();
  assert.deepEqual(warnings, []);
});
