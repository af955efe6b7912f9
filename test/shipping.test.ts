/** Shipped configuration files name only existing settings, ports and paths. Checked without a Docker engine. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseEnv, promisify } from 'node:util';
import { parse } from 'yaml';
import { ROLES } from '../src/config.ts';
import { words } from '../src/console/page/words/words.ts';
import { succeeds } from '../src/engine/actor/waiting.ts';
import { ROOT } from './support/checkout.ts';
import { assertNone } from './support/lists.ts';
import { emptyDirectory } from './support/servers.ts';

const run = promisify(execFile);
const CONFIG = join(ROOT, 'config/');
const read = (name: string) => readFile(join(CONFIG, name), 'utf8');
/** Variables of the files themselves, not settings of the program. */
const OWN = ['VIGIE_HOST', 'VIGIE_UPSTREAM', 'VIGIE_DATABASE_PASSWORD', 'VIGIE_NATS_PASSWORD', 'CRAWLER_NATS_PASSWORD'];

const settings = async () => parseEnv(await read('default.env'));
const portOf = (address = '') => address.split(':').at(-1) as string;

test('every setting that compose files, the unit, the Caddyfile and install.md name exists', async () => {
  const known = [...Object.keys(await settings()), ...OWN];
  for (const file of ['compose.yaml', 'compose.roles.yaml', 'systemd/vigie.service', 'Caddyfile', 'install.md']) {
    const names = (await read(file)).match(/\b(?:VIGIE_[A-Z_]*[A-Z]|\w+_NATS_PASSWORD|DATABASE_URL|NATS_URL)\b/g) ?? [];
    const unknown = names.filter((name) => !known.includes(name));
    assert.deepEqual([file, unknown], [file, []]);
    if (!file.endsWith('.md')) assert.ok(names.length > 0, file);
  }
});

test('the separate services run every role, those for the API, intake and delivery twice', async () => {
  const { services: whole } = parse(await read('compose.yaml'), { merge: true });
  const { services } = parse(await read('compose.roles.yaml'), { merge: true });
  const roles = Object.values<{ environment: { VIGIE_ROLES: string } }>(services).flatMap(({ environment }) =>
    environment.VIGIE_ROLES.split(','),
  );
  assert.deepEqual(roles.sort(), [...ROLES].sort());
  for (const [name, { extends: from }] of Object.entries<{ extends?: { service: string } }>(services))
    assert.ok((from?.service ?? name) in whole, name);
  for (const name of ['vigie', 'intake', 'deliver']) assert.equal(services[name].deploy.replicas, 2);
});

test('the commands of install.md create every secret of the compose file', async () => {
  const demanded = [...(await read('compose.yaml')).matchAll(/\$\{(\w+):\?\}/g)].map(([, name = '']) => name);
  const page = await read('install.md');
  for (const name of new Set(demanded)) assert.ok(page.includes(name), name);
  assert.equal(new Set(demanded).size, 4);
  // NATS parses a password as part of its configuration, where 4e5… would be a number.
  const { services } = parse(await read('compose.yaml'), { merge: true });
  for (const password of Object.values<string>(services.nats.environment)) assert.match(password, /^"\$\{\w+:\?\}"$/);
});

test('shipped files have the ports and times of the program, and mounted files exist', async () => {
  const defaults = await settings();
  const [compose, unit, caddy, nats] = (await Promise.all(
    ['compose.yaml', 'systemd/vigie.service', 'Caddyfile', 'nats-server.conf'].map(read),
  )) as [string, string, string, string];
  const api = portOf(defaults.VIGIE_API_ADDRESS);
  assert.ok(compose.includes(`VIGIE_UPSTREAM: vigie:${api}`));
  assert.ok(caddy.includes(`{$VIGIE_UPSTREAM:${defaults.VIGIE_API_ADDRESS}}`));
  assert.ok(unit.includes(`http://${defaults.VIGIE_OPERATIONS_ADDRESS}/readyz`));
  const port = /^port: (\d+)$/m.exec(nats)?.[1];
  assert.ok(compose.includes(`@nats:${port}`) && compose.includes(`127.0.0.1:${port}:${port}`));
  assert.ok(compose.includes(`http://${/^http: (\S+)$/m.exec(nats)?.[1]}/healthz`));
  assert.ok(compose.includes(`"nats:${/store_dir: (\S+)/.exec(nats)?.[1]}"`));
  const drainSeconds = Number(defaults.VIGIE_DRAIN_TIMEOUT_MS) / 1_000;
  for (const [, seconds] of `${compose}\n${unit}`.matchAll(/(?:stop_grace_period: |TimeoutStopSec=)(\d+)s/g))
    assert.ok(Number(seconds) > drainSeconds);
  const proxy = /VIGIE_PROXY_ADDRESSES: (\S+)/.exec(compose)?.[1];
  assert.ok(compose.includes(`ipv4_address: ${proxy} `), 'Caddy is exempt from the limit of connections');
  for (const [, path = ''] of compose.matchAll(/"\.\/([^:"]+):/g)) await access(join(CONFIG, path));
});

