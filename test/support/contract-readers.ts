/** Generators and linters for the published contracts, installed once per machine from their own lock file. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { succeeds } from '../../src/engine/actor/waiting.ts';
import { cacheEntry } from '../../src/local/cache.ts';
import { ROOT } from './checkout.ts';
import { CACHE } from './servers.ts';

const run = promisify(execFile);

const READERS = join(ROOT, 'test/clients/contracts');
const FILES = ['package.json', 'package-lock.json', '.npmrc', 'spectral.yaml'];
const OUTPUT_MAX_BYTES = 64 * 1024 ** 2;

export interface Judgement {
  readonly code: number;
  readonly output: string;
}

/** Runs one of these programs in `directory`. `HOME` in an argument means the folder where they are installed. */
export async function runReader(program: string, args: readonly string[], directory: string): Promise<Judgement> {
  const home = await installedReaders();
  const path = join(home, 'node_modules', '.bin', program);
  const asArguments = args.map((each) => each.replace('HOME', home));
  const options = { cwd: directory, maxBuffer: OUTPUT_MAX_BYTES, env: { PATH: process.env.PATH ?? '', CI: '1' } };
  return run(process.execPath, [path, ...asArguments], options).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      output: error.stdout + error.stderr,
    }),
  );
}

async function installedReaders(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of FILES) hash.update(await readFile(join(READERS, name)));
  return cacheEntry(CACHE, `contract-readers-${hash.digest('hex').slice(0, 16)}`, isInstalled, async (home) => {
    for (const name of FILES) await cp(join(READERS, name), join(home, name));
    await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: home });
  });
}

const isInstalled = (home: string): Promise<boolean> => succeeds(access(join(home, 'node_modules/.bin/spectral')));
