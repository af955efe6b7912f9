/**
 * The user and password of the embedded NATS: random, made once, kept as a URL that any client takes, in a file that the
 * daemon's user alone can read. Deleting the file makes new ones at the next start.
 */

import { join } from 'node:path';
import { randomSecret, readSecret, writeSecret } from './secret-file.ts';

export interface NatsAccess {
  readonly user: string;
  readonly password: string;
}

export const NATS_CREDENTIALS_FILE = 'credentials';

export async function readOrMakeAccess(home: string): Promise<NatsAccess> {
  const known = await readSecret(join(home, NATS_CREDENTIALS_FILE));
  if (known !== null && URL.canParse(known)) {
    const { username, password } = new URL(known);
    if (SECRET.test(username) && SECRET.test(password)) return { user: username, password };
  }
  return { user: `vigie-${randomSecret().slice(0, 8)}`, password: randomSecret() };
}

/** What an editor or a crash has left of a password would be none. */
const SECRET = /^[\w-]{8,}$/;

/** Resolves with the whole URL. */
export async function keepAccess(home: string, { user, password }: NatsAccess, address: string): Promise<string> {
  const path = join(home, NATS_CREDENTIALS_FILE);
  const url = `nats://${user}:${password}@${address}`;
  if ((await readSecret(path)) !== url) await writeSecret(path, url);
  return url;
}
