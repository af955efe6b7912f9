/**
 * From an empty home directory to the first alert with the commands of config/install.md. They install the package as
 * an ordinary user, the compose files, and the systemd unit. The test needs no Docker engine and no systemd: it runs
 * their commands with their environment, on embedded servers or those of Debian.
 */

import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, type TestContext, test } from 'node:test';
import { parseEnv, promisify } from 'node:util';
import { parse } from 'yaml';
import { freePort } from '../../src/local/child-server.ts';
import { type Caddy, startCaddy } from '../support/caddy.ts';
import { ROOT } from '../support/checkout.ts';
import { queryOnce } from '../support/database.ts';
import { findNewerPostgres, startExternalPostgres } from '../support/external-postgres.ts';
import { poisonCache } from '../support/hostile-cache.ts';
import { numberedFlat } from '../support/intake.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { findNewerNats } from '../support/newer-nats.ts';
import { polirisFile } from '../support/poliris.ts';
import { type Cleanup, lastFirst } from '../support/servers.ts';
import { startShippedNats } from '../support/shipped-nats.ts';

const run = promisify(execFile);
const NOBODY = 65_534;
const isRoot = process.geteuid?.() === 0;
const PORTS = {
  ...{ VIGIE_API_ADDRESS: '127.0.0.1:0', VIGIE_OPERATIONS_ADDRESS: '127.0.0.1:0' },
  ...{ VIGIE_ADMIN_ADDRESS: '127.0.0.1:0', VIGIE_NATS_PORT: '0' },
};

let folder: string;
/** The home of the ordinary user. */
let home: string;
/** The folder for temporary files, with files that another user wants the program to execute. */
let temporary: string;
let packed: string;
let installSeconds: number;
const children: ChildProcess[] = [];

/** The lines of each block of commands in a section of the page, without their comments. */
async function blocksOf(part: string): Promise<readonly (readonly string[])[]> {
  const page = await readFile(join(ROOT, 'config/install.md'), 'utf8');
  const [text = ''] = page.slice(page.indexOf(`\n## ${part}`) + 1).split('\n## ');
  return [...text.matchAll(/```sh\n([^]*?)```/g)].map(([, block = '']) =>
    block
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/ {2,}#.*$/, '')),
  );
}

async function commandsOf(part: string): Promise<readonly string[]> {
  return (await blocksOf(part))[0] ?? [];
}

/** A shell of the ordinary user, with the environment of a bare system. */
function shell(line: string, settings: Readonly<Record<string, string>> = {}): ChildProcess {
  const { NODE_EXTRA_CA_CERTS } = process.env;
  const child = spawn('/bin/sh', ['-ec', line], {
    cwd: home,
    detached: true,
    ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
    env: {
      ...{
        TMPDIR: temporary,
        HOME: home,
        PATH: `${home}/.local/bin:${join(process.execPath, '..')}:/usr/bin:/bin:/usr/sbin:/sbin`,
      },
      ...(NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }),
      ...settings,
    },
  });
  children.push(child);
  return child;
}

/** Rejects with the command's output if it fails. */
async function runShell(line: string, settings: Readonly<Record<string, string>> = {}, input = ''): Promise<string> {
  const child = shell(line, settings);
  // A short command may end before its input is written.
  child.stdin?.on('error', () => undefined).end(input);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    new Promise((resolve) => child.once('exit', resolve)),
  ]);
  assert.equal(code, 0, `${line}\n${stdout}\n${stderr}`);
  return stdout;
}

/** Resolves with the first line that matches. */
function lineOf(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  const seen: string[] = [];
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      seen.push(line);
      const found = pattern.exec(line);
      if (found !== null) resolve(found);
    });
    child.stderr?.on('data', (chunk) => seen.push(String(chunk)));
    child.once('exit', (code) => reject(new Error(`ended with ${code}:\n${seen.join('\n')}`)));
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await exited;
}

interface Hook {
  readonly url: string;
  readonly first: Promise<IncomingMessage['headers']>;
}