test('systemd accepts the unit', async (t) => {
  if (!(await succeeds(run('systemd-analyze', ['--version'])))) return t.skip('systemd-analyze is not installed');
  const unit = join(await emptyDirectory(t, 'unit'), 'vigie.service');
  const shipped = await read('systemd/vigie.service');
  const verify = async (text: string) => {
    await writeFile(unit, text.replace('/usr/local/bin/vigie', process.execPath));
    return (await run('systemd-analyze', ['verify', unit])).stderr;
  };
  assert.equal(await verify(shipped), '');
  assert.notEqual(await verify(shipped.replace('ProtectHome=', 'ProtectHomes=')), '');
});

test('the first dashboard has twelve panels, each with a sentence and thresholds', async () => {
  const { panels } = JSON.parse(await read('grafana/vigie.json'));
  assert.equal(panels.length, 12);
  for (const { title, description, fieldConfig } of panels) {
    assert.match(description, /^[A-Z].*[.?]$|: \S.*[.?]?$/, title);
    assert.ok(fieldConfig.defaults.thresholds.steps.length >= 2, title);
  }
});

test('third-party data is attributed next to the program, and in the console', async () => {
  const door = await readFile(join(CONFIG, '../src/console/page/sign-in.tsx'), 'utf8');
  assert.match(door, /\{words\.sources\}/);
  const notice = await read('NOTICE');
  const sources = Object.values(words.sources);
  for (const said of [notice, ...sources])
    for (const name of ['La Poste', 'INSEE', 'IGN', 'Licence Ouverte 2.0', 'Grammalecte'])
      assert.ok(said.includes(name), name);
  for (const said of sources) assert.match(said, /MPL 2\.0/);
});

test('every action of a workflow is pinned by its commit, and a workflow is read-only unless a job says otherwise', async () => {
  const folder = join(CONFIG, '../.github/workflows');
  for (const name of await readdir(folder)) {
    const text = await readFile(join(folder, name), 'utf8');
    assert.match(text, /^permissions: read-all$/m, name);
    for (const [, action = ''] of text.matchAll(/uses: (?!\.\/)(.+)/g))
      assert.match(action, /^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, name);
  }
});

test('the containers of the chart run the command, the ports, the user and the probes of the Dockerfile', async () => {
  const dockerfile = await readFile(join(CONFIG, '../Dockerfile'), 'utf8');
  const pods = await read('helm/vigie/templates/deployments.yaml');
  const [, command = ''] = /^CMD \["(\w+)"\]$/m.exec(dockerfile) ?? [];
  assert.ok(pods.includes(`args: [${command}]`));
  for (const port of (/^EXPOSE (.*)$/m.exec(dockerfile)?.[1] ?? '').split(' '))
    assert.ok(pods.includes(`containerPort: ${port} `), port);
  const [, health = ''] = /\/(\w+)`\)\.then/.exec(dockerfile) ?? [];
  for (const probe of ['startupProbe', 'livenessProbe'])
    assert.match(pods, new RegExp(`${probe}:\\s+httpGet: \\{ path: /${health}, port: operations \\}`));
  assert.match(pods, /readinessProbe:\s+httpGet: \{ path: \/readyz, port: operations \}/);
  // The user `node` of the image is 1000; only a number proves that it is not root.
  assert.match(dockerfile, /^USER node$/m);
  assert.ok(pods.includes('runAsUser: 1000'));
  const known = Object.keys(await settings());
  const named = [...pods.matchAll(/- name: ([A-Z_]+)$/gm)].map(([, name = '']) => name);
  assert.ok(named.length > 5);
  assertNone(named.filter((name) => !known.includes(name)));
});
