/**
 * A rolling upgrade and downgrade. This version and an invented next version take in, match and deliver together.
 * Meanwhile adverts arrive, an endpoint fails and an operator has paused another endpoint. Whichever version leads,
 * nothing is lost, notified twice or sent too early.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { loadReference } from '../../src/engine/reference/communes.ts';
import { countOpen } from '../support/courier.ts';
import { type Daemon, runVigie, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { auditDeliveries } from '../support/delivery-auditor.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { nextVersion } from '../support/next-version.ts';
import { metricOf } from '../support/operator-scene.ts';
import { auditRecords, deliveryKeyOf, type OracleSearch, replay, untilRecorded } from '../support/replay-oracle.ts';
import { restClient } from '../support/rest-client.ts';
import { lastFirst, startTestServers } from '../support/servers.ts';
import { RECOVERY_MAX_MS, untilIs } from '../support/until.ts';
import { type Behaviour, startWebhookReceiver } from '../support/webhook-receiver.ts';

const PROPERTIES = 30;
const RETRY_DELAY_MS = 1_000;
/** No attempt may exceed its time limit on a busy machine: it would rightly be repeated. */
const SETTINGS = {
  VIGIE_RETRY_DELAY_MS: String(RETRY_DELAY_MS),
  VIGIE_ATTEMPT_TIMEOUT_MS: '60000',
  VIGIE_CONNECT_TIMEOUT_MS: '60000',
};
const FINE: Behaviour = { type: 'answer', status: 200 };
const FLAKY = Array.from(
  { length: 4_000 },
  (_, number): Behaviour => (number % 5 === 3 ? { ...FINE, status: 500 } : FINE),
);
/** The price of later properties, which match searches saved during the upgrade. */
const DEAR = 300_000;

async function openScene(t: TestContext, nextRoot: string) {
  const cleanup = lastFirst(t);
  const servers = await startTestServers(cleanup);
  const receiver = await startWebhookReceiver(cleanup);
  receiver.script('/flaky', FINE, ...FLAKY);
  const database = connectDatabase(cleanup, servers.postgres.url);
  const crawler = await connectCrawler(cleanup, servers.nats.url);
  const messages: ReturnType<typeof upsert>[] = [];
  const searches: OracleSearch[] = [];
  let round = 0;

  async function save(daemon: Daemon, key: string, own: Partial<OracleSearch['members']>): Promise<void> {
    const members = { notificationEnabled: true, withCoherentPrice: null, ...own } as const;
    const { id } = await restClient(daemon, key).createSearch({ title: `search ${searches.length}`, ...members });
    searches.push({ id, members });
  }

  /** Every property changes its price; with `isDear`, the later properties do too. */
  async function publishRound(isDear: boolean): Promise<void> {
    const crawledAt = new Date(Date.UTC(2026, 2, 10, 8, 0, round)).toISOString();
    const batch = Array.from({ length: isDear ? 2 * PROPERTIES : PROPERTIES }, (_, number) => {
      const price = (number < PROPERTIES ? 100_000 : DEAR) + round;
      const [property, advert] = [numberedUuid('property', number), numberedUuid('advert', number)];
      return upsert({ property, advert, crawledAt, price });
    });
    await crawler.publish(...batch);
    messages.push(...batch);
    round += 1;
  }

  return {
    ...{ servers, receiver, database, messages, searches, save, publishRound },
    startPresent: () => startDaemon(cleanup, servers, SETTINGS),
    startNext: () => startDaemon(cleanup, servers, SETTINGS, { root: nextRoot }),
  };
}

type Scene = Awaited<ReturnType<typeof openScene>>;

