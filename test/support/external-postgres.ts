/**
 * A PostgreSQL server as a distribution ships it, with untuned defaults and JIT compilation (`jit`). It is the
 * installed server, or that of Debian's package, unpacked into the cache without root.
 */

import { execFile } from 'node:child_process';
import { access, mkdtemp, readdir, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { succeeds } from '../../src/engine/actor/waiting.ts';
import { cacheEntry, unpackDebianPackages } from '../../src/local/cache.ts';
import { setprivArguments, startChildServer, waitUntilReady } from '../../src/local/child-server.ts';
import { giveDirectory, serverUser } from '../../src/local/ownership.ts';
import { queryOnce } from './database.ts';
import { debian13Sources } from './debian-13.ts';
import { CACHE, type Cleanup, type TestPostgres, temporaryDirectory, testServer } from './servers.ts';

const run = promisify(execFile);

/** Includes the libraries that a small installation may lack. */
const PACKAGES = ['postgresql-15', 'libllvm14', 'libpq5'];
const VERSIONS = 'usr/lib/postgresql';
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

/** Packages of Debian 13, with system libraries newer than the machine's. */
const NEWER_PACKAGES = [
  ...['postgresql-17', 'libicu76', 'libldap2', 'libxml2', 'libssl3t64', 'libpq5'],
  ...['libc6', 'libstdc++6', 'libgcc-s1'],
];
const NEWER_MAJOR = 17;

export interface Installation {
  /** The directory of `postgres` and `initdb`. */
  readonly programs: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Rejects if no server is installed and the distribution has no package of it. */
export async function findExternalPostgres(): Promise<Installation> {
  const installed = await programsUnder('/');
  if (installed !== null) return { programs: installed, environment: environmentOf(null) };
  const isUsable = async (path: string) => (await programsUnder(path)) !== null;
  const root = await cacheEntry(CACHE, `external-postgres-${process.arch}`, isUsable, (path) =>
    unpackDebianPackages(PACKAGES, path),
  );
  return { programs: (await programsUnder(root)) as string, environment: environmentOf(root) };
}

/**
 * The installed PostgreSQL if it is at least as new as that of config/compose.yaml, otherwise that of Debian 13.
 * Rejects if neither is available.
 */
export async function findNewerPostgres(): Promise<Installation> {
  const installed = await findExternalPostgres().catch(() => null);
  if (installed !== null && Number(basename(dirname(installed.programs))) >= NEWER_MAJOR) return installed;
  const programsIn = (root: string) => join(root, VERSIONS, String(NEWER_MAJOR), 'bin');
  const isUsable = (root: string) => succeeds(run(join(programsIn(root), 'postgres'), ['--version']));
  const root = await cacheEntry(CACHE, `newer-postgres-${process.arch}`, isUsable, async (path) => {
    await unpackDebianPackages(NEWER_PACKAGES, path, { sources: await debian13Sources(path) });
    for (const name of ['postgres', 'initdb']) await runWithOwnSystem(join(programsIn(path), name));
  });
  return { programs: programsIn(root), environment: environmentOf(null) };
}

/** Replaces the program with a script that runs it on the system libraries unpacked with it. */
async function runWithOwnSystem(program: string): Promise<void> {
  await rename(program, `${program}.bin`);
  const libraries = `usr/lib/${machine()}-linux-gnu`;
  const loader = `$libraries/ld-linux-${machine().replace('_', '-')}.so.${process.arch === 'arm64' ? 1 : 2}`;
  const script = [
    '#!/bin/sh',
    `libraries="\${0%/${VERSIONS}/*}/${libraries}"`,
    `exec "${loader}" --library-path "$libraries:/${libraries}" --argv0 "$0" "$0.bin" "$@"`,
    '',
  ];
  await writeFile(program, script.join('\n'), { mode: 0o755 });
}

/** The programs of the newest version with JIT compilation; null if there is none. */
async function programsUnder(root: string): Promise<string | null> {
  const versions = await readdir(join(root, VERSIONS)).catch(() => []);
  for (const version of versions.sort((a, b) => Number(b) - Number(a))) {
    const home = join(root, VERSIONS, version);
    const files = ['bin/postgres', 'bin/initdb', 'lib/llvmjit.so'].map((file) => access(join(home, file)));
    if (await succeeds(Promise.all(files))) return join(home, 'bin');
  }
  return null;
}

function environmentOf(root: string | null): Readonly<Record<string, string>> {
  const libraries = root === null ? {} : { LD_LIBRARY_PATH: join(root, 'usr/lib', `${machine()}-linux-gnu`) };
  return { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', TZ: 'UTC', ...libraries };
}

function machine(): string {
  return process.arch === 'arm64' ? 'aarch64' : 'x86_64';
}

/**
 * The database is empty, and its owner is not a superuser. `settings` override the defaults. `onDisk`: stores the data
 * on the disk of temporary files instead of in memory.
 */
export async function startExternalPostgres(
  cleanup: Cleanup,
  settings: Readonly<Record<string, string>> = {},
  onDisk = false,
  installation?: Installation,
): Promise<TestPostgres> {
  const { programs, environment } = installation ?? (await findExternalPostgres());
  const user = await serverUser('vigie-postgres', () => undefined);
  const name = 'external-postgres';
  const directory = onDisk ? await mkdtemp(join(tmpdir(), `vigie-${name}-`)) : await temporaryDirectory(name);
  await giveDirectory(directory, user);
  const data = join(directory, 'data');
  const initdb = [`--pgdata=${data}`, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--no-sync'];
  const making = { command: join(programs, 'initdb'), args: initdb, stopSignal: 'SIGKILL', user } as const;
  await run('setpriv', setprivArguments(making), { cwd: directory, env: environment });
  const server = await testServer(cleanup, directory, async ({ port }) => {
    const all = { listen_addresses: '127.0.0.1', unix_socket_directories: '', ...settings, port: String(port) };
    const child = await startChildServer({
      name: 'external PostgreSQL',
      command: join(programs, 'postgres'),
      args: ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      directory,
      environment,
      logFile: join(directory, 'server.log'),
      stopSignal: 'SIGINT',
      stopTimeoutMs: STOP_TIMEOUT_MS,
      user,
    });
    const superuserUrl = `postgres://postgres@127.0.0.1:${port}/postgres`;
    await waitUntilReady(child, READY_TIMEOUT_MS, () => queryOnce(superuserUrl, 'select 1').catch(() => null));
    return { ...child, url: `postgres://vigie@127.0.0.1:${port}/vigie` };
  });
  const superuserUrl = server.url.replace('vigie@', 'postgres@');
  const maintenanceUrl = superuserUrl.replace(/vigie$/, 'postgres');
  await queryOnce(maintenanceUrl, 'create role vigie login');
  await queryOnce(maintenanceUrl, 'create database vigie owner vigie');
  return Object.assign(server, { superuserUrl });
}