/** A user's program that receives webhooks. */
async function startHook(t: TestContext): Promise<Hook> {
  let take: (headers: IncomingMessage['headers']) => void = () => undefined;
  const first = new Promise<IncomingMessage['headers']>((resolve) => {
    take = resolve;
  });
  const server = createServer((asked, answer) => {
    take(asked.headers);
    asked.resume().once('end', () => answer.end());
  });
  return { url: `http://127.0.0.1:${await listenOnLoopback(t, server)}/hooks`, first };
}

/** Writes the two files that the page names. */
async function writeInput(hook: Hook): Promise<void> {
  const searches = [{ title: 'Everything', notificationEnabled: true, endpointRecipient: hook.url }];
  await writeFile(join(home, 'searches.json'), JSON.stringify(searches));
  await writeFile(join(home, 'adverts.ndjson'), `${JSON.stringify(numberedFlat(1, 250_000))}\n`);
}

/** Debian's default: connections over the network need a password. The superuser's line is for the test. */
const PASSWORDS_ASKED = 'host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n';

/**
 * Starts the PostgreSQL of Debian 13 without a database, or this machine's if Debian's cannot be fetched. Resolves with
 * the URL of its superuser.
 */
async function startDebianPostgres(t: TestContext, cleanup: Cleanup, options: Readonly<Record<string, string>> = {}) {
  const access = await mkdtemp(join(tmpdir(), 'vigie-access-'));
  cleanup.after(() => rm(access, { recursive: true }));
  await chmod(access, 0o755);
  await writeFile(join(access, 'pg_hba.conf'), PASSWORDS_ASKED, { mode: 0o644 });
  const settings = { ...options, hba_file: join(access, 'pg_hba.conf') };
  const newer = await findNewerPostgres().catch(() => undefined);
  const { superuserUrl } = await startExternalPostgres(cleanup, settings, false, newer);
  const url = superuserUrl.replace(/vigie$/, 'postgres');
  const [version] = await queryOnce(url, 'show server_version');
  t.diagnostic(`PostgreSQL ${Object.values(version ?? {}).join('')}`);
  await queryOnce(url, 'drop database vigie');
  await queryOnce(url, 'drop role vigie');
  return url;
}

/** Starts Debian's nats-server, or this machine's if Debian's cannot be fetched. Resolves with `host:port`. */
async function startDebianNats(cleanup: Cleanup, passwords: { readonly vigie: string; readonly crawler: string }) {
  return startShippedNats(cleanup, passwords, await findNewerNats().catch(() => undefined));
}

