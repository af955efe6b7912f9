/**
 * A server that refuses logins or rights for a while is used again once it grants them, without a restart of the
 * daemon.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, chown, copyFile, readlink, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { type ChildServer, freePort } from '../../src/local/child-server.ts';
import { createApiKey, type Daemon, startDaemon } from '../support/daemon.ts';
import { queryOnce } from '../support/database.ts';
import { assertNone } from '../support/lists.ts';
import { startWithConfiguration } from '../support/nats-cluster.ts';
import { type Readiness, readinessOf } from '../support/operator-scene.ts';
import { openPriceStory, type PriceStory, STORY_SETTINGS } from '../support/price-story.ts';
import {
  type Cleanup,
  startTestNats,
  startTestPostgres,
  type TestPostgres,
  temporaryDirectory,
} from '../support/servers.ts';
import { RECOVERY_MAX_MS, until } from '../support/until.ts';

const run = promisify(execFile);

/** Enough for every part of the daemon to be refused more than once. */
const REFUSED_FOR_MS = 12_000;

const isFailing = ({ checks }: Readiness, check: string): boolean => checks[check]?.status === 'failed';

/** Ends every session, as a restart of PostgreSQL does. */
function endSessions({ superuserUrl }: TestPostgres): Promise<unknown> {
  return queryOnce(
    superuserUrl,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where usename <> current_user and backend_type = 'client backend'`,
  );
}

/** Refuses the daemon until it has noticed this repeatedly, then heals: the daemon must get ready and send alerts. */
async function refuseAndHeal(
  daemon: Daemon,
  story: PriceStory,
  isNoticed: (now: Readiness) => boolean,
  refuse: () => Promise<unknown>,
  heal: () => Promise<unknown>,
): Promise<void> {
  await refuse();
  const noticedAt = await until(
    async () => (isNoticed(await readinessOf(daemon)) ? performance.now() : null),
    (at) => at !== null,
    RECOVERY_MAX_MS,
  );
  await until(
    async () => performance.now() - (noticedAt as number),
    (durationMs) => durationMs > REFUSED_FOR_MS,
    RECOVERY_MAX_MS,
  );
  await heal();
  const healed = await until(
    () => readinessOf(daemon),
    ({ status }) => status === 200,
  );
  assert.equal(healed.status, 200);
  await story.tell(1);
}

/** One key with a valid certificate and one that expired yesterday; both are self-signed. */
async function makeCertificates(cleanup: Cleanup): Promise<Record<'key' | 'good' | 'expired' | 'all', string>> {
  const directory = await temporaryDirectory('certificates');
  cleanup.after(() => rm(directory, { recursive: true, force: true }));
  const [key, good, expired, request] = ['key', 'good', 'expired', 'request'].map((name) =>
    join(directory, `${name}.pem`),
  ) as [string, string, string, string];
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=vigie-test'];
  const address = ['-addext', 'subjectAltName=IP:127.0.0.1'];
  await run('openssl', ['req', '-x509', ...ec, '-keyout', key, '-out', good, '-days', '2', ...address]);
  const copying = ['-signkey', key, '-copy_extensions', 'copyall'];
  await run('openssl', ['x509', '-x509toreq', '-in', good, '-out', request, ...copying]);
  await run('openssl', ['x509', '-req', '-in', request, '-out', expired, '-days', '-1', ...copying]);
  const all = join(directory, 'all.pem');
  await run('sh', ['-c', 'cat "$1" "$2" > "$3"', 'sh', good, expired, all]);
  return { key, good, expired, all };
}

test('PostgreSQL is used again after it refused the password, connections or writes, or had an expired certificate', async (t) => {
  const postgres = await startTestPostgres(t);
  const nats = await startTestNats(t);
  const certificates = await makeCertificates(t);
  const useCertificate = await serveTls(postgres, certificates);
  const url = `${postgres.url}?sslmode=verify-full&sslrootcert=${encodeURIComponent(certificates.all)}`;
  const servers = { postgres: { url }, nats };
  const daemon = await startDaemon(t, servers, STORY_SETTINGS);
  const story = await openPriceStory(t, [nats.url]);
  await story.begin(daemon, await createApiKey(servers));
  await story.tell(1);
  const { username, password, pathname } = new URL(postgres.url);
  const [role, database] = [`"${username}"`, `"${pathname.slice(1)}"`];
  const ask = (statement: string) => () => queryOnce(postgres.superuserUrl, statement);
  const andAnew = (work: () => Promise<unknown>) => async () => {
    await work();
    await endSessions(postgres);
  };
  await ask(`revoke connect on database ${database} from public`)();
  await ask(`grant connect on database ${database} to ${role}`)();
  const isRefused = (now: Readiness): boolean => isFailing(now, 'postgresql') && isFailing(now, 'actors');
  const heal = (refuse: () => Promise<unknown>, mend: () => Promise<unknown>) =>
    refuseAndHeal(daemon, story, isRefused, andAnew(refuse), mend);
  await heal(ask(`alter role ${role} password 'another'`), ask(`alter role ${role} password '${password}'`));
  await heal(
    ask(`revoke connect on database ${database} from ${role}`),
    ask(`grant connect on database ${database} to ${role}`),
  );
  await heal(
    () => useCertificate('expired'),
    () => useCertificate('good'),
  );
  await refuseAndHeal(
    daemon,
    story,
    ({ status }) => status === 503,
    async () => {
      await ask(`revoke insert, update on properties, instances, events from ${role}`)();
      await story.publishRound();
    },
    ask(`grant insert, update on properties, instances, events to ${role}`),
  );
  assertNone(await queryOnce(postgres.superuserUrl.replace(/[^/]*$/, pathname.slice(1)), 'select from dead_letters'));
  await story.audit(postgres.url);
  assertNone(daemon.log.filter(({ isBug }) => isBug === true));
  assert.equal(await daemon.end('SIGTERM'), 0);
});

/** Returns a function that gives new connections one of the certificates. */
async function serveTls(
  { superuserUrl, pid }: TestPostgres,
  certificates: Readonly<Record<'key' | 'good' | 'expired', string>>,
): Promise<(which: 'good' | 'expired') => Promise<void>> {
  const directory = await readlink(`/proc/${pid}/cwd`);
  const { uid, gid } = await stat(directory);
  const put = async (from: string, name: string): Promise<void> => {
    const to = join(directory, name);
    await copyFile(from, to);
    await chown(to, uid, gid);
    await chmod(to, 0o600);
  };
  await put(certificates.key, 'server.key');
  const useCertificate = async (which: 'good' | 'expired'): Promise<void> => {
    await put(certificates[which], 'server.crt');
    await queryOnce(superuserUrl, 'alter system set ssl = on');
    await queryOnce(superuserUrl, 'select pg_reload_conf()');
  };
  await useCertificate('good');
  return useCertificate;
}

/** A nats-server with `first` in its configuration; `configure` restarts it with other lines. */
async function startConfiguredNats(cleanup: Cleanup, first: readonly string[]) {
  const directory = await temporaryDirectory('configured-nats');
  const port = await freePort();
  const base = ['host: "127.0.0.1"', `port: ${port}`, 'jetstream { store_dir: "store", max_file_store: 1073741824 }'];
  let server: ChildServer | null = null;
  cleanup.after(async () => {
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
  });
  const configure = async (lines: readonly string[]): Promise<void> => {
    await server?.stop();
    server = await startWithConfiguration('nats', directory, port, [...base, ...lines, ''].join('\n'));
  };
  await configure(first);
  return { port, configure };
}

const admitting = (password: string, permissions = ''): readonly string[] => [
  `authorization { users: [ { user: vigie, password: "${password}"${permissions} }, { user: crawler, password: "c" } ] }`,
];

test('NATS is used again after it refused the password, publications or subscriptions, or had an expired certificate', async (t) => {
  const { key, expired, all } = await makeCertificates(t);
  const secured = (certificate: string) => `tls { cert_file: "${certificate}", key_file: "${key}", timeout: 5 }`;
  const usual = admitting('right');
  const nats = await startConfiguredNats(t, usual);
  const servers = { postgres: await startTestPostgres(t), nats: { url: `nats://vigie:right@127.0.0.1:${nats.port}` } };
  const daemon = await startDaemon(t, servers, { ...STORY_SETTINGS, NODE_EXTRA_CA_CERTS: all });
  const story = await openPriceStory(t, [`nats://crawler:c@127.0.0.1:${nats.port}`]);
  await story.begin(daemon, await createApiKey(servers));
  await story.tell(1);
  for (const refusing of [
    admitting('another'),
    admitting('right', ', permissions: { publish: { deny: ["$JS.API.>", "$JS.ACK.>"] } }'),
    admitting('right', ', permissions: { subscribe: { deny: [">"] } }'),
    [...usual, secured(expired)],
  ]) {
    await refuseAndHeal(
      daemon,
      story,
      ({ status }) => status === 503,
      () => nats.configure(refusing),
      () => nats.configure(usual),
    );
  }
  await story.audit(servers.postgres.url);
  assert.equal(await daemon.end('SIGTERM'), 0);
});
