/** `vigie keys`: clients and their API keys. */

import type { Config } from '../config.ts';
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
import { notifyDaemons, withDatabase } from './connect.ts';
import { CommandError, print, printable } from './terminal.ts';

/** Creates a key, and the client if it is new. Standard output contains only the key, so that scripts can read it. */
export async function createKey(config: Config, clientName: string, keyName: string): Promise<void> {
  await withDatabase(config, async (database) => {
    const client =
      (await findClientByName(database, clientName)) ??
      (await createClient(database, { name: displayNameOf('--client', clientName) }));
    const { key } = await createApiKey(database, client.id, displayNameOf('--name', keyName));
    process.stderr.write(`API key of client ${client.name}, shown only once:\n`);
    print(key);
  });
}

function displayNameOf(option: string, name: string): string {
  const trimmed = name.trim();
  if (trimmed !== '' && trimmed.length <= DISPLAY_NAME_LENGTH_MAX) return trimmed;
  throw new CommandError(`${option} takes 1 to ${DISPLAY_NAME_LENGTH_MAX} characters.`);
}

export async function listKeys(config: Config): Promise<void> {
  await withDatabase(config, async (database) => {
    for (const client of await listClients(database)) {
      print(printable(`${client.name}  (client ${client.id})`));
      for (const { id, prefix, name, createdAt, revokedAt } of await listApiKeys(database, client.id)) {
        const state = revokedAt === null ? 'active' : `revoked ${revokedAt.toISOString()}`;
        print(printable(`  ${id}  vigie_${prefix}_…  ${name}  created ${createdAt.toISOString()}  ${state}`));
      }
    }
  });
}

export async function revokeKey(config: Config, id: string): Promise<void> {
  const keyId = parseUuid(id);
  const isRevoked = keyId !== null && (await withDatabase(config, (database) => revokeApiKey(database, keyId)));
  if (!isRevoked) throw new CommandError(`No active key has the id ${id}. Run \`vigie keys list\` to list the keys.`);
  print('revoked');
  await notifyDaemons(config, 'keys');
}
