/**
 * Chaos test. Three daemons take in, match and deliver while faults occur:
 * - daemons, nats-server and PostgreSQL are killed, frozen and restarted, and the standby of PostgreSQL is promoted;
 * - connections are cut, stalled and refused, and lose bytes;
 * - mailboxes are full, and so are the disks of both servers and the store of nats-server;
 * - PostgreSQL refuses statements and logins, and is overloaded; the clocks of both servers are wrong;
 * - adverts cannot be stored, properties exceed their limits, and a client sends the most expensive requests;
 * - all daemons are killed while they record messages with the same `crawledAt`;
 * - between the parts of the run, PostgreSQL and a single NATS server return with older data, or NATS without data.
 *
 * For a third of the time, at most ten minutes, PostgreSQL is overloaded and has no other fault: the lead must not
 * change. At the end every fault is repaired. Each violation of these rules is listed, and the exit code is then 1:
 * - no published message is lost or out of order, and the webhooks of a match are sent in order;
 * - every refused message is in the dead letters, once;
 * - no attempt of a delivery begins after its status 200 could be read in PostgreSQL;
 * - no delivery has more than six attempts or an early one, and every retry sends the same signed bytes;
 * - each daemon ends when it is asked to, and only then.
 *
 *   npm run chaos -- [--seed 1,2,3] [--minutes 10 | --seconds 90] [--rate 15] [--instances 3] [--faults PATTERN]
 *   [--cluster] [--waiting 1000000]
 *
 * `--minutes`, `--seconds`: duration of the faults for each seed; repairs take additional time. `--faults`: only the
 * faults whose name in the timeline matches. `--cluster`: NATS is a cluster of three. One server at a time is cut off
 * from its peers, killed or frozen; the store, disk and clock of NATS have no faults. `--waiting`: number of retries at
 * one endpoint that are not due during the run. `NATS_SERVER_BIN` names another nats-server. A cluster needs 2.10:
 * after some faults the replicas of 2.9.10 number the same messages differently, and so lose messages. The seed decides
 * which sample messages are published and what endpoints answer. The order of the faults also depends on the machine.
 */

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { ResolvePlace } from '../src/engine/domain/city.ts';
import { loadReference } from '../src/engine/reference/communes.ts';
import { createApiKey } from '../test/support/daemon.ts';
import { auditDeliveries } from '../test/support/delivery-auditor.ts';
import { auditNumbers, auditUnrestored, readFeedNumbers } from '../test/support/order-auditor.ts';
import { auditRecords, deliveryKeyOf, replay } from '../test/support/replay-oracle.ts';
import { RECOVERY_MAX_MS, until } from '../test/support/until.ts';
import type { ReceivedPost } from '../test/support/webhook-receiver.ts';
import { createSampleCrawler } from './adverts/sample-adverts.ts';
import { createRandom, type Random } from './adverts/seeded-random.ts';
import { type ChaosCrawler, startChaosCrawler } from './chaos/crawler.ts';
import { attemptKeyOf, createDisasters, type Gap } from './chaos/disasters.ts';
import { canMount, INSIDE, runInNamespace } from './chaos/disk.ts';
import { faultsOf, PROMOTION, ROLLING_RESTART, wreakHavoc } from './chaos/faults.ts';
import { auditRefused, createMischief, type Mischief, refuseUnstorable } from './chaos/mischief.ts';
import { LONG_CUT_OFF } from './chaos/nats-faults.ts';
import { overloadAlone } from './chaos/overload.ts';
import { LEASE_MS, openScene, RETRY_DELAY_MS, type Scene } from './chaos/scene.ts';
import { CHAOS_SEEDS } from './chaos/seeds.ts';

