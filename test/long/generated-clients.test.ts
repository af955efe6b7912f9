/**
 * Clients that openapi-generator makes of the published contract, in Go and in Java: generated, compiled, and run against
 * a daemon. The generator comes from Maven; where a compiler can neither be found nor fetched, its test says so and is
 * skipped.
 */

import assert from 'node:assert/strict';
import { type ExecFileOptions, execFile } from 'node:child_process';
import { access, copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { succeeds } from '../../src/engine/actor/waiting.ts';
import { cacheEntry } from '../../src/local/cache.ts';
import { ROOT } from '../support/checkout.ts';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { restClient } from '../support/rest-client.ts';
import { CACHE, startTestServers } from '../support/servers.ts';
import { goToolchain, javaToolchain, type Toolchain } from '../support/toolchains.ts';

const run = promisify(execFile);
const SOURCES = join(ROOT, 'test/clients/generators');
const GENERATOR = 'openapi-generator-cli-7.25.0.jar';

const java = await javaToolchain();
const go = await goToolchain();

/** A program of the toolchain, whose output is text. */
function runIn(
  { environment }: Toolchain,
  program: string,
  args: readonly string[],
  { env, cwd }: ExecFileOptions = {},
) {
  return run(program, args, { encoding: 'utf8', maxBuffer: 1e8, cwd, env: { ...environment, ...env } });
}

/** The generator and what its clients in Java need, installed once a machine. */
function installedJars(): Promise<string> {
  return cacheEntry(
    CACHE,
    'generated-clients-7.25.0',
    (home) => succeeds(access(join(home, 'jars', GENERATOR))),
    async (home) => {
      await copyFile(join(SOURCES, 'pom.xml'), join(home, 'pom.xml'));
      const repository = join(home, 'repository');
      const places = [`-Dmaven.repo.local=${repository}`, `-DoutputDirectory=${join(home, 'jars')}`];
      await runIn(java, 'mvn', ['-q', '-B', ...places, 'dependency:copy-dependencies'], { cwd: home });
      await rm(repository, { recursive: true });
    },
  );
}

const noGenerator =
  java.missing ??
  (await installedJars().then(
    () => null,
    // Maven writes its errors to the standard output.
    ({ message, stdout }: Error & { readonly stdout?: string }) =>
      `Maven does not fetch the generator and what its clients need: ${stdout || message}`,
  ));
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
  await runIn(java, 'java', ['-jar', jar, 'generate', ...args, '--git-host', 'example.test', ...OWNER]);
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
  skip: noGenerator ?? go.missing ?? false,
}, async () => {
  const output = await generate('go', 'packageName=vigie');
  await mkdir(join(output, 'main'));
  await copyFile(join(SOURCES, 'main.go'), join(output, 'main/main.go'));
  // Nothing but the standard library, and no other Go than this.
  const env = { GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local' };
  await runIn(go, 'go', ['build', '-o', 'client', './main'], { cwd: output, env });
  const { stdout } = await run(join(output, 'client'), [daemon.apiUrl, await keyOfSearches('go')]);
  assertRead(stdout, 'Go');
});

test('a client in Java compiles, creates and lists searches, and reads errors', {
  skip: noGenerator ?? false,
}, async () => {
  const output = await generate('java', 'library=native,serializationLibrary=jackson');
  const classPath = join(await installedJars(), 'jars', '*');
  const files = await readdir(join(output, 'src/main/java'), { recursive: true });
  const sources = files.filter((name) => name.endsWith('.java')).map((name) => join(output, 'src/main/java', name));
  await writeFile(join(output, 'sources'), [...sources, join(SOURCES, 'Main.java')].join('\n'));
  const classes = join(output, 'classes');
  await runIn(java, 'javac', [
    '-encoding',
    'UTF-8',
    '-nowarn',
    '-proc:none',
    '-cp',
    classPath,
    '-d',
    classes,
    `@${join(output, 'sources')}`,
  ]);
  const args = ['-cp', `${classes}:${classPath}`, 'Main', daemon.apiUrl, await keyOfSearches('java')];
  const { stdout } = await runIn(java, 'java', args);
  assertRead(stdout, 'Java');
});
