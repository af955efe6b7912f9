/** The token of a daemon that was given none: made once, kept in the data directory, readable by its owner alone. */

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FILE = 'admin-token';

/** Null when no daemon has made one, or another user's did. */
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
  try {
    const token = randomBytes(32).toString('base64url');
    await writeFile(join(dataDir, FILE), `${token}\n`, { mode: 0o600, flag: 'wx' });
    return token;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    // Another daemon was faster.
    return (await readFile(join(dataDir, FILE), 'utf8')).trim();
  }
}
