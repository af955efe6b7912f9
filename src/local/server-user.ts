/**
 * Whom the embedded servers run as. A root daemon gives each a system user of its own, made at the first start, so that
 * neither reads the other's files and no other process of the machine reads theirs. Any other daemon runs them as itself.
 */

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { promisify } from 'node:util';
import { pause } from '../engine/actor/waiting.ts';

const run = promisify(execFile);

export interface ServerUser {
  readonly name: string;
  readonly userId: number;
  readonly groupId: number;
}

export type ServerUserName = 'vigie-postgres' | 'vigie-nats';

/** On every Linux; shared with whatever else the machine runs without a user of its own. */
export const NOBODY: ServerUser = { name: 'nobody', userId: 65_534, groupId: 65_534 };

/** Another program that changes the list of users, as a second daemon may, holds its lock for some milliseconds. */
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
  const [, userId, groupId] = /^uid=(\d+)\S* gid=(\d+)/.exec(answer?.stdout ?? '') ?? [];
  if (userId === undefined || groupId === undefined) return null;
  if (Number(userId) === 0) throw new Error(`${name} has the user id of root`);
  return { name, userId: Number(userId), groupId: Number(groupId) };
}

async function create(name: ServerUserName): Promise<ServerUser> {
  await access('/etc', constants.W_OK);
  const nowhere = ['--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin'];
  for (let attempt = 1; ; attempt += 1) {
    const failure = await run('useradd', ['--system', '--user-group', ...nowhere, name], { env: ENVIRONMENT }).then(
      () => null,
      (error: Error & { readonly stderr?: string }) => error.stderr?.trim() || error.message,
    );
    // Also there when another daemon was faster.
    const user = await find(name);
    if (user !== null) return user;
    if (attempt === CREATE_ATTEMPTS) throw new Error(failure ?? 'useradd made none');
    await pause(RETRY_MS);
  }
}
