/**
 * Clients that openapi-generator (Go, Java), oapi-codegen and ogen (Go) generate from the published contract are
 * compiled, and run against a daemon. schemathesis (Python) tries every limit of the contract and compares
 * the answers with it. The tools come from Maven, the Go module proxy and the Python package index. If a compiler or a
 * tool is neither installed nor available, its test is skipped with the reason.
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

/** Runs a program of the toolchain, whose output is text. */
function runIn(
  { environment }: Toolchain,
  program: string,
  args: readonly string[],
  { env, cwd }: ExecFileOptions = {},
) {
  return run(program, args, { encoding: 'utf8', maxBuffer: 1e8, cwd, env: { ...environment, ...env } });
}

/** The generator and the libraries of its Java clients, installed once per machine. */
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
      `Maven cannot fetch the generator and the libraries of its clients: ${stdout || message}`,
  ));
const servers = await startTestServers({ after });
const UNLIMITED = { VIGIE_RATE_LIMIT_PER_SECOND: '1000000', VIGIE_WRITE_LIMIT_PER_SECOND: '1000000' };
const daemon = await startDaemon({ after }, servers, UNLIMITED);
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

/** Creates a key with searches whose property types were sent as a number, as a list, and not at all. */
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
  // The client may use only the standard library, and no other version of Go.
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

interface GoGenerator {
  readonly source: string;
  readonly args: readonly string[];
  /** The modules that the generated packages import. */
  readonly imports: readonly string[];
}

const GO_GENERATORS: Readonly<Record<string, GoGenerator>> = {
  'oapi-codegen': {
    source: 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2',
    args: ['-package', 'vigie', '-o', 'vigie/vigie.go'],
    imports: [
      'github.com/getkin/kin-openapi@v0.153.0',
      'github.com/labstack/echo/v4@v4.16.4',
      'github.com/oapi-codegen/runtime@v1.9.0',
    ],
  },
  ogen: {
    source: 'github.com/ogen-go/ogen/cmd/ogen@v1.25.0',
    args: ['-package', 'vigie', '-target', 'vigie'],
    imports: ['github.com/ogen-go/ogen@v1.25.0'],
  },
};

for (const [name, { source, args, imports }] of Object.entries(GO_GENERATORS)) {
  test(`a client in Go by ${name} compiles, creates and lists searches, and reads errors`, {
    skip: go.missing ?? false,
  }, async (t) => {
    const env = { GOFLAGS: '-mod=mod -modcacherw', GOTOOLCHAIN: 'local' };
    const isInstalled = (home: string) => succeeds(access(join(home, 'bin', name)));
    const installed = await cacheEntry(CACHE, source.replaceAll('/', '-'), isInstalled, async (home) => {
      await runIn(go, 'go', ['install', source], { env: { ...env, GOPATH: home, GOBIN: join(home, 'bin') } });
    }).catch((error: Error) => error);
    if (installed instanceof Error) return t.skip(`Go cannot install ${source}: ${installed.message}`);
    const cwd = join(folder, name);
    await mkdir(join(cwd, 'vigie'), { recursive: true });
    await run(join(installed, 'bin', name), [...args, join(folder, 'openapi.json')], { cwd, maxBuffer: 1e8 });
    await copyFile(join(SOURCES, `${name}.go`), join(cwd, 'main.go'));
    const inGo = (...words: readonly string[]) =>
      runIn(go, 'go', words, { cwd, env: { ...env, GOPATH: installed, GOBIN: '' } });
    await inGo('mod', 'init', 'example.test/client');
    await inGo('get', ...imports);
    await inGo('build', '-o', 'client', '.');
    const { stdout } = await run(join(cwd, 'client'), [daemon.apiUrl, await keyOfSearches(name)]);
    assertRead(stdout, 'Go');
  });
}

/**
 * The check that every valid request succeeds is left out, because no schema can express that a list accepts only one
 * order.
 */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'ignored_auth',
];

test('schemathesis gets no answer that the contract does not describe', async (t) => {
  const inPython = (home: string, ...args: readonly string[]) =>
    run(join(home, 'bin/python'), ['-m', ...args], { cwd: folder, maxBuffer: 1e8 });
  const isUsable = (home: string) => succeeds(inPython(home, 'schemathesis.cli', '--version'));
  const installed = await cacheEntry(CACHE, 'schemathesis-4.32.5', isUsable, async (home) => {
    await run('python3', ['-m', 'venv', home]);
    await inPython(home, 'pip', 'install', '--quiet', 'schemathesis==4.32.5');
  }).catch((error: Error) => error);
  if (installed instanceof Error) return t.skip(`pip cannot install schemathesis: ${installed.message}`);
  const key = `X-API-KEY: ${await keyOfSearches('schemathesis')}`;
  const options = [
    '--phases',
    'examples,coverage',
    '--checks',
    CHECKS.join(),
    '--generation-deterministic',
    '--no-color',
  ];
  const args = [
    'run',
    `${daemon.apiUrl}/openapi.json`,
    '-H',
    key,

    '--continue-on-failure',
    ...options,
  ];
  const { stdout } = await inPython(installed, 'schemathesis.cli', ...args).catch((found) => {
    throw new Error(`${found.message}\n${found.stdout}`);
  });
  assert.match(stdout, /\d{4,} generated, \d{4,} passed/);
});
