/**
 * The hold on a data directory: `flock` on a file in it that no other user can open. The lock belongs to our open file,
 * so the kernel frees it with the process, whatever ends it, and no lock is ever stale. Containers that share the
 * directory see each other's.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { close, constants, fchmod, fstat, ftruncate, open, write } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';

/** Numbers, not `FileHandle`s: one that is collected as garbage closes its file, and frees the lock. */
const files = {
  open: promisify(open),
  stat: promisify(fstat),
  chmod: promisify(fchmod),
  truncate: promisify(ftruncate),
  write: promisify(write),
  close: promisify(close),
};

export interface DirectoryLock {
  release(): Promise<void>;
}

const LOCK_FILE = 'lock';
/** A daemon that was just killed keeps its files for some milliseconds, more under load. */
const HOLDER_DYING_SECONDS = 3;
const CONFLICT = 75;

/** Waits some seconds for a holder that may be dying; null when it stays. Throws when the file is not ours. */
export async function lockDirectory(directory: string): Promise<DirectoryLock | null> {
  const path = join(directory, LOCK_FILE);
  const { O_CREAT, O_RDWR, O_NOFOLLOW } = constants;
  const file = await files.open(path, O_CREAT | O_RDWR | O_NOFOLLOW, 0o600);
  try {
    const { uid, mode } = await files.stat(file);
    if (uid !== process.geteuid?.()) throw new Error(`${path} belongs to user ${uid}`);
    if ((mode & 0o077) !== 0) await files.chmod(file, 0o600);
    if (!(await flock(file, ['--exclusive', '--timeout', String(HOLDER_DYING_SECONDS)]))) {
      await files.close(file);
      return null;
    }
    await files.truncate(file);
    await files.write(file, `${process.pid}\n`, 0);
  } catch (error) {
    await files.close(file);
    throw error;
  }
  return { release: () => files.close(file) };
}

/** The process that wrote its number into the lock last; null when none has. */
export async function lastHolder(directory: string): Promise<number | null> {
  const written = await readFile(join(directory, LOCK_FILE), 'utf8').catch(() => '');
  return /^\d+\n$/.test(written) ? Number(written) : null;
}

/** False also where no daemon has ever been. */
export async function isDirectoryLocked(directory: string): Promise<boolean> {
  const file = await files
    .open(join(directory, LOCK_FILE), constants.O_RDONLY)
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
  if (file === null) return false;
  try {
    return !(await flock(file, ['--shared', '--nonblock']));
  } finally {
    await files.close(file);
  }
}

/** Node has no call for it. The command locks the open file that it inherits, and ends; the file stays locked. */
async function flock(file: number, options: readonly string[]): Promise<boolean> {
  const command = spawn('flock', [...options, '--conflict-exit-code', String(CONFLICT), '3'], {
    stdio: ['ignore', 'ignore', 'pipe', file],
  });
  const ended = once(command, 'close').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new Error('the command flock (package util-linux) is missing') : error;
  });
  const [said, [code]] = await Promise.all([text(command.stderr as NodeJS.ReadableStream), ended]);
  if (code === 0) return true;
  if (code === CONFLICT) return false;
  throw new Error(`the directory cannot be locked: ${said.trim()}`);
}
