/**
 * A NATS cluster of three servers with three copies of each stream. A leader is killed and returns without its disk,
 * and a leader freezes. The daemon starts while a server is down. The server that the daemon uses is cut off from the
 * others. No change is lost or notified twice.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { StreamInfo } from 'nats';
import { connectBroker } from '../../src/engine/broker/connection.ts';
import { isBrokerOutage } from '../../src/engine/broker/outage.ts';
import { ensureAdvertsStream, untilElected } from '../../src/engine/broker/topology.ts';
import { VERSION } from '../../src/version.ts';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { type ClusterNode, startNatsCluster } from '../support/nats-cluster.ts';
import { readinessOf } from '../support/operator-scene.ts';
import { openPriceStory, STORY_SETTINGS } from '../support/price-story.ts';
import { lastFirst, startTestPostgres } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

const FREEZE_MS = 20_000;

/** A cluster, a daemon that uses it, and a price story that has begun. */
async function openScene(t: TestContext) {
  const cleanup = lastFirst(t);
  const postgres = await startTestPostgres(cleanup);
  const nodes = await startNatsCluster(cleanup);
  const urls = nodes.map(({ url }) => url);
  const servers = { postgres, nats: { url: urls.join(',') } };
  const start = (settings: Readonly<Record<string, string>> = {}) =>
    startDaemon(cleanup, servers, { ...STORY_SETTINGS, VIGIE_NATS_REPLICAS: '3', ...settings });
  const daemon = await start();
  const story = await openPriceStory(cleanup, urls);
  await story.begin(daemon, await createApiKey(servers));
  return { postgres, nodes, daemon, story, start };
}

