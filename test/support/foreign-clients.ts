/**
 * Third-party programs that tests run against Vigie, from the npm packages of a folder of test/clients. They are
 * installed once per machine, outside the product's own installation, and run as separate processes.
 */

import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, copyFile, mkdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { succeeds } from '../../src/engine/actor/waiting.ts';
import { cacheEntry } from '../../src/local/cache.ts';
import { ROOT } from './checkout.ts';
import { CACHE } from './servers.ts';

const run = promisify(execFile);

const CLIENTS = join(ROOT, 'test/clients');
const PACKAGES = ['package.json', 'package-lock.json', '.npmrc'];
const OUTPUT_MAX_BYTES = 64 * 1024 ** 2;

export interface ForeignClients {
  /** Folder inside test/clients. */
  readonly folder: string;
  /** Further files of the installation; a change of a file causes another installation. */
  readonly files: readonly string[];
  /** Arguments of Node.js for the last step of the installation, and a file that this step creates. */
  readonly unpack: readonly string[];
  readonly unpacked: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Runs a script of the folder and returns the JSON that it prints. Rejects with its standard error. */
export async function runClient<Said>(clients: ForeignClients, script: string, args: readonly string[]): Promise<Said> {
  const { home, copy } = await placed(clients, script);
  const options = { cwd: home, env: environmentOf(clients, home), maxBuffer: OUTPUT_MAX_BYTES };
  const { stdout } = await run(process.execPath, [copy, ...args], options);
  return JSON.parse(stdout) as Said;
}

/** Starts a script of the folder for a caller that communicates with it while it runs. The caller must end it. */
export async function spawnClient(clients: ForeignClients, script: string): Promise<ChildProcessWithoutNullStreams> {
  const { home, copy } = await placed(clients, script);
  return spawn(process.execPath, [copy], { cwd: home, env: environmentOf(clients, home) });
}

/** Copies the script next to its packages, where Node.js finds them; the hash in the name keeps versions apart. */
async function placed(
  clients: ForeignClients,
  script: string,
): Promise<{ readonly home: string; readonly copy: string }> {
  const home = await installed(clients);
  const source = join(CLIENTS, clients.folder, script);
  const copy = join(home, `${await hashOf([source])}-${basename(script)}`);
  await copyFile(source, copy);
  return { home, copy };
}

/** The directory in which the packages are installed and unpacked. */
export async function installed(clients: ForeignClients): Promise<string> {
  const files = [...PACKAGES, ...clients.files].map((name) => join(CLIENTS, clients.folder, name));
  const kind = clients.folder === '' ? 'clients' : `clients-${clients.folder}`;
  const isInstalled = (home: string) => succeeds(access(join(home, 'unpacked', clients.unpacked)));
  return cacheEntry(CACHE, `${kind}-${process.arch}-${await hashOf(files)}`, isInstalled, async (home) => {
    for (const file of files) await copyFile(file, join(home, basename(file)));
    await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: home });
    await mkdir(join(home, 'unpacked'));
    await run(process.execPath, clients.unpack, { cwd: home, env: environmentOf(clients, home) });
  });
}

async function hashOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
}

function environmentOf({ environment }: ForeignClients, home: string): NodeJS.ProcessEnv {
  return { ...process.env, ...environment, TMPDIR: join(home, 'unpacked') };
}
