/**
 * Several instances on one NATS and one PostgreSQL: full ones, and roles run apart. Whoever comes, goes, freezes or is
 * killed, the rows are those that one instance would have written, and every delivery is made once.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { loadReference } from '../../src/engine/reference/communes.ts';
import { countOpen } from '../support/courier.ts';
import { createApiKey, type Daemon, runVigie, startDaemon } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { auditDeliveries } from '../support/delivery-auditor.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { auditRecords, deliveryKeyOf, type OracleSearch, replay } from '../support/replay-oracle.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestServers } from '../support/servers.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const PROPERTIES = 40;
const LEAD_CHANGES = 4;
const RETRY_DELAY_MS = 1_000;
/** No attempt may run out of time on a busy machine: it would be made again, and rightly so. */
const SETTINGS = { VIGIE_RETRY_DELAY_MS: String(RETRY_DELAY_MS), VIGIE_ATTEMPT_TIMEOUT_MS: '20000' };
/** Where nobody dies, so that nobody has to wait for what the dead had claimed. */
const PATIENCE = { VIGIE_ATTEMPT_TIMEOUT_MS: '60000', VIGIE_CONNECT_TIMEOUT_MS: '60000' };

async function openScene(t: TestContext) {
  const closers: (() => Promise<unknown>)[] = [];
  t.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const cleanup = { after: (work: () => Promise<unknown>) => void closers.push(work) };
  const servers = await startTestServers(cleanup);
  const receiver = await startWebhookReceiver(cleanup);
  const database = connectDatabase(cleanup, servers.postgres.url);
  const crawler = await connectCrawler(cleanup, servers.nats.url);
  const { resolvePlace } = await loadReference();
  const messages: ReturnType<typeof upsert>[] = [];
  const searches: OracleSearch[] = [];
  const start = (settings = {}) => startDaemon(cleanup, servers, { ...SETTINGS, ...settings });

  async function save(daemon: Daemon, key: string, members: Record<string, unknown>): Promise<void> {
    const saved = { ...members, notificationEnabled: true, withCoherentPrice: null } as const;
    const { id } = await restClient(daemon, key).createSearch({ title: `search ${searches.length}`, ...saved });
    searches.push({ id, members: saved });
  }

  /** Every property changes its price in each round: the more often, the sooner two readers would mix its changes up. */
  async function publishRounds(rounds: number): Promise<void> {
    const first = messages.length / PROPERTIES;
    for (let round = first; round < first + rounds; round++) {
      const crawledAt = new Date(Date.UTC(2026, 2, 10, 8, 0, round)).toISOString();
      const batch = Array.from({ length: PROPERTIES }, (_, number) => {
        const property = numberedUuid('property', number);
        return upsert({ property, advert: numberedUuid('advert', number), crawledAt, price: 100_000 + round });
      });
      await crawler.publish(...batch);
      messages.push(...batch);
    }
  }

  /**
   * Waits until everything published has ended, then compares with one instance's reading. What a frozen instance has
   * taken comes back after JetStream's `ack_wait` of 90 s.
   */
  async function audit(): Promise<void> {
    const expected = replay(messages, searches, resolvePlace);
    const events = [...expected.events.values()].flat().length;
    await until(
      async () => Number((await database.query('select count(*) from events')).rows[0].count),
      (count) => count >= events,
    );
    assert.deepEqual(await auditRecords(database, expected), []);
    await until(
      () => countOpen(database),
      (open) => open === 0,
    );
    const { posts } = receiver;
    assert.deepEqual(
      await auditDeliveries({
        database,
        posts,
        retryDelayMs: RETRY_DELAY_MS,
        expected: expected.deliveries,
        keyOf: deliveryKeyOf,
        order: { isHeld: true },
      }),
      [],
    );
  }

  const members = {
    endpointRecipient: receiver.urlOf('/matches'),
    eventEndpoint: receiver.urlOf('/events'),
    subscribedEvents: ['ad.update.price'],
  };
  const untilReceived = (count: number) => receiver.until((posts) => posts.length >= count);
  return { database, servers, receiver, start, save, publishRounds, audit, members, untilReceived };
}

test('two full instances write what one would, match what was saved on either, and share the deliveries', async (t) => {
  const { servers, receiver, start, save, publishRounds, audit, members } = await openScene(t);
  const instances = [await start(), await start()];
  const key = await createApiKey(servers);
  for (const instance of instances) await save(instance, key, members);
  for (const instance of instances) {
    // Only one of them matches, whichever it is: it must know both.
    await until(
      () => metric(instance, 'vigie_searches'),
      (searches) => searches === 2,
    );
  }
  await publishRounds(12);
  const readShares = () =>
    Promise.all(instances.map((instance) => metric(instance, 'vigie_delivery_attempts_total{result="delivered"}')));
  // Each instance delivers, though a starved one may come late.
  await until(
    async () => {
      await publishRounds(1);
      return readShares();
    },
    (shares) => shares.every((share) => share > 0),
  );
  await audit();
  const leads = await Promise.all(instances.map((instance) => metric(instance, 'vigie_intake_leads')));
  assert.deepEqual(leads.toSorted(), [0, 1], 'one takes adverts in, the other stands by');
  const shares = await readShares();
  assert.equal(
    shares.reduce((sum, share) => sum + share),
    receiver.posts.length,
    'nothing was sent twice',
  );
  for (const instance of instances) assert.equal(await instance.end('SIGTERM'), 0);
});

