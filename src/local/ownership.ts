/**
 * Users of the embedded servers, and ownership of their files. A root daemon creates a system user for each server at
 * the first start. Neither server can then read the files of the other, and other users' processes can read neither. A
 * daemon of another user runs the servers as that user. The daemon owns a server's directory, with its passwords and
 * its log. No other user, not even the server's, can therefore place a link there that a root daemon would follow. The
 * files that the server creates are in a subdirectory that the server's user owns.
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

/** Exists on every Linux, but all services without their own user share it. */
export const NOBODY: ServerUser = { name: 'nobody', userId: 65_534, groupId: 65_534 };

/** Another program that changes the user list, such as a second daemon, locks the list for some milliseconds. */
const CREATE_ATTEMPTS = 5;
const RETRY_MS = 200;
/** A root shell without a login may lack the directories of useradd and id. */
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

/**
 * Returns the user `name`, and creates it if missing. Null if the daemon is not root, so that the servers run as the
 * daemon's user. If the user cannot be created (`/etc` is read-only, useradd is missing), calls `onWarning` with the
 * reason and returns `nobody`.
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
      `The system user ${name} does not exist and cannot be created (${(error as Error).message}). Its server runs as ` +
        `nobody, so other processes of nobody can read its data. Run useradd --system --user-group ${name}`,
    );
    return NOBODY;
  }
}

/** Null if there is no such user. Throws if the user has root's user id. */
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
    // One call at a time: without this lock, two of three calls created the user, each with a different id.
    const useradd = ['/etc/passwd', 'useradd', '--system', '--user-group', ...nowhere, name];
    const failure = await run('flock', useradd, { env: ENVIRONMENT }).then(
      () => null,
      (error: Error & { readonly stderr?: string }) => error.stderr?.trim() || error.message,
    );
    // The user may also exist because another daemon has created it.
    const user = await find(name);
    if (user !== null) return user;
    if (attempt === CREATE_ATTEMPTS) throw new Error(failure ?? 'useradd created no user');
    await pause(RETRY_MS);
  }
}

/** Null if there is no such file. */
export async function readSecret(path: string): Promise<string | null> {
  return (await readFile(path, 'utf8').catch(nullIfMissing))?.trim() ?? null;
}

/** Null if the error says that there is no such file. Throws any other error. */
export function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

export function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/**
 * Writes a file that only `owner` (null: the daemon's user) can read. The file is never incomplete. Replaces any file
 * or link at `path`, and never writes through a link.
 */
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
 * Opens a regular file in a directory that may belong to another user. Refuses a link, because with it that user could
 * make root write to a file of root. Checks the opened file, so that a later change of the name has no effect.
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
    super(`${path} is a link, has several names, or is not a regular file. Find out who created it, and remove it.`);
  }
}

/** 192 random bits, in characters that need no quoting in a URL, in SQL or in a configuration file. */
export function randomSecret(): string {
  return randomBytes(24).toString('base64url');
}

/** Creates the directory, or corrects its owner and mode. The server's user may traverse it but not list it. */
export async function secureHome(path: string, user: ServerUser | null): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chown(path, process.geteuid?.() ?? -1, user?.groupId ?? -1);
  await chmod(path, user === null ? 0o700 : 0o710);
}

/**
 * Gives a directory and its content to the server's user if another user owns it. Changes the directory itself last, so
 * that an interrupted change is repeated.
 */
export async function giveTree(path: string, user: ServerUser | null): Promise<void> {
  const { uid } = await stat(path);
  if (user === null || uid === user.userId) return;
  const owner = `${user.userId}:${user.groupId}`;
  // Only files of the former owner, because a link of that user must not transfer another user's file.
  await run('chown', ['--recursive', '--no-dereference', `--from=${uid}`, owner, '--', path]);
}

/** Creates the directory if missing, and gives it, but not its content, to the server's user. */
export async function giveDirectory(path: string, user: ServerUser | null): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (user !== null) await chown(path, user.userId, user.groupId);
}