/** Maximum number of violations of a kind, and of lost messages, that are printed. */
const LISTED_MAX = 40;
const OVERLOAD = 'PostgreSQL is overloaded, and nothing else is wrong';
const OVERLOAD_SECONDS_MAX = 600;
/** Kinds of violation in the summary, each with a pattern of the auditors' sentences that belong to it. */
const KINDS: readonly (readonly [kind: string, rule: RegExp])[] = [
  ['lost', /do not exist|is missing|\(a\)|0 times in the dead letters/],
  [
    'false',
    /beyond the expected|no message is about|an unexpected dead letter|unknown id|differs from its messages|events of/,
  ],
  ['doubled', /\((b|c)\)|times in the dead letters/],
  ['early', /\(d\)/],
];

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: CHAOS_SEEDS.join() },
    minutes: { type: 'string', default: '10' },
    seconds: { type: 'string' },
    instances: { type: 'string', default: '3' },
    rate: { type: 'string', default: '15' },
    faults: { type: 'string', default: '' },
    cluster: { type: 'boolean', default: false },
    waiting: { type: 'string', default: '0' },
    [INSIDE.slice(2)]: { type: 'boolean', default: false },
  },
});
const seconds = values.seconds === undefined ? 60 * Number(values.minutes) : Number(values.seconds);
const isInside = process.argv.includes(INSIDE);
/** Functions to run at any exit, because daemons and servers must not outlive this process. */
const closers: (() => Promise<unknown>)[] = [];

async function main(): Promise<number> {
  const mounts = isInside || canMount();
  if (mounts && !isInside) return runInNamespace(fileURLToPath(import.meta.url));
  if (!mounts) console.log('This machine does not permit mounting small disks: faults with full disks are skipped.');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void closeAll().finally(() => process.exit(1)));
  }
  let found = 0;
  for (const seed of values.seed.split(',').map(Number)) found += await runSeed(seed);
  return found === 0 ? 0 : 1;
}

/** Resolves with the number of violations found. */
async function runSeed(seed: number): Promise<number> {
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1_000;
  const say = (what: string): void => console.log(`${elapsed().toFixed(1).padStart(7)} s  ${what}`);
  console.log(`seed ${seed}: ${seconds} s of chaos`);
  try {
    const random = createRandom(seed);
    const cleanup = { after: (work: () => Promise<unknown>) => void closers.push(work) };
    const crashes: string[] = [];
    const onCrash = (what: string): void => {
      say(what);
      crashes.push(what);
    };
    const instanceCount = Number(values.instances);
    const scene = await openScene(cleanup, {
      random,
      instanceCount,
      withDisk: isInside,
      isCluster: values.cluster,
      waitingCount: Number(values.waiting),
      onTransientError: say,
      onCrash,
    });
    const reference = await loadReference();
    const messagesPerSecond = Number(values.rate);
    // `crawledAt` advances more slowly than the clock, because a time in the future is rejected.
    const intervalMs = Math.ceil(500 / messagesPerSecond);
    const sample = { seed, reference, startAt: new Date(), intervalMs, changeShare: 0.75, heldMax: 300 };
    const crawler = startChaosCrawler({
      broker: scene.broker,
      crawler: createSampleCrawler(sample),
      messagesPerSecond,
    });
    await refuseUnstorable(scene.database);
    const apiKey = await createApiKey(scene.servers, 'hostile');
    const mischief = createMischief({ crawler, instances: scene.instances, apiKey, random });
    const havoc = await wreak(cleanup, scene, crawler, mischief, random, say);
    say('the faults have ended');
    await crawler.end();
    const { summary, found } = await audit(scene, crawler, mischief, havoc, reference.resolvePlace);
    found.unshift(...crashes, ...havoc.unfounded);
    const verdict = found.length === 0 ? 'clean' : `${found.length} FOUND (${verdictOf(found)})`;
    console.log(
      `seed ${seed}: ${havoc.struck} faults of ${instanceCount} instances, nats-server ${scene.broker.serverVersion}; ` +
        `${crawler.messages.length} messages, ${crawler.retries} published again; ` +
        `${scene.hiccups.summary}; ${summary}; ${verdict} after ${elapsed().toFixed(0)} s`,
    );
    const listed = byKind(found).flatMap(([, faults]) => faults.slice(0, LISTED_MAX));
    for (const fault of listed) console.log(`  ${fault}`);
    return found.length;
  } finally {
    await closeAll();
  }
}

