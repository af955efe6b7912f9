/**
 * Small disks that really become full. Each is a tmpfs in the chaos run's own mount namespace, so that no mount
 * remains, however the run ends.
 */

import { spawn, spawnSync } from 'node:child_process';
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FILLER = 'filler';
/** Bytes of a write, halved when the disk has no space for it. */
const FILL_CHUNK_BYTES = 4 * 1024 ** 2;

/** The argument with which the program starts itself again inside the namespace. */
export const INSIDE = '--in-mount-namespace';

export interface SmallDisk {
  readonly path: string;
  /** Uses up every remaining byte. */
  fill(): Promise<void>;
  free(): Promise<void>;
}

/** Root needs only a mount namespace; any other user also needs a user namespace around it. */
function unshareArguments(): string[] {
  const asUser = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user', '--keep-caps'];
  return [...asUser, '--mount', '--propagation', 'private', '--'];
}

/** False if the machine does not permit mounting, as most containers do not. */
export function canMount(): boolean {
  const probe = ['sh', '-c', 'mount -t tmpfs -o size=1m vigie /mnt'];
  return spawnSync('unshare', [...unshareArguments(), ...probe], { stdio: 'ignore' }).status === 0;
}

/** Runs this program again in a mount namespace; resolves with its exit code. */
export function runInNamespace(program: string): Promise<number> {
  const command = [process.execPath, ...process.execArgv, program, ...process.argv.slice(2), INSIDE];
  const child = spawn('unshare', [...unshareArguments(), ...command], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('exit', (code) => resolve(code ?? 1));
  });
}

/** Creates `path`. */
export async function mountSmallDisk(
  cleanup: { after(work: () => Promise<void>): void },
  path: string,
  bytes: number,
): Promise<SmallDisk> {
  await mkdir(path, { recursive: true });
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'vigie-chaos', path], {
    encoding: 'utf8',
  });
  if (mounted.status !== 0) throw new Error(`cannot mount a small disk on ${path}: ${mounted.stderr}`);
  cleanup.after(async () => {
    spawnSync('umount', [path]);
    await rm(path, { recursive: true, force: true });
  });
  const filler = join(path, FILLER);
  return {
    path,
    async fill() {
      for (let chunk = FILL_CHUNK_BYTES; chunk >= 1; ) {
        try {
          await writeFile(filler, Buffer.alloc(chunk), { flag: 'a' });
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
          chunk = (await statfs(path)).bavail === 0 ? 0 : Math.floor(chunk / 2);
        }
      }
    },
    free: () => rm(filler, { force: true }),
  };
}
