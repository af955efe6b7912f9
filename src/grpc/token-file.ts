/**
 * The token of a daemon without a configured one: created once, stored in the data directory, readable by its owner
 * only.
 */

import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FILE = 'admin-token';

/** Null when no daemon has created one, or another user's did. */
export async function readToken(dataDir: string): Promise<string | null> {
  try {
    return (await readFile(join(dataDir, FILE), 'utf8')).trim();
  } catch (error) {
    if (['ENOENT', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

export async function readOrMakeToken(dataDir: string): Promise<string> {
  const known = await readToken(dataDir);
  if (known !== null) return known;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const token = randomBytes(32).toString('base64url');
  const draft = join(dataDir, `${FILE}.${process.pid}.${randomBytes(4).toString('hex')}`);
  await writeFile(draft, `${token}\n`, { mode: 0o600, flag: 'wx' });
  try {
    // Atomic: no reader sees a half-written token.
    await link(draft, join(dataDir, FILE));
    return token;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    // Another daemon was faster.
    return (await readFile(join(dataDir, FILE), 'utf8')).trim();
  } finally {
    await rm(draft, { force: true });
  }
}