test('a leader is killed and returns without its disk, a leader freezes, and the deliveries continue', async (t) => {
  const { postgres, nodes, story, start, ...scene } = await openScene(t);
  let { daemon } = scene;
  const infoOf = async (stream: string): Promise<StreamInfo | null> => {
    try {
      return await (await story.connection.jetstreamManager()).streams.info(stream);
    } catch {
      return null;
    }
  };
  const leaderOf = async (stream: string): Promise<ClusterNode> => {
    const info = await until(
      () => infoOf(stream),
      (found) => found?.cluster?.leader !== undefined,
    );
    return nodes.find(({ name }) => name === info?.cluster?.leader) as ClusterNode;
  };
  const tookMs: Record<string, number> = { undisturbed: await story.tell(2) };
  for (const stream of ['ADVERTS', 'RETRIES']) assert.equal((await infoOf(stream))?.config.num_replicas, 3, stream);

  const lost = await leaderOf('ADVERTS');
  await lost.kill();
  tookMs['leader killed'] = await story.tell(2);

  assert.equal(await daemon.end('SIGTERM'), 0);
  daemon = await start();
  tookMs['started while it is away'] = await story.tell(1);

  await lost.wipe();
  await lost.restart();
  tookMs['back without its disk'] = await story.tell(1);
  await until(
    () => infoOf('RETRIES'),
    (info) => info?.cluster?.replicas?.every(({ current }) => current) ?? false,
  );

  const frozen = await leaderOf('RETRIES');
  process.kill(frozen.pid as number, 'SIGSTOP');
  const thaw = setTimeout(() => process.kill(frozen.pid as number, 'SIGCONT'), FREEZE_MS);
  tookMs['leader frozen'] = await story.tell(2);
  clearTimeout(thaw);
  process.kill(frozen.pid as number, 'SIGCONT');

  tookMs['whole again'] = await story.tell(1);
  t.diagnostic(`milliseconds: ${JSON.stringify(tookMs)}`);
  const takenForRestored = daemon.log.filter(({ message }) => /restored|another (?!server\.)/.test(String(message)));
  assert.deepEqual(takenForRestored, []);
  await story.audit(postgres.url);
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('a server that is cut off from its peers blocks nothing, as leader of the stream or as follower', async (t) => {
  const { postgres, nodes, daemon, story, start } = await openScene(t);
  await story.tell(1);
  const { streams, consumers } = await story.connection.jetstreamManager();
  const isUsed = (node: ClusterNode) => node.serves(`vigie ${VERSION}`);
  const tookMs: Record<string, number> = {};

  /** Null unless every copy of the stream and of its consumer is current. */
  const wholeStream = async (): Promise<StreamInfo | null> => {
    const [info, intake] = await Promise.all([
      streams.info('ADVERTS').catch(() => null),
      consumers.info('ADVERTS', 'intake').catch(() => null),
    ]);
    const copies = [info, intake].flatMap((each) => each?.cluster?.replicas ?? []);
    const isWhole = copies.length === 2 * (nodes.length - 1) && copies.every(({ current }) => current);
    return isWhole ? info : null;
  };
  /** The server that the daemon uses, if it leads the stream as wanted; else null, after requesting a new leader. */
  const usedServer = async (leads: boolean): Promise<ClusterNode | null> => {
    const info = await wholeStream();
    const serving = await Promise.all(nodes.map(isUsed));
    const node = nodes[serving.indexOf(true)];
    if (info === null || node === undefined) return null;
    if ((info.cluster?.leader === node.name) === leads) return node;
    await story.connection.request('$JS.API.STREAM.LEADER.STEPDOWN.ADVERTS').catch(() => null);
    return null;
  };

  /** Each connection starts with a random server: the chance that all avoid a given server is 1 in 130. */
  const serversOfNewConnections = (): Promise<readonly (string | undefined)[]> => {
    const url = nodes.map((node) => node.url).join(',');
    const connecting = Array.from({ length: 12 }, async () => {
      const broker = await connectBroker({ url, name: 'new', replicas: 3, onStatus: () => undefined });
      await broker.close();
      return broker.connection.info?.server_name;
    });
    return Promise.all(connecting);
  };

  for (const leads of [false, true]) {
    const node = (await until(
      () => usedServer(leads),
      (found) => found !== null,
    )) as ClusterNode;
    node.separate();
    tookMs[`cut off as ${leads ? 'leader' : 'follower'}`] = await story.tell(1);
    assert.equal(await isUsed(node), false);
    if (leads) assert.ok(!(await serversOfNewConnections()).includes(node.name));
    node.rejoin();
  }

  const api = await start({ VIGIE_ROLES: 'api' });
  await until(wholeStream, (info) => info !== null);
  const [, ...others] = nodes;
  for (const node of others) await node.kill();
  await until(
    () => readinessOf(daemon),
    ({ status, checks }) => status === 503 && (checks.nats?.reason ?? '').startsWith('JetStream has not answered'),
  );
  assert.equal((await readinessOf(api)).status, 200);
  await Promise.all(others.map((node) => node.restart()));
  await untilIs(async () => (await readinessOf(daemon)).status, 200);
  tookMs['whole again'] = await story.tell(1);
  t.diagnostic(`milliseconds: ${JSON.stringify(tookMs)}`);
  await story.audit(postgres.url);
  for (const each of [daemon, api]) assert.equal(await each.end('SIGTERM'), 0);
});

test('a stream leader returns without its disk while a replica lags: the loss is reported once', async (t) => {
  const { postgres, nodes, daemon, story } = await openScene(t);
  const { streams } = await story.connection.jetstreamManager();
  const leaderName = async () => (await streams.info('ADVERTS').catch(() => null))?.cluster?.leader;
  await story.tell(1);
  const name = await until(leaderName, (found) => found !== undefined);
  const leader = nodes.find((node) => node.name === name) as ClusterNode;
  const [lagging, ahead] = nodes.filter((node) => node !== leader) as [ClusterNode, ClusterNode];
  lagging.separate();
  await story.tell(3);
  process.kill(ahead.pid as number, 'SIGSTOP');
  await leader.kill();
  await leader.wipe();
  lagging.rejoin();
  await leader.restart();
  await untilIs(leaderName, lagging.name);
  process.kill(ahead.pid as number, 'SIGCONT');
  await story.tell(2);
  await untilIs(async () => new Set(story.receiver.posts.map(({ id }) => id)).size, 6 * 20);
  const losses = daemon.log.filter(({ message }) => String(message).includes('lost its last messages'));
  t.diagnostic(JSON.stringify(losses));
  assert.equal(losses.length, 1);
  // 60 messages were lost, but the server that counts them may lag.
  const lost = Number(losses[0]?.messages);
  assert.ok(lost > 0 && lost <= 60, `${lost}`);
  await story.audit(postgres.url);
  assert.equal(await daemon.end('SIGTERM'), 0);
});

test('a first start on a cluster that has just lost a server waits for that server', async (t) => {
  const nodes = await startNatsCluster(t);
  await nodes[0]?.kill();
  const url = nodes
    .slice(1)
    .map((node) => node.url)
    .join(',');
  const broker = await connectBroker({ url, name: 'first', replicas: 3, onStatus: () => undefined });
  t.after(() => broker.close());
  let asked = 0;
  broker.connection.subscribe('$JS.API.STREAM.CREATE.*', { callback: () => void asked++ });
  const made = ensureAdvertsStream(broker);
  const isOver = made.then(
    () => true,
    () => true,
  );
  // The request was refused more than once, and repeated.
  const again = until(
    async () => asked,
    (count) => count > 2,
  );
  assert.equal(await Promise.race([isOver, again.then(() => false)]), false);
  await nodes[0]?.restart();
  await made;
  assert.equal((await broker.manager.streams.info('ADVERTS')).config.num_replicas, 3);

  // A later start also waits if the cluster has lost most of its servers.
  await Promise.all(nodes.slice(1).map((node) => node.kill()));
  const reasons: Error[] = [];
  const elected = untilElected(broker, (reason) => void reasons.push(reason));
  await until(
    async () => reasons.length,
    (count) => count > 0,
  );
  assert.ok(reasons.every(isBrokerOutage));
  await Promise.all(nodes.slice(1).map((node) => node.restart()));
  await elected;
});
