/**
 * Chromium for tests, from the npm packages of test/clients: installed and unpacked once a machine, with the libraries
 * that it needs, so that the product's own installation stays small.
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheEntry } from '../../src/embedded/cache-entry.ts';
import { CACHE } from './servers.ts';

const run = promisify(execFile);

const CLIENTS = fileURLToPath(new URL('../clients', import.meta.url));
const FILES = ['package.json', 'package-lock.json', '.npmrc', 'visit.mjs'];
/** The package unpacks into the temporary directory, and its libraries only where it believes itself on a bare machine. */
const BARE = { AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x' };
const UNPACK = `import chromium from '@sparticuz/chromium'; await chromium.executablePath();`;
const OUTPUT_MAX_BYTES = 64 * 1024 ** 2;

export interface Visit {
  readonly markup: string;
  /** What the console says, and errors that nobody caught. */
  readonly complaints: readonly string[];
  /** Everything that was asked for. */
  readonly addresses: readonly string[];
}

/** Opens `url` and waits until nothing more is loaded. */
export async function visit(url: string): Promise<Visit> {
  const home = await installedClients();
  const { stdout } = await run(process.execPath, [join(home, 'visit.mjs'), url], {
    cwd: home,
    env: environmentOf(home),
    maxBuffer: OUTPUT_MAX_BYTES,
  });
  return JSON.parse(stdout) as Visit;
}

async function installedClients(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of FILES) hash.update(await readFile(join(CLIENTS, name)));
  const name = `clients-${process.arch}-${hash.digest('hex').slice(0, 16)}`;
  return cacheEntry(CACHE, name, isInstalled, install);
}

function isInstalled(home: string): Promise<boolean> {
  return access(join(home, 'unpacked/chromium')).then(
    () => true,
    () => false,
  );
}

async function install(home: string): Promise<void> {
  for (const name of FILES) await cp(join(CLIENTS, name), join(home, name));
  await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: home });
  await mkdir(join(home, 'unpacked'));
  await run(process.execPath, ['--input-type=module', '--eval', UNPACK], { cwd: home, env: environmentOf(home) });
}

function environmentOf(home: string): NodeJS.ProcessEnv {
  return { ...process.env, ...BARE, TMPDIR: join(home, 'unpacked') };
}
