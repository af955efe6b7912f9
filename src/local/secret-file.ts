/** Files that hold passwords: readable by one user alone, and whole or absent. */

import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import type { ServerUser } from './server-user.ts';

/** Null when there is none. */
export async function readSecret(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Replaces the file, whatever lay there, never writing through a link. It belongs to `owner`, the daemon when null. */
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

/** 192 bits that stand in a URL, in SQL and in a configuration file without quoting. */
export function randomSecret(): string {
  return randomBytes(24).toString('base64url');
}
