/** A start with embedded servers from a user's view: where crawlers publish, and as which users the servers run. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chown, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { cacheDirectory } from '../../src/local/data-directory.ts';
import { findPostgresBinaries } from '../../src/local/postgres-cluster.ts';
import { LOADER, moduleUrl } from '../support/checkout.ts';
import { runVigie, startDaemon } from '../support/daemon.ts';
import { numberedFlat } from '../support/intake.ts';
import { portForLater } from '../support/ports.ts';
import { copyTestCluster, emptyDirectory, type TestServer } from '../support/servers.ts';

const run = promisify(execFile);

const isRoot = process.getuid?.() === 0;
/** A user id without an entry in any list of users. */
const UNKNOWN_USER = 54_321;
const cacheDir = cacheDirectory();
const serverBin = process.env.NATS_SERVER_BIN || '';
const searched = `${serverBin === '' ? '' : `${dirname(serverBin)}:`}${process.env.PATH}`;
/** Neither URL is set: both servers are embedded. */
const EMBEDDED = { postgres: absent(), nats: absent() };

test('crawlers find the embedded NATS by its port, the ready line, a file and a command', async (t) => {
  const dataDir = await emptyDirectory(t);
  await copyTestCluster(dataDir);
  const port = await portForLater();
  const settings = {
    ...{ VIGIE_DATA_DIR: dataDir, PATH: searched },
    VIGIE_NATS_PORT: String(port),
  };
  const daemon = await startDaemon(t, EMBEDDED, settings);
  const ready = daemon.log.find(({ message }) => message === 'ready');
  assert.equal(ready?.nats, `127.0.0.1:${port}`);
  const url = (await readFile(String(ready?.natsCredentialsFile), 'utf8')).trim();
  assert.equal(new URL(url).host, `127.0.0.1:${port}`);
  assert.ok(!JSON.stringify(daemon.log).includes(new URL(url).password), 'the log contains no password');

  const told = await runVigie(['nats'], EMBEDDED, { settings });
  assert.deepEqual(told, { code: 0, stdout: `${url}\n`, stderr: '' });
  const operators = await runVigie(['nats', '--operator'], EMBEDDED, { settings });
  const { host, username } = new URL(operators.stdout);
  assert.deepEqual([operators.code, host, username === new URL(url).username], [0, `127.0.0.1:${port}`, false]);
  const input = JSON.stringify(numberedFlat(1, 1));
  const published = await runVigie(['publish'], EMBEDDED, { settings, input });
  assert.deepEqual(published, { code: 0, stdout: '1 published, 0 already in the stream, 0 refused.\n', stderr: '' });

  assert.equal(await daemon.end('SIGTERM'), 0);
  const gone = await runVigie(['nats'], EMBEDDED, { settings });
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /^vigie: No daemon runs here/);
});

test('a user without a passwd entry is reported before anything starts, but can use an existing directory', async (t) => {
  if (!isRoot) return t.skip('only root can become another user');
  // Makes a copy of the binaries that any user can read, because this clone may not be readable for others.
  await findPostgresBinaries(cacheDir, { name: 'unknown', userId: UNKNOWN_USER, groupId: UNKNOWN_USER });
  const dataDir = await emptyDirectory(t);
  await chown(dataDir, UNKNOWN_USER, UNKNOWN_USER);
  await assert.rejects(startAs(UNKNOWN_USER, dataDir), ({ stderr }: { stderr: string }) => {
    assert.match(stderr, new RegExp(`the user id ${UNKNOWN_USER} has no entry in the machine's user list`));
    assert.match(stderr, /useradd --uid 54321 NAME.*DATABASE_URL/);
    return true;
  });
  assert.deepEqual(await readdir(dataDir), ['lock']);

  await copyTestCluster(dataDir);
  await run('chown', ['--recursive', `${UNKNOWN_USER}:${UNKNOWN_USER}`, dataDir]);
  assert.match(await startAs(UNKNOWN_USER, dataDir), /^started$/m);
  assert.equal((await stat(join(dataDir, 'nats/store'))).uid, UNKNOWN_USER);
});

test('daemons that start together create each system user once, and use nobody where none can be created', async (t) => {
  const isPossible = isRoot && (await run('unshare', ['--mount', 'true']).then(Boolean, () => false));
  if (!isPossible) return t.skip('only root can hide the list of users of the machine from a process');
  const script = `
    const { serverUser } = await import('${moduleUrl('src/local/ownership')}');
    const warnings = [];
    const user = await serverUser('vigie-nats', (warning) => warnings.push(warning));
    process.stdout.write(JSON.stringify({ user, warnings }) + '\\n');`;
  const start = `node ${LOADER.join(' ')} --input-type=module --eval "$0"`;
  // Gives each run its own /etc with a list of users that other tests do not change.
  const etc = await emptyDirectory(t);
  const isolated = (commands: string) =>
    run('unshare', [
      ...['--mount', '--propagation', 'private', 'sh', '-ec'],
      `cp -a /etc/. "$1"; mount --bind "$1" /etc; userdel --force vigie-nats 2>/dev/null || true; ${commands}`,
      ...[script, etc],
    ]);
  const { stdout } = await isolated(`${start} & ${start} & ${start} & wait`);
  const made = stdout.trim().split('\n');
  assert.equal(made.length, 3);
  assert.equal(new Set(made).size, 1, stdout);
  assert.match(
    made[0] ?? '',
    /^\{"user":\{"name":"vigie-nats","userId":[1-9]\d{2,},"groupId":\d+\},"warnings":\[\]\}$/,
  );

  const { stdout: fallback } = await isolated(`mount -o remount,ro,bind /etc; ${start}`);
  const { user, warnings } = JSON.parse(fallback) as { user: { name: string }; warnings: readonly string[] };
  assert.equal(user.name, 'nobody');
  assert.match(
    warnings.join(),
    /^The system user vigie-nats does not exist.*read-only.*useradd --system --user-group vigie-nats$/,
  );
});

/** Starts both servers as `user` and stops them. */
async function startAs(user: number, dataDir: string): Promise<string> {
  const script = `
    const { openServers } = await import('${moduleUrl('src/local/servers')}');
    const settings = { databaseUrl: null, natsUrl: null, natsPort: 0 };
    const servers = await openServers(
      { ...settings, dataDir: process.argv[1] },
      { onLog: () => undefined, onWarning: () => undefined },
    );
    process.stdout.write('started\\n');
    await servers.stop();`;
  const node = [process.execPath, ...LOADER, '--input-type=module', `--eval=${script}`];
  const { stdout } = await run(
    'setpriv',
    [`--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--', ...node, dataDir],
    { env: { PATH: searched, XDG_CACHE_HOME: dirname(cacheDir) } },
  );
  return stdout;
}

function absent(): TestServer {
  return {
    url: '',
    pid: null,
    kill: async () => undefined,
    stop: async () => undefined,
    restart: async () => undefined,
  };
}
