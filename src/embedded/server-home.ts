/**
 * The directory of an embedded server. The daemon owns it and what it keeps there (passwords, configuration, the log), so
 * that no other user, not even the server's, can put a link in the way of a daemon that is root. What the server writes
 * itself lies in a directory of the server's user.
 */

import { execFile } from 'node:child_process';
import { chmod, chown, lstat, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ServerUser } from './server-user.ts';

const run = promisify(execFile);

/**
 * Creates the directory, or takes it over from an earlier version. The server's user may walk through it, and list
 * nothing. Files in it that are not the daemon's, or lie elsewhere as well, go: a former owner could change them.
 */
export async function secureHome(path: string, user: ServerUser | null): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  // First the directory: from then on nobody else puts anything into it.
  await chown(path, ownUserId(), user?.groupId ?? -1);
  await chmod(path, user === null ? 0o700 : 0o710);
  for (const name of await readdir(path)) {
    const entry = join(path, name);
    const found = await lstat(entry);
    const isOurs = found.uid === ownUserId() && found.nlink === 1;
    if (!isOurs && !found.isDirectory()) await rm(entry);
  }
}

/**
 * Gives a directory and all in it to the server's user, if they are another's. The directory itself goes last, so that
 * what was interrupted is begun again.
 */
export async function giveTree(path: string, user: ServerUser | null): Promise<void> {
  const { uid } = await stat(path);
  if (user === null || uid === user.userId) return;
  const owner = `${user.userId}:${user.groupId}`;
  // Only what belonged to the former owner: a link of his to the file of a third must not give it away.
  await run('chown', ['--recursive', '--no-dereference', `--from=${uid}`, owner, '--', path]);
}

/** Creates the directory if need be, and gives it to the server's user without what is in it. */
export async function giveDirectory(path: string, user: ServerUser | null): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (user !== null) await chown(path, user.userId, user.groupId);
}

function ownUserId(): number {
  return process.geteuid?.() ?? -1;
}
