/**
 * The directory of an embedded server. The daemon owns it and what it keeps there (passwords, configuration, the log), so
 * that no other user, not even the server's, can put a link in the way of a daemon that is root. What the server writes
 * itself lies in a directory of the server's user.
 */

import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { ServerUser } from './server-user.ts';

const run = promisify(execFile);

/** Creates the directory, or puts it right. The server's user may walk through it, and list nothing. */
export async function secureHome(path: string, user: ServerUser | null): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chown(path, process.geteuid?.() ?? -1, user?.groupId ?? -1);
  await chmod(path, user === null ? 0o700 : 0o710);
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
