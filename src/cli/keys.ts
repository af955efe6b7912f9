/** `vigie keys`: clients and their API keys. */

import { parseUuid } from '../engine/domain/ids.ts';
import { DISPLAY_NAME_LENGTH_MAX } from '../engine/domain/search-limits.ts';
import {
  createApiKey,
  createClient,
  findClientByName,
  listApiKeys,
  listClients,
  revokeApiKey,
} from '../engine/store/clients.ts';
import type { Database } from '../engine/store/database.ts';
import { CommandError, print, printable } from './terminal.ts';

/** Creates a key, and the client if it is new. Standard output contains only the key, so that scripts can read it. */
export async function createKey(database: Database, clientName: string, keyName: string): Promise<void> {
  const client =
    (await findClientByName(database, clientName)) ??
    (await createClient(database, { name: displayNameOf('--client', clientName) }));
  const { key } = await createApiKey(database, client.id, displayNameOf('--name', keyName));
  process.stderr.write(`API key of client ${client.name}, shown only once:\n`);
  print(key);
}

function displayNameOf(option: string, name: string): string {
  const trimmed = name.trim();
  if (trimmed !== '' && trimmed.length <= DISPLAY_NAME_LENGTH_MAX) return trimmed;
  throw new CommandError(`${option} takes 1 to ${DISPLAY_NAME_LENGTH_MAX} characters.`);
}

export async function listKeys(database: Database): Promise<void> {
  for (const client of await listClients(database)) {
    print(printable(`${client.name}  (client ${client.id})`));
    for (const key of await listApiKeys(database, client.id)) {
      const state = key.revokedAt === null ? 'active' : `revoked ${key.revokedAt.toISOString()}`;
      print(
        printable(`  ${key.id}  vigie_${key.prefix}_…  ${key.name}  created ${key.createdAt.toISOString()}  ${state}`),
      );
    }
  }
}

/** Revokes a key. The caller must notify the daemons. */
export async function revokeKey(database: Database, id: string): Promise<void> {
  const keyId = parseUuid(id);
  const isRevoked = keyId !== null && (await revokeApiKey(database, keyId));
  if (!isRevoked) throw new CommandError(`No active key has the id ${id}. Run \`vigie keys list\` to list the keys.`);
  print('revoked');
}