interface Havoc {
  readonly struck: number;
  readonly isRestored: boolean;
  readonly gaps: readonly Gap[];
  /** Changes of leader and jumps of sequence numbers that have no cause. */
  readonly unfounded: readonly string[];
}

/**
 * Runs the faults in parts. Before each part except the first and the last, copies the data for the disaster that
 * follows the part. The overload precedes the last part.
 */
async function wreak(
  cleanup: { after(work: () => Promise<void>): void },
  scene: Scene,
  crawler: ChaosCrawler,
  mischief: Mischief,
  random: Random,
  say: (what: string) => void,
): Promise<Havoc> {
  const isWanted = ({ name }: { readonly name: string }): boolean => name.match(values.faults) !== null;
  const isOverloaded = isWanted({ name: OVERLOAD });
  const overloadSeconds = isOverloaded ? Math.min(OVERLOAD_SECONDS_MAX, seconds / 3) : 0;
  const disasters = await createDisasters(scene, crawler, random);
  cleanup.after(() => disasters.end());
  const partSeconds = (seconds - overloadSeconds) / (disasters.all.length + 2);
  const faults = faultsOf(scene, crawler, mischief, random, partSeconds).filter(isWanted);
  let struck = 0;
  const frozen = `${random.pick(['PostgreSQL', 'nats-server', 'A', 'B'])} freezes for a minute`;
  // Each part begins with one of these faults, the last of them first, because they are rarely drawn.
  const openings = values.cluster
    ? [ROLLING_RESTART, PROMOTION, LONG_CUT_OFF]
    : [ROLLING_RESTART, PROMOTION, frozen, ROLLING_RESTART];
  const part = async (): Promise<void> => {
    const until = performance.now() + 1_000 * partSeconds;
    struck += await wreakHavoc(faults, openings.pop() ?? '', random, () => performance.now() > until, say);
  };
  await part();
  const wanted = disasters.all.filter(isWanted);
  const unfounded: string[] = [];
  for (const disaster of wanted) {
    say('copying the data of PostgreSQL and NATS');
    await disasters.copy();
    await part();
    const hasForgotten = disaster !== wanted[0] || crawler.hasStreamForgotten;
    if (!hasForgotten) unfounded.push(...auditUnrestored(scene.receiver.posts));
    say(disaster.name);
    await disaster.strike();
  }
  if (isOverloaded) say(`${OVERLOAD} for ${overloadSeconds.toFixed(0)} s`);
  if (isOverloaded) unfounded.push(...(await overloadAlone(scene, overloadSeconds)));
  await part();
  return { struck: struck + wanted.length, isRestored: wanted.length > 0, gaps: disasters.gaps, unfounded };
}