/** Sends a request with a key over TLS. */
async function askThrough({ url, authorityFile }: Caddy, key: string): Promise<number | undefined> {
  const ca = await readFile(authorityFile);
  return new Promise((resolve, reject) => {
    request(`${url}/searches`, { ca, headers: { 'X-API-KEY': key } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

const seconds = (since: number): number => (performance.now() - since) / 1_000;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vigie-installed-'));
  [home, temporary] = [join(folder, 'home'), join(folder, 'tmp')];
  await Promise.all([mkdir(home), mkdir(temporary)]);
  await chmod(temporary, 0o1777);
  if (isRoot) await Promise.all([chown(folder, NOBODY, NOBODY), chown(home, NOBODY, NOBODY)]);
  await run('npm', ['run', '-s', 'ready'], { cwd: ROOT });
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT });
  packed = join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz')) as string);
  const [install = ''] = await commandsOf('The package');
  const began = performance.now();
  // Installs as the page says for users without permission to install globally.
  await runShell(install.replace(/vigie$/, `--prefix ~/.local --ignore-scripts ${packed}`));
  assert.ok(!existsSync(join(home, '.local/lib/node_modules/vigie/node_modules/@scarf')), 'no usage tracker');
  installSeconds = seconds(began);
  const main = await realpath(join(home, '.local/bin/vigie'));
  await poisonCache(temporary, isRoot ? NOBODY : (process.geteuid?.() as number), main, join(temporary, 'mark'));
});
after(async () => {
  await Promise.all(children.map(end));
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
});

test('the package: two commands to the first webhooks, verified and shown', async (t) => {
  const [install, demo = '', ...more] = await commandsOf('The package');
  assert.match(install ?? '', /^npm install --global vigie$/);
  assert.deepEqual(more, []);
  const began = performance.now();
  const demonstration = shell(`exec ${demo}`, PORTS);
  const operators = lineOf(demonstration, /^ +operators +(.+)$/);
  await lineOf(demonstration, /← match .*signature verified/);
  t.diagnostic(
    `2 commands, ${(installSeconds + seconds(began)).toFixed(1)} s, ${installSeconds.toFixed(1)} of them to install`,
  );
  const [, status = ''] = await operators;
  assert.match(status, /^VIGIE_DATA_DIR=\S+ vigie admin status --address /);
  assert.match(await runShell(status), /deliver/);
  await end(demonstration);
});

test('the package contains a version, third-party licences, the changelog and a bill of materials', async () => {
  const installed = join(home, '.local/lib/node_modules/vigie');
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  assert.equal(await runShell('vigie --version'), `${version}\n`);
  const notice = await readFile(join(installed, 'config/NOTICE'), 'utf8');
  for (const name of ['La Poste', 'IGN', 'INSEE', 'Mozilla']) assert.ok(notice.includes(name), name);
  assert.match(await readFile(join(installed, 'config/CHANGELOG.md'), 'utf8'), /^# /);
  const page = await readFile(join(ROOT, 'config/install.md'), 'utf8');
  assert.ok(page.includes(`\`${basename(packed)}\``), 'the file that npm pack writes');
  const [, billing = ''] = /`(npm sbom .*?)`/.exec(page) ?? [];
  const project = join(home, 'project');
  await runShell(`mkdir ${project} && cd ${project} && npm init --yes && npm install --no-audit ${packed}`);
  const { components } = JSON.parse(await runShell(`cd ${project} && ${billing}`));
  assert.ok(components.length > 40);
  assert.ok(components.some(({ name }: { name: string }) => name === 'vigie'));
});

test('the package is JavaScript, and executes no file of another user', async () => {
  await runShell('vigie --help && { vigie doctor || true; }');
  assert.ok(!existsSync(join(temporary, 'mark')));
  const modules = join(home, '.local/lib/node_modules/vigie/node_modules');
  for (const name of ['tsx', 'esbuild', 'typescript']) assert.ok(!existsSync(join(modules, name)), name);
});

interface Unit {
  /** The page's `import` and `publish` commands. */
  readonly fill: readonly string[];
  readonly settingsFile: string;
  /** Starts the unit's command in the ordinary user's home; resolves when the daemon is ready. */
  start(settings: Readonly<Record<string, string>>): Promise<ChildProcess>;
  /** The daemon's data directory. */
  readonly state: string;
}

/** Reads the unit that the page's first three commands install and start. The test runs it without systemd. */
async function readUnit(): Promise<Unit> {
  const lines = await commandsOf('A service of systemd');
  assert.equal(lines.length, 5);
  const [install, unitLine = '', start, ...fill] = lines as string[];
  assert.equal(install, 'npm install --global vigie');
  assert.equal(start, 'systemctl enable --now vigie');
  const path = /"(.*)"/.exec(unitLine)?.[1] as string;
  const unitFile = await runShell(`printf %s "${path}"`, { npm_config_prefix: `${home}/.local` });
  const unit = await readFile(unitFile, 'utf8');
  const [state, cache] = [join(home, 'state'), join(home, 'cache')];
  await runShell(`rm -rf ${state} && install -d -m 700 ${state} ${cache}`);
  const inHome = (value: string) => value.replaceAll('/var/lib/vigie', state).replaceAll('/var/cache/vigie', cache);
  const environment = Object.fromEntries(
    [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, pairs = '']) =>
      pairs.split(' ').map((pair) => [pair.slice(0, pair.indexOf('=')), inHome(pair.slice(pair.indexOf('=') + 1))]),
    ),
  );
  return {
    ...{ fill, state, settingsFile: /^EnvironmentFile=-(.*)$/m.exec(unit)?.[1] as string },
    async start(settings) {
      const [, program = ''] = /^ExecStart=\/usr\/local\/bin\/(.*)$/m.exec(unit) ?? [];
      const all = { ...PORTS, ...environment, VIGIE_ALLOW_PRIVATE_ENDPOINTS: 'true', ...settings };
      const daemon = shell(`exec ${program}`, all);
      const [, operations = ''] = await lineOf(daemon, /"operations":"(http[^"]+)".*"message":"ready"/);
      const [, waiting = ''] = /^ExecStartPost=\/bin\/sh -c '(.*)'$/m.exec(unit) ?? [];
      await runShell(waiting.replace('http://127.0.0.1:9464', operations));
      return daemon;
    },
  };
}

