/**
 * PostgreSQL refuses each statement of a daemon once with an error of each class. Nothing that a server says once is a
 * bug: every change is recorded and told once, no message is set aside, the process and its term live on.
 */

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadReference } from '../../src/engine/reference/communes.ts';
import { LOADER, moduleUrl } from '../support/checkout.ts';
import { createApiKey, startDaemon, tuned } from '../support/daemon.ts';
import { connectDatabase } from '../support/database.ts';
import { SQLSTATES } from '../support/failing-statements.ts';
import { connectCrawler, numberedUuid, upsert } from '../support/intake.ts';
import { auditRecords, replay } from '../support/replay-oracle.ts';
import { restClient } from '../support/rest-client.ts';
import { startTestServers, temporaryDirectory } from '../support/servers.ts';
import { RECOVERY_MAX_MS, until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const FAULTS = moduleUrl('test/support/failing-statements');
const PROPERTIES = 6;
/** Of the recorder, the matcher and the leader: they run again and again while prices change. */
const STATEMENTS = [
  ...['begin', 'hold-term', 'lock-properties', 'update-properties', 'commit'],
  ...['write-intake-position', 'update intake_leads set seen_at = clock_'],
];

test('each statement fails once with an error of each class, and every change is told once all the same', async (t) => {
  const servers = await startTestServers(t);
  const receiver = await startWebhookReceiver(t);
  const { resolvePlace } = await loadReference();
  const faults = join(await temporaryDirectory('faults'), 'faults');
  const settings = {
    FAULTS_FILE: faults,
    NODE_OPTIONS: [...LOADER, `--import=${FAULTS}`].join(' '),
    VIGIE_RETRY_DELAY_MS: '1000',
    ...tuned({ retryPausesMs: [100, 200, 300] }),
  };
  const daemon = await startDaemon(t, servers, settings);
  let isEnding = false;
  daemon.process.once('exit', (code) => {
    if (!isEnding)
      throw new Error(
        `the daemon ended with ${code}: ${JSON.stringify(daemon.log.slice(-5))} ${daemon.errors.join('')}`,
      );
  });
  const members = {
    notificationEnabled: true,
    withCoherentPrice: null,
    eventEndpoint: receiver.urlOf('/events'),
    subscribedEvents: ['ad.update.price' as const],
  };
  const { id } = await restClient(daemon, await createApiKey(servers)).createSearch({ title: 'all', ...members });
  const crawler = await connectCrawler(t, servers.nats.url);
  const database = connectDatabase(t, servers.postgres.url);
  const countOf = async (sql: string): Promise<number> =>
    Number((await database.query(`select count(*) from ${sql}`)).rows[0].count);
  const messages: ReturnType<typeof upsert>[] = [];
  const expected = () => replay(messages, [{ id, members }], resolvePlace);
  const injected = async (): Promise<ReadonlySet<string>> => new Set((await readFile(faults, 'utf8')).split('\n'));
  const wanted = STATEMENTS.flatMap((statement) => SQLSTATES.map((state) => `${state} ${statement}`));
  await writeFile(faults, '');
  const missingOf = (found: ReadonlySet<string>) => wanted.filter((fault) => !found.has(fault));
  for (let round = 0; missingOf(await injected()).length > 0; round++) {
    assert.ok(round < 4_000, `never refused: ${missingOf(await injected()).join()}`);
    const batch = Array.from({ length: PROPERTIES }, (_, number) =>
      upsert({
        property: numberedUuid('property', number),
        advert: numberedUuid('advert', number),
        crawledAt: new Date(Date.UTC(2026, 2, 10, 8, 0, round)).toISOString(),
        price: 100_000 + round,
      }),
    );
    messages.push(...batch);
    await crawler.publish(...batch);
    const { length } = [...expected().events.values()].flat();
    await until(
      () => countOf('events'),
      (count) => count >= length,
      RECOVERY_MAX_MS,
    );
  }
  assert.deepEqual(await auditRecords(database, expected()), []);
  assert.equal(await countOf('dead_letters'), 0);
  const { deliveries } = expected();
  await until(
    () => countOf(`delivery_states where state = 'delivered'`),
    (count) => count >= deliveries.length,
    RECOVERY_MAX_MS,
  );
  assert.equal(await countOf('deliveries'), deliveries.length);
  const terms = await database.query<{ term: string }>('select term from intake_leader');
  assert.equal(terms.rows[0]?.term, '1', 'the lead did not change');
  isEnding = true;
  assert.equal(await daemon.end('SIGTERM'), 0);
});