test('this version and the next run together, in both directions, and nothing is lost or repeated', async (t) => {
  const scene = await openScene(t, await nextVersion(t));
  const { receiver, save, startPresent, startNext } = scene;
  const present = [await startPresent(), await startPresent()] as const;
  const key = await createKeyOf(scene);
  const events = { eventEndpoint: receiver.urlOf('/flaky'), subscribedEvents: ['ad.update.price' as const] };
  await save(present[0], key, { endpointRecipient: receiver.urlOf('/matches'), ...events });
  await save(present[0], key, { endpointRecipient: receiver.urlOf('/paused') });
  await untilKnown(present, 2);
  const load = startLoad(scene);
  await untilPosts(scene, 3 * PROPERTIES);
  const paused = receiver.urlOf('/paused');
  await untilListed(scene, paused);
  await operator(scene, ['endpoints', 'pause', paused, '--reason', 'upgrade'], present[0]);

  const first = await startNext();
  await save(first, key, { budgetMin: DEAR, endpointRecipient: receiver.urlOf('/saved-on-next'), ...events });
  await save(present[1], key, { budgetMin: DEAR, endpointRecipient: receiver.urlOf('/saved-on-present'), ...events });
  await untilKnown([...present, first], 4);
  load.addDear();
  await untilPosts(scene, 6 * PROPERTIES);
  await endAll(scene, present);
  const second = await startNext();
  await untilPosts(scene, 6 * PROPERTIES);

  const again = await startPresent();
  await endAll(scene, [first, second]);
  await untilPosts(scene, 6 * PROPERTIES);
  const last = await startNext();
  await endAll(scene, [again]);
  await untilPosts(scene, 6 * PROPERTIES);
  assert.equal(await countSincePause(scene, paused), 0, 'nothing was sent to the paused endpoint');
  await operator(scene, ['endpoints', 'resume', paused], last);
  await load.stop();
  await audit(t, scene);
  assert.equal(await last.end('SIGTERM'), 0);
});

function startLoad({ publishRound, receiver }: Scene) {
  let [isRunning, isDear] = [true, false];
  const running = (async () => {
    while (isRunning) {
      const received = receiver.posts.length;
      await publishRound(isDear);
      await receiver.until((posts) => !isRunning || posts.length >= received + PROPERTIES / 2, RECOVERY_MAX_MS);
    }
  })();
  return {
    addDear: () => void (isDear = true),
    async stop() {
      isRunning = false;
      await running;
    },
  };
}

async function untilPosts({ receiver }: Scene, more: number): Promise<void> {
  const received = receiver.posts.length;
  await receiver.until((posts) => posts.length >= received + more, RECOVERY_MAX_MS);
}

async function untilKnown(daemons: readonly Daemon[], searches: number): Promise<void> {
  for (const daemon of daemons) await untilIs(() => metricOf(daemon, 'vigie_searches'), searches);
}

async function endAll(scene: Scene, daemons: readonly Daemon[]): Promise<void> {
  for (const daemon of daemons) {
    assert.equal(await daemon.end('SIGTERM'), 0);
    await untilPosts(scene, PROPERTIES);
  }
}

async function createKeyOf({ servers }: Scene): Promise<string> {
  const { code, stdout, stderr } = await runVigie(['keys', 'create', '--client', 'tests'], servers);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

async function operator({ servers }: Scene, args: readonly string[], on: Daemon): Promise<void> {
  const { code, stderr } = await runVigie(['admin', ...args, '--address', on.adminAddress], servers);
  assert.equal(code, 0, stderr);
}

/** Couriers record once a second which endpoints they have used. */
async function untilListed({ database }: Scene, url: string): Promise<void> {
  await untilIs(async () => (await database.query('select from endpoints where url = $1', [url])).rowCount, 1);
}

/** The number of attempts at an endpoint since an operator paused it for all clients. */
async function countSincePause({ database }: Scene, url: string): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select count(*)::integer as count from endpoints paused
     join deliveries on deliveries.endpoint = paused.url join attempts on delivery_id = deliveries.id
     where paused.url = $1 and started_at > paused_at`,
    [url],
  );
  return (rows[0] as { count: number }).count;
}

async function audit(t: TestContext, { database, receiver, messages, searches }: Scene): Promise<void> {
  const { resolvePlace } = await loadReference();
  const expected = replay(messages, searches, resolvePlace);
  await untilRecorded(database, expected);
  await untilIs(() => countOpen(database), 0, RECOVERY_MAX_MS);
  const { posts } = receiver;
  const audited = { database, posts, retryDelayMs: RETRY_DELAY_MS, order: {} };
  assert.deepEqual(await auditDeliveries({ ...audited, expected: expected.deliveries, keyOf: deliveryKeyOf }), []);
  assert.deepEqual(await auditRecords(database, expected), []);
  const delivered = posts.filter(({ status }) => status === 200).map(({ id }) => id);
  const { rows } = await database.query<{ error: string; count: number }>(
    "select error, count(*)::integer as count from attempts where error <> 'status' group by error",
  );
  assert.deepEqual(
    { toldTwice: delivered.length - new Set(delivered).size, errors: rows },
    { toldTwice: 0, errors: [] },
  );
  t.diagnostic(`${posts.length} webhooks of ${messages.length} adverts`);
}