test('the unit runs after five commands, with the embedded servers', async (t) => {
  const hook = await startHook(t);
  await writeInput(hook);
  const began = performance.now();
  const { fill, state, start } = await readUnit();
  const daemon = await start({});
  // If the test runs as root, so do these commands, which must find the daemon of another user.
  const commands = {
    VIGIE_DATA_DIR: state,
    VIGIE_ALLOW_PRIVATE_ENDPOINTS: 'true',
    PATH: `${home}/.local/bin:${process.env.PATH}`,
  };
  for (const line of fill) {
    const { stderr } = await run('/bin/sh', ['-ec', line], { cwd: home, env: commands });
    assert.equal(stderr.replaceAll(/.*publishing.*\n?/g, ''), '');
  }
  await hook.first;
  t.diagnostic(
    `5 commands, ${(installSeconds + seconds(began)).toFixed(1)} s, ${installSeconds.toFixed(1)} of them to install`,
  );
  await writeFile(
    join(home, 'Annonces.csv'),
    polirisFile([{ 2: 'R1', 3: 'vente', 4: 'appartement', 5: '83600', 6: 'Fréjus', 11: '250000' }]),
  );
  const feed = await run('/bin/sh', ['-ec', 'vigie feed agency --format poliris Annonces.csv'], {
    cwd: home,
    env: commands,
  });
  assert.match(feed.stdout, /^agency: 1 adverts; 1 new/);
  await end(daemon);
  assert.equal(daemon.exitCode, 0);
});

test('the unit runs after five commands, with PostgreSQL, NATS and Caddy of Debian', async (t) => {
  const [, [makeDatabase = ''] = [], named = []] = await blocksOf('A service of systemd');
  const hook = await startHook(t);
  await writeInput(hook);
  const cleanup = lastFirst(t);
  const postgres = await startDebianPostgres(t, cleanup);
  const nats = await startDebianNats(cleanup, { vigie: 'SECRET', crawler: 'other' });
  const upstream = `127.0.0.1:${await freePort()}`;
  const caddy = await startCaddy(cleanup, upstream);
  const began = performance.now();
  const { fill, settingsFile, start } = await readUnit();
  for (const [, statement = ''] of makeDatabase.matchAll(/-c "([^"]+)"/g)) await queryOnce(postgres, statement);
  const own = join(home, 'vigie.env');
  const settings = named.join('\n').replace('127.0.0.1:5432', new URL(postgres).host).replace('127.0.0.1:4222', nats);
  await writeFile(own, `${settings}\nVIGIE_ALLOW_PRIVATE_ENDPOINTS=true\n`);
  const daemon = await start({ ...parseEnv(await readFile(own, 'utf8')), VIGIE_API_ADDRESS: upstream });
  const page = await readFile(join(ROOT, 'config/install.md'), 'utf8');
  const [, reading = ''] = /need these settings too\. Load them with `(.*?)`/.exec(page) ?? [];
  assert.ok(reading.endsWith(` ${settingsFile}`), 'the settings that the unit reads');
  const inEnvironment = (line: string) => runShell(`${reading.replace(settingsFile, own)}\n${line}`);
  for (const line of fill) await inEnvironment(line);
  await hook.first;
  t.diagnostic(
    `5 commands and a database, ${(installSeconds + seconds(began)).toFixed(1)} s, ${installSeconds.toFixed(1)} of them to install`,
  );
  const key = (await inEnvironment('vigie keys create --client me')).trim();
  assert.equal(await askThrough(caddy, key), 200, 'through Caddy, with TLS');
  for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js'])
    assert.equal((await fetch(`http://${upstream}/docs/${file}`)).status, 200, file);
  await end(daemon);
  assert.equal(daemon.exitCode, 0);
});