async function audit(
  scene: Scene,
  crawler: ChaosCrawler,
  { refused, brokenAnswers }: Mischief,
  { isRestored, gaps }: Havoc,
  resolvePlace: ResolvePlace,
) {
  const { database, receiver, searches, watcher } = scene;
  const expected = replay(crawler.messages, searches, resolvePlace);
  const quiet = await untilQuiet(scene, expected.deliveries.length);
  const isForgotten = ({ id, headers, receivedAt }: ReceivedPost): boolean =>
    gaps.some(
      ({ from, to, kept }) =>
        receivedAt > from && receivedAt < to && !kept.has(attemptKeyOf(id, Number(headers['webhook-timestamp']))),
    );
  const found = [
    ...quiet,
    ...(scene.nats.type === 'cluster' ? await auditStream(crawler) : []),
    ...(await retireAll(scene)),
    ...(await auditRecords(database, expected)),
    ...(await auditRefused(database, refused)),
    ...brokenAnswers,
    ...(await auditDeliveries({
      database,
      posts: receiver.posts.filter((post) => !isForgotten(post)),
      retryDelayMs: RETRY_DELAY_MS,
      expected: expected.deliveries,
      keyOf: deliveryKeyOf,
      order: {
        isHeld: true,
        feedNumbers: await readFeedNumbers(database),
        mayJump: isRestored,
      },
      freezes: { seenDelivered: watcher.seenDelivered, leaseMs: LEASE_MS },
    })),
    // Posts that the database has forgotten are checked too, because a receiver has seen their numbers.
    ...(gaps.length === 0 ? [] : auditNumbers(receiver.posts)),
  ];
  const events = [...expected.events.values()].flat().length;
  const again = receiver.posts.filter(({ isAbandoned }) => isAbandoned).length;
  const summary =
    `${expected.properties.size} properties, ${events} events, ${expected.deliveries.length} deliveries, ` +
    `${receiver.posts.length} posts, ${again} of them cut off on kept connections, ${refused.length} refused`;
  return { summary, found };
}

/**
 * In a cluster only one server is unavailable at a time, so no message may be lost. Other auditors report the
 * consequences of a loss too.
 */
async function auditStream(crawler: ChaosCrawler): Promise<readonly string[]> {
  const lost = await crawler.findLost();
  if (lost.length === 0) return [];
  return [`the stream lacks ${lost.length} messages that it acknowledged: ${lost.slice(0, LISTED_MAX).join(', ')}`];
}

function verdictOf(found: readonly string[]): string {
  return byKind(found)
    .map(([kind, { length }]) => `${length} ${kind}`)
    .join(', ');
}

function byKind(found: readonly string[]): readonly (readonly [kind: string, faults: readonly string[]])[] {
  const kinds = new Map<string, string[]>();
  for (const fault of found) {
    const kind = KINDS.find(([, rule]) => rule.test(fault))?.[0] ?? 'other';
    kinds.set(kind, [...(kinds.get(kind) ?? []), fault]);
  }
  return [...kinds];
}

let closing: Promise<void> = Promise.resolve();

/** Also closes what is opened while it runs. */
function closeAll(): Promise<void> {
  closing = closing.then(async () => {
    for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
  });
  return closing;
}

/** Waits until no work is left. Work that remains after the timeout is a violation. */
async function untilQuiet({ instances, broker, database }: Scene, deliveries: number): Promise<readonly string[]> {
  await Promise.all(instances.map((instance) => instance.untilUp()));
  const look = async (): Promise<string> => {
    // Null while JetStream does not answer, as when a cluster elects its leaders.
    const intake = await broker.manager.consumers.info('ADVERTS', 'intake').catch(() => null);
    if (intake === null) return 'not quiet: JetStream does not answer';
    const { num_pending, num_ack_pending } = intake;
    const { rows } = await database.query(`
      select (select count(*) from delivery_states) as deliveries,
        (select count(*) from delivery_states where state not in ('delivered', 'failed', 'cancelled')) as open`);
    const { deliveries: recorded, open } = rows[0];
    const isQuiet = num_pending + num_ack_pending + Number(open) === 0 && recorded >= deliveries;
    if (isQuiet) return '';
    return `not quiet: ${num_pending} messages wait, ${num_ack_pending} are under way, ${open} of ${recorded} deliveries open, ${deliveries} expected`;
  };
  try {
    await until(look, (state) => state === '', RECOVERY_MAX_MS);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

async function retireAll({ instances }: Scene): Promise<readonly string[]> {
  const codes = await Promise.all(
    instances.map(async (instance) => ({ name: instance.name, code: await instance.retire() })),
  );
  return codes
    .filter(({ code }) => code !== 0)
    .map(({ name, code }) => `${name} ended with exit code ${code} after SIGTERM`);
}

process.exitCode = await main();
