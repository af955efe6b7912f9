/**
 * The users of the embedded servers, and the ownership of their files. A root daemon gives each server a system user of
 * its own, created at the first start, so that neither reads the other's files and no other process of the machine
 * reads theirs. Any other daemon runs them as itself. The daemon owns the directory of a server and its files
 * (passwords, configuration, the log), so that no other user, not even the server's, can place a link that a root
 * daemon would follow. The files that the server writes are in a directory of the server's user.
 */

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, chmod, chown, type FileHandle, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { pause } from '../engine/actor/waiting.ts';

const run = promisify(execFile);

export interface ServerUser {
  readonly name: string;
  readonly userId: number;
  readonly groupId: number;
}

export type ServerUserName = 'vigie-postgres' | 'vigie-nats';

/** On every Linux; shared with every other service of the machine without a user of its own. */
export const NOBODY: ServerUser = { name: 'nobody', userId: 65_534, groupId: 65_534 };

/** Another program that changes the list of users, such as a second daemon, holds its lock for some milliseconds. */
const CREATE_ATTEMPTS = 5;
const RETRY_MS = 200;
/** A root shell that was not a login may lack the directories of useradd and id. */
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

/**
 * The user `name`, created when it is missing; null when the daemon is not root, and the servers run as the daemon does.
 * Where no user can be created (`/etc` is read-only, there is no useradd) `nobody`, and `onWarning` is called with the reason.
 */
export async function serverUser(
  name: ServerUserName,
  onWarning: (warning: string) => void,
): Promise<ServerUser | null> {
  if (process.geteuid?.() !== 0) return null;
  try {
    return (await find(name)) ?? (await create(name));
  } catch (error) {
    onWarning(
      `there is no system user ${name}, and none can be created (${(error as Error).message}): its server runs as ` +
        `nobody, whose other processes can read its data. Create it: useradd --system --user-group ${name}`,
    );
    return NOBODY;
  }
}

/** Null when there is none. Throws when it is root under another name. */
async function find(name: ServerUserName): Promise<ServerUser | null> {
  const answer = await run('id', [name], { env: ENVIRONMENT }).catch(() => null);
  const [, userId, groupId] = /^uid=(\d+)(?:\(\S*)? gid=(\d+)/.exec(answer?.stdout ?? '') ?? [];
  if (userId === undefined || groupId === undefined) return null;
  if (Number(userId) === 0) throw new Error(`${name} has the user id of root`);
  return { name, userId: Number(userId), groupId: Number(groupId) };
}

async function create(name: ServerUserName): Promise<ServerUser> {
  await access('/etc', constants.W_OK);
  const nowhere = ['--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin'];
  for (let attempt = 1; ; attempt += 1) {
    // One at a time, in spite of useradd's own lock: of three at once two have created the user, with another id each.
    const useradd = ['/etc/passwd', 'useradd', '--system', '--user-group', ...nowhere, name];
    const failure = await run('flock', useradd, { env: ENVIRONMENT }).then(
      () => null,
      (error: Error & { readonly stderr?: string }) => error.stderr?.trim() || error.message,
    );
    // Also exists when another daemon was faster.
    const user = await find(name);
    if (user !== null) return user;
    if (attempt === CREATE_ATTEMPTS) throw new Error(failure ?? 'useradd made none');
    await pause(RETRY_MS);
  }
}

/** Null when there is none. */
export async function readSecret(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** For a password, readable by one user alone, and whole or absent. Replaces the file, whatever lay there, never writing through a link. It belongs to `owner`, the daemon when null. */
export async function writeSecret(path: string, text: string, owner: ServerUser | null = null): Promise<void> {
  const draft = `${path}.new`;
  await rm(draft, { force: true });
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${text}\n`);
    if (owner !== null) await file.chown(owner.userId, owner.groupId);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

/**
 * Opens a regular file in a directory that may belong to another user. A link, by which that user would have root write into
 * a file of root's, is refused; what was checked is the open file, whatever its name leads to by then.
 */
export async function openRegular(path: string, flags: number): Promise<FileHandle> {
  const { O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600).catch((error: NodeJS.ErrnoException) => {
    throw ['ELOOP', 'ENXIO'].includes(error.code ?? '') ? new IrregularFileError(path) : error;
  });
  const facts = await file.stat();
  if (facts.isFile() && facts.nlink === 1) return file;
  await file.close();
  throw new IrregularFileError(path);
}

class IrregularFileError extends Error {
  readonly code = 'FILE_IRREGULAR';

  constructor(path: string) {
    super(`${path} is a link, has another name, or is no regular file. Look at who made it, and remove it.`);
  }
}

/** 192 bits in characters that need no quoting in a URL, in SQL and in a configuration file. */
export function randomSecret(): string {
  return randomBytes(24).toString('base64url');
}

/** Creates the directory, or corrects its mode. The server's user may traverse it, and list nothing. */
export async function secureHome(path: string, user: ServerUser | null): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chown(path, process.geteuid?.() ?? -1, user?.groupId ?? -1);
  await chmod(path, user === null ? 0o700 : 0o710);
}

/**
 * Gives a directory and its content to the server's user, if another user owns them. The directory itself comes last,
 * so that an interrupted change is restarted.
 */
export async function giveTree(path: string, user: ServerUser | null): Promise<void> {
  const { uid } = await stat(path);
  if (user === null || uid === user.userId) return;
  const owner = `${user.userId}:${user.groupId}`;
  // Only the former owner's files: his link to another user's file must not transfer that file.
  await run('chown', ['--recursive', '--no-dereference', `--from=${uid}`, owner, '--', path]);
}

/** Creates the directory if it is missing, and gives it, without its content, to the server's user. */
export async function giveDirectory(path: string, user: ServerUser | null): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (user !== null) await chown(path, user.userId, user.groupId);
}
