/**
 * A client with 10,000 searches goes from cell to cell and back while adverts change: the command is killed at each of its
 * steps and repeated or taken back, daemons of either cell are killed beside it. Afterwards the auditor compares what was
 * told with what had to be, over both cells.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type CellName, openTwoCells } from '../support/cells.ts';
import { type Daemon, spawnVigie } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { auditDeliveries } from '../support/delivery-auditor.ts';
import { killAt, STEPS } from '../support/move-gates.ts';
import { keyOf, saveSearches, startMarket } from '../support/moving-client.ts';
import { restClient } from '../support/rest-client.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const SEARCHES = 10_000;
const SETTINGS = { VIGIE_RETRY_DELAY_MS: '2000', VIGIE_ATTEMPT_TIMEOUT_MS: '5000' };

async function openScene(t: TestContext) {
  const cells = await openTwoCells(t);
  const receiver = await startWebhookReceiver(t);
  const daemons: Record<CellName, Daemon> = {
    default: await cells.start('default', SETTINGS),
    west: await cells.start('west', SETTINGS),
  };
  const key = await cells.keyOf('default', 'acme');
  const databases = {
    default: connectDatabase(t, cells.servers.default.postgres.url),
    west: connectDatabase(t, cells.servers.west.postgres.url),
  };
  const searches = await saveSearches(databases.default, SEARCHES, receiver);
  // A few failures, so that there are retries to take along.
  const failure = { type: 'answer', status: 500 } as const;
  receiver.script('/flaky', failure, ...Array.from({ length: 60 }, () => failure), { type: 'answer', status: 200 });
  const movesTo = (to: CellName) => ['cells', 'move', 'acme', '--to', to, '--cells', cells.file];
  return {
    ...{ cells, receiver, daemons, databases, searches, key },
    begin: (to: CellName) => spawnVigie(movesTo(to), cells.servers.default, { settings: cells.settingsOf('default') }),
    /** Until it has arrived: a cell whose daemon has been killed is refused for as long as nobody leads there. */
    bringTo: (to: CellName) =>
      until(
        () => cells.of('default', ...movesTo(to)),
        ({ code }) => code === 0,
      ),
    async takeBack() {
      const { code, stderr } = await cells.cells('move', 'acme', '--back');
      assert.equal(code, 0, stderr);
    },
    async killDaemon(cell: CellName) {
      await daemons[cell].end('SIGKILL');
      daemons[cell] = await cells.start(cell, SETTINGS);
    },
    async assertLivesIn(cell: CellName) {
      const { status } = await restClient(daemons[cell], key).request('GET', '/searches?itemsPerPage=1');
      assert.equal(status, 200, `the client is answered by ${cell}`);
    },
  };
}

test('whatever is killed while a client moves, everything is told once, in its order', async (t) => {
  const scene = await openScene(t);
  const { databases, receiver } = scene;
  const market = await startMarket(t, scene.cells.nats.url, scene.searches);
  await receiver.until((posts) => posts.length > 200);
  let home: CellName = 'default';
  const other = (): CellName => (home === 'default' ? 'west' : 'default');

  for (const step of STEPS) {
    for (const isBack of [true, false]) {
      const isDecided = step === 'left' || step === 'woken';
      if (isBack && isDecided) continue;
      const from: CellName = home;
      const to: CellName = other();
      await killAt(step, databases[from], databases[to], () => scene.begin(to));
      if (isBack) {
        await scene.takeBack();
        await scene.assertLivesIn(from);
      } else {
        await scene.bringTo(to);
        home = to;
        await scene.assertLivesIn(to);
      }
      const seen = receiver.posts.length;
      await receiver.until((posts) => posts.length > seen + 20);
      t.diagnostic(`killed when ${step}, ${isBack ? 'taken back' : 'brought to its end'}: ${seen} posts`);
    }
  }
  for (const killed of ['default', 'west'] as const) {
    const to: CellName = other();
    const command = scene.begin(to);
    const database = databases[home];
    await until(
      () => database.query('select from clients where moving_until > clock_timestamp()'),
      ({ rowCount }) => rowCount === 1 || command.exitCode !== null,
    );
    await scene.killDaemon(killed);
    await scene.bringTo(to);
    home = to;
    await scene.assertLivesIn(to);
    t.diagnostic(`killed the daemon of ${killed}`);
  }
  for (const to of [other(), home]) {
    const startedAt = performance.now();
    await scene.bringTo(to);
    home = to;
    t.diagnostic(`moved in ${Math.round(performance.now() - startedAt)} ms`);
  }

  const expected = await market.stop();
  await until(
    () =>
      databases[home].query<{ count: number; open: number }>(
        `select count(*)::integer as count, (count(*) filter (where finished_at is null))::integer as open from delivery_states`,
      ),
    ({ rows }) => rows[0]?.count === expected.length && rows[0]?.open === 0,
  );
  const audit = { database: databases[home], posts: receiver.posts, retryDelayMs: 2_000, expected, keyOf };
  assert.deepEqual(await auditDeliveries(audit), []);
  t.diagnostic(`${market.published} changes, ${expected.length} deliveries, ${receiver.posts.length} posts`);
  const { rowCount } = await databases[other()].query('select from delivery_states');
  assert.equal(rowCount, 0, 'nothing stays where the client has left');
});
