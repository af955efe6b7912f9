/**
 * Clients that openapi-generator makes of the published contract, in Go and in Java: generated, compiled, and run against
 * a daemon. The generator comes from Maven; where a toolchain is missing, its test says so and is skipped.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { cacheEntry } from '../../src/local/cache.ts';
import { ROOT } from '../support/checkout.ts';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { restClient } from '../support/rest-client.ts';
import { CACHE, startTestServers } from '../support/servers.ts';

const run = promisify(execFile);
const SOURCES = join(ROOT, 'test/clients/generators');
const GENERATOR = 'openapi-generator-cli-7.25.0.jar';

async function missing(...programs: readonly string[]): Promise<string | false> {
  for (const program of programs) {
    const isThere = await run('sh', ['-c', 'command -v "$0"', program]).then(
      () => true,
      () => false,
    );
    if (!isThere) return `there is no ${program} on the PATH (Debian: default-jdk-headless, maven, golang-go)`;
  }
  return false;
}

/** The generator and what its clients in Java need, installed once a machine. */
function installedJars(): Promise<string> {
  return cacheEntry(
    CACHE,
    'generated-clients-7.25.0',
    (home) =>
      access(join(home, 'jars', GENERATOR)).then(
        () => true,
        () => false,
      ),
    async (home) => {
      await copyFile(join(SOURCES, 'pom.xml'), join(home, 'pom.xml'));
      await run('mvn', ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${join(home, 'jars')}`], {
        cwd: home,
      });
    },
  );
}

const noJava = await missing('java', 'javac', 'mvn');
const servers = await startTestServers({ after });
const daemon = await startDaemon({ after }, servers);
const folder = await mkdtemp(join(tmpdir(), 'vigie-generated-'));
after(() => rm(folder, { recursive: true, force: true }));
await writeFile(join(folder, 'openapi.json'), await (await fetch(`${daemon.apiUrl}/openapi.json`)).text());

async function generate(language: string, properties: string): Promise<string> {
  const output = join(folder, language);
  const jar = join(await installedJars(), 'jars', GENERATOR);
  const args = [
    '-i',
    join(folder, 'openapi.json'),
    '-g',
    language,
    '-o',
    output,
    `--additional-properties=${properties}`,
  ];
  await run('java', ['-jar', jar, 'generate', ...args, '--git-host', 'example.test', ...OWNER], { maxBuffer: 1e8 });
  return output;
}

const OWNER = ['--git-user-id', 'vigie', '--git-repo-id', 'client'];

/** A key whose searches have the types of property as a number, as a list, and not at all. */
async function keyOfSearches(client: string): Promise<string> {
  const key = await createApiKey(servers, client);
  const rest = restClient(daemon, key);
  for (const propertyTypes of [1, [1], undefined])
    await rest.createSearch({ title: JSON.stringify(propertyTypes) ?? 'none', propertyTypes });
  return key;
}

function assertRead(said: string, language: string): void {
  assert.deepEqual(JSON.parse(said), {
    created: 201,
    budgetMax: 25_500_001,
    types: { 1: 1, '[1]': [1], none: null, [`From ${language}`]: [0, 1] },
    city: 'Toulon',
    refused: 422,
    violations: 'roomMin',
  });
}

test('a client in Go compiles, creates and lists searches, and reads errors', {
  skip: noJava || (await missing('go')),
}, async () => {
  const output = await generate('go', 'packageName=vigie');
  await mkdir(join(output, 'main'));
  await copyFile(join(SOURCES, 'main.go'), join(output, 'main/main.go'));
  const environment = { ...process.env, GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local' };
  await run('go', ['build', '-o', 'client', './main'], { cwd: output, env: environment });
  const { stdout } = await run(join(output, 'client'), [daemon.apiUrl, await keyOfSearches('go')]);
  assertRead(stdout, 'Go');
});

test('a client in Java compiles, creates and lists searches, and reads errors', { skip: noJava }, async () => {
  const output = await generate('java', 'library=native,serializationLibrary=jackson');
  const classPath = join(await installedJars(), 'jars', '*');
  const files = await readdir(join(output, 'src/main/java'), { recursive: true });
  const sources = files.filter((name) => name.endsWith('.java')).map((name) => join(output, 'src/main/java', name));
  await writeFile(join(output, 'sources'), [...sources, join(SOURCES, 'Main.java')].join('\n'));
  const classes = join(output, 'classes');
  await run('javac', ['-nowarn', '-proc:none', '-cp', classPath, '-d', classes, `@${join(output, 'sources')}`]);
  const args = ['-cp', `${classes}:${classPath}`, 'Main', daemon.apiUrl, await keyOfSearches('java')];
  const { stdout } = await run('java', args);
  assertRead(stdout, 'Java');
});
