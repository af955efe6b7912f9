/** A test's own small file system in memory. Only root may mount one. */

import { execFile } from 'node:child_process';
import { chmod, open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { succeeds } from '../../src/engine/actor/waiting.ts';
import { type Cleanup, temporaryDirectory } from './servers.ts';

const run = promisify(execFile);
const CHUNK = Buffer.alloc(64 * 1_024);

export interface SmallDisk {
  readonly path: string;
  /** Uses every remaining byte; may be called again for freed space. Resolves with a function that frees the space. */
  fill(): Promise<() => Promise<void>>;
  /** For a cleanup that runs after all users of the disk have ended. */
  unmount(): Promise<void>;
}

/** Null if mounting is not permitted. */
export async function mountSmallDisk(cleanup: Cleanup, bytes: number): Promise<SmallDisk | null> {
  const path = await temporaryDirectory('disk');
  if (!(await succeeds(run('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'vigie-test', path])))) {
    cleanup.after(() => rm(path, { recursive: true, force: true }));
    return null;
  }
  // The user of the servers must be able to pass through it.
  await chmod(path, 0o711);
  return {
    path,
    async fill() {
      const ballast = join(path, 'ballast');
      const file = await open(ballast, 'a');
      try {
        for (;;) await file.write(CHUNK);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        await file.close();
      }
      if ((await statfs(path)).bavail !== 0) throw new Error('the disk is not full');
      return () => rm(ballast);
    },
    async unmount() {
      await run('umount', ['--lazy', path]);
      await rm(path, { recursive: true, force: true });
    },
  };
}