test('a leader that freezes is replaced, and what it holds when it wakes is not recorded', async (t) => {
  const { servers, start, save, publishRounds, audit, members, untilReceived } = await openScene(t);
  const [first, second] = [await start(), await start()];
  await save(first, await createApiKey(servers), members);
  await publishRounds(2);
  await untilReceived(PROPERTIES);
  assert.equal(await metric(first, 'vigie_intake_leads'), 1, 'the first to come leads');
  const published = publishRounds(10);
  await untilReceived(2 * PROPERTIES);
  first.process.kill('SIGSTOP');
  await until(
    () => metric(second, 'vigie_intake_leads'),
    (leads) => leads === 1,
  );
  await published;
  const status = await runVigie(['admin', 'status', '--address', second.adminAddress], servers);
  const [, seconds] = /^intake takeover took +(\S+) s$/m.exec(status.stdout) ?? [];
  assert.ok(Number(seconds) > 0, status.stdout);
  first.process.kill('SIGCONT');
  await publishRounds(2);
  await audit();
  assert.equal(await metric(first, 'vigie_intake_leads'), 0);
  for (const instance of [first, second]) assert.equal(await instance.end('SIGTERM'), 0);
});

test('the lead goes from one instance to the other and back under load, and no log speaks of a bug', async (t) => {
  const { servers, receiver, start, save, publishRounds, audit, members, untilReceived } = await openScene(t);
  const instances = [await start(), await start()] as const;
  await save(instances[0], await createApiKey(servers), members);
  await publishRounds(1);
  await untilReceived(PROPERTIES);
  let isChanging = true;
  const published = (async () => {
    while (isChanging) {
      const received = receiver.posts.length;
      await publishRounds(1);
      await untilReceived(received + PROPERTIES / 2);
    }
  })();
  for (let change = 0; change < LEAD_CHANGES; change++) {
    const [leader, other] = change % 2 === 0 ? instances : instances.toReversed();
    leader?.process.kill('SIGSTOP');
    await until(
      () => metric(other, 'vigie_intake_leads'),
      (leads) => leads === 1,
    );
    leader?.process.kill('SIGCONT');
    await until(
      () => metric(leader, 'vigie_intake_leads'),
      (leads) => leads === 0,
    );
  }
  isChanging = false;
  await published;
  await audit();
  for (const { log } of instances) {
    assert.deepEqual(
      log.filter(({ isBug }) => isBug === true),
      [],
    );
  }
  for (const instance of instances) assert.equal(await instance.end('SIGTERM'), 0);
});

test('roles run apart, each twice, are restarted one after the other under load', async (t) => {
  const { database, servers, receiver, start, save, publishRounds, audit, members, untilReceived } = await openScene(t);
  const roles = ['intake', 'intake', 'deliver', 'deliver'];
  const api = await start({ VIGIE_ROLES: 'api' });
  let instances = await Promise.all(roles.map((role) => start({ VIGIE_ROLES: role, ...PATIENCE })));
  await save(api, await createApiKey(servers), members);
  for (const intake of instances.slice(0, 2)) {
    await until(
      () => metric(intake, 'vigie_searches'),
      (searches) => searches === 1,
    );
  }
  let isRolling = true;
  const published = (async () => {
    while (isRolling) {
      const received = receiver.posts.length;
      await publishRounds(1);
      await untilReceived(received + PROPERTIES / 2);
    }
  })();
  for (const [position, role] of roles.entries()) {
    assert.equal(await (instances[position] as Daemon).end('SIGTERM'), 0);
    instances = instances.with(position, await start({ VIGIE_ROLES: role, ...PATIENCE }));
  }
  isRolling = false;
  await published;
  await audit();
  const sentTwice = receiver.posts.flatMap(({ id }) => (receiver.postsOf(id).length > 1 ? [id] : []));
  const { rows: failures } = await database.query(
    'select error, reason, count(*)::integer from attempts where status_code is distinct from 200 group by 1, 2',
  );
  assert.deepEqual(sentTwice, [], JSON.stringify(failures));
  for (const instance of [api, ...instances]) assert.equal(await instance.end('SIGTERM'), 0);
});

/** A figure that the instance shows; 0 before it has one. */
async function metric(instance: Daemon, name: string): Promise<number> {
  const text = await (await fetch(`${instance.operationsUrl}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length) ?? 0);
}
