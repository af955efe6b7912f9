/**
 * Two databases use one NATS without namespaces. Streams that the daemon of one database created do not belong to the
 * other. The second daemon records no adverts, is not ready and names the owner, until an operator lets it take over
 * the streams.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectBroker } from '../../src/engine/broker/connection.ts';
import { isAtLeast } from '../../src/engine/broker/topology.ts';
import { type RunningService, runVigie } from '../support/daemon.ts';
import { connectDatabase, queryOnce } from '../support/database.ts';
import { connectCrawler, numberedFlat } from '../support/intake.ts';
import { readinessOf } from '../support/operator-scene.ts';
import { startTestNats, startTestPostgres } from '../support/servers.ts';
import { startHere } from '../support/service.ts';
import { untilIs } from '../support/until.ts';

const reasonOf = async (daemon: RunningService) => (await readinessOf(daemon)).checks.streams?.reason;

function advertsFrom(first: number, count: number) {
  const crawledAt = new Date().toISOString();
  return Array.from({ length: count }, (_, at) => numberedFlat(first + at, 200_000, crawledAt));
}

/** Namespaces share the streams `ADVERTS` and `REJECTED`; other objects belong to one database. */
async function assertLabelled(url: string): Promise<void> {
  const broker = await connectBroker({ url, name: 'test', onStatus: () => undefined });
  const { config } = await broker.manager.streams.info('RETRIES');
  const consumer = await broker.manager.consumers.info('ADVERTS', 'intake');
  await broker.close();
  for (const { metadata, description } of [config, consumer.config]) {
    const isKept = isAtLeast(broker.serverVersion, 2, 10);
    assert.match((isKept ? metadata?.['vigie-database'] : description) ?? '', /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}/);
    assert.equal(isKept ? description : metadata, undefined);
  }
}

test('the first of two databases on one NATS owns the streams, and the second names the owner until it takes over', async (t) => {
  const [nats, first] = await Promise.all([startTestNats(t), startTestPostgres(t)]);
  const second = { url: first.url.replace(/\/[^/]*$/, '/staging') };
  const owner = new URL(first.url).username;
  await queryOnce(first.superuserUrl.replace(/\/[^/]*$/, '/postgres'), `create database staging owner "${owner}"`);
  const production = await startHere(t, { nats, postgres: first });
  const staging = await startHere(t, { nats, postgres: second });
  const crawler = await connectCrawler(t, nats.url);
  await crawler.publish(...advertsFrom(0, 200));
  await assertLabelled(nats.url);
  const [inProduction, inStaging] = [connectDatabase(t, first.url), connectDatabase(t, second.url)];
  const stored = async (database: typeof inProduction) =>
    Number((await database.query('select count(*) from properties')).rows[0].count);
  await untilIs(async () => (await stored(inProduction)) + (await stored(inStaging)), 200);
  assert.equal(await stored(inStaging), 0, 'nothing went to the other database');
  assert.equal(await reasonOf(production), undefined);
  const reason = (await reasonOf(staging)) ?? '';
  for (const { url } of [first, second]) {
    const { hostname, port, pathname } = new URL(url);
    assert.ok(reason.includes(`${hostname}:${port}${pathname}`), `${reason} names ${port}`);
  }
  assert.match(reason, /VIGIE_NAMESPACE/);
  assert.match(reason, /vigie admin streams adopt/);

  const adopt = (...flags: readonly string[]) =>
    runVigie(['admin', 'streams', 'adopt', ...flags, '--address', staging.adminAddress], { nats, postgres: second });
  const refused = await adopt();
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /takes in adverts on this NATS/);
  assert.equal(await production.end('SIGTERM'), 0);
  const trial = await adopt('--dry-run');
  assert.match(trial.stdout, /would take over the consumer intake of ADVERTS \(0 messages wait\)/);
  assert.equal(await reasonOf(staging), reason, 'a trial changes nothing');
  const adopted = await adopt();
  assert.equal(adopted.stdout, trial.stdout.replaceAll('would take', 'took'));
  await untilIs(() => reasonOf(staging), undefined);
  // All messages of the stream are new to this database.
  await crawler.publish(...advertsFrom(200, 10));
  await untilIs(() => stored(inStaging), 210);
  assert.match((await adopt()).stdout, /^No stream or consumer belongs to another/);
});

test('a copy started while its original runs takes no streams, and reports it', async (t) => {
  const [nats, postgres] = await Promise.all([startTestNats(t), startTestPostgres(t)]);
  const former = await startHere(t, { nats, postgres });
  const crawler = await connectCrawler(t, nats.url);
  const original = connectDatabase(t, postgres.url);
  const stored = async (database: typeof original) =>
    Number((await database.query('select count(*) from properties')).rows[0].count);
  await crawler.publish(...advertsFrom(0, 5));
  await untilIs(() => stored(original), 5);
  assert.equal(await former.end('SIGTERM'), 0);
  const name = new URL(postgres.url).pathname.slice(1);
  await queryOnce(
    postgres.superuserUrl,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
  );
  const maintenance = postgres.superuserUrl.replace(/\/[^/]*$/, '/postgres');
  await queryOnce(maintenance, `create database restored template ${name}`);
  const copyUrl = postgres.url.replace(/\/[^/]*$/, '/restored');
  const ofOriginal = await startHere(t, { nats, postgres });
  const ofCopy = await startHere(t, { nats, postgres: { url: copyUrl } });
  await crawler.publish(...advertsFrom(5, 50));
  // The connection of `original` was ended for the copy.
  const [again, copy] = [connectDatabase(t, postgres.url), connectDatabase(t, copyUrl)];
  await untilIs(async () => (await stored(again)) + (await stored(copy)), 60);
  assert.equal(await stored(copy), 5, 'it has only the copied properties');
  assert.equal(await reasonOf(ofOriginal), undefined);
  assert.match(
    (await reasonOf(ofCopy)) ?? '',
    /under the same names, with the database .*\/vigie. This service, with .*\/restored, takes no messages/,
  );
});