test('the compose file runs after five commands, with PostgreSQL, NATS and Caddy of Debian', async (t) => {
  const lines = await commandsOf('Containers');
  assert.equal(lines.length, 5);
  const [, secrets = '', up, ...fill] = lines as string[];
  assert.equal(up, 'docker compose up --detach --wait');
  const hook = await startHook(t);
  await writeInput(hook);
  const began = performance.now();
  await runShell(secrets);
  const env = parseEnv(await readFile(join(home, '.env'), 'utf8'));
  const { services } = parse(await readFile(join(ROOT, 'config/compose.yaml'), 'utf8'), { merge: true });
  const filled = (value: string): string =>
    value.replaceAll(/\$\{(\w+)(:[-?])?([^}]*)\}/g, (_, name: string, kind: string, other: string) => {
      if (kind === ':?' && !env[name]) assert.fail(`the page does not create ${name}`);
      return env[name] || (kind === ':-' ? other : '');
    });
  const cleanup = lastFirst(t);
  const options = [...String(services.postgres.command).matchAll(/-c (\w+)=(\S+)/g)].map(([, name, value]) => [
    name,
    value,
  ]);
  const postgres = await startDebianPostgres(t, cleanup, Object.fromEntries(options));
  // Creates the role and the database as the image of PostgreSQL does from its environment.
  await queryOnce(postgres, `create role vigie login superuser password '${env.VIGIE_DATABASE_PASSWORD}'`);
  await queryOnce(postgres, 'create database vigie owner vigie');
  const nats = await startDebianNats(cleanup, {
    ...{ vigie: env.VIGIE_NATS_PASSWORD as string, crawler: env.CRAWLER_NATS_PASSWORD as string },
  });
  const upstream = `127.0.0.1:${await freePort()}`;
  const caddy = await startCaddy(cleanup, upstream);
  const settings = Object.fromEntries(
    Object.entries<unknown>(services.vigie.environment).map(([name, value]) => [
      name,
      filled(String(value))
        .replace('@postgres:5432', `@${new URL(postgres).host}`)
        .replace('@nats:4222', `@${nats}`)
        .replace('https://localhost', caddy.url)
        .replace('172.30.53.2', '127.0.0.1'),
    ]),
  );
  const container = { ...PORTS, ...settings, VIGIE_ALLOW_PRIVATE_ENDPOINTS: 'true', VIGIE_API_ADDRESS: upstream };
  const daemon = shell('exec vigie serve', container);
  await lineOf(daemon, /"message":"ready"/);
  for (const line of fill) {
    const [, command = ''] = /^docker compose run --rm --no-deps -T (?:--volume \S+ )?vigie (.*)$/.exec(line) ?? [];
    assert.notEqual(command, '', line);
    await runShell(`vigie ${command.replace('/files/', './')}`, container);
  }
  await hook.first;
  t.diagnostic(`5 commands, ${seconds(began).toFixed(1)} s, without the image`);
  const key = (await runShell('vigie keys create --client me', container)).trim();
  const authority = join(home, 'authority.pem');
  await writeFile(authority, await readFile(caddy.authorityFile));
  assert.equal(await askThrough(caddy, key), 200, 'through Caddy, with TLS');
  const doctor = JSON.parse(
    await runShell('vigie doctor --json || true', { ...container, NODE_EXTRA_CA_CERTS: authority }),
  );
  const wrong = doctor.filter(
    ({ level, about }: { level: string; about: string }) => level === 'wrong' && about !== 'service',
  );
  assert.deepEqual(wrong, []);
  await end(daemon);
});
