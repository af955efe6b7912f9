/** `vigie recipients`: what is held about a recipient of e-mails, as text or as one JSON file, and its erasure. */

import { type Input, UsageError } from '../../cli/command.ts';
import { withDatabase } from '../../cli/connect.ts';
import { CommandError, escapedJson, print, printable } from '../../cli/terminal.ts';
import { readConfig } from '../../config.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import { findClientByName } from '../../engine/store/clients.ts';
import type { Database } from '../../engine/store/database.ts';
import { dataDirectoryPath } from '../../local/data-directory.ts';
import { eraseRecipient } from './erasure.ts';
import { openKeeper, UNKEPT } from './erasure-journal.ts';
import { isAddress } from './holdings.ts';
import { documentOfClients, ofClients } from './recipient-document.ts';

export function showRecipient(input: Input): Promise<void> {
  return withRecipient(input, async (database, address, clientId) => {
    for (const line of linesOf(found(await documentOfClients(database, address, clientId)), '')) print(printable(line));
  });
}

export function exportRecipient(input: Input): Promise<void> {
  return withRecipient(input, async (database, address, clientId) => {
    print(escapedJson(JSON.stringify(found(await documentOfClients(database, address, clientId)), null, 2)));
  });
}

export function eraseRecipientOf(input: Input): Promise<void> {
  return withRecipient(input, async (database, address, clientId) => {
    const directory = (): string => dataDirectoryPath(readConfig().dataDir);
    const keep = await openKeeper(database, directory, (reason) => {
      process.stderr.write(`vigie: ${UNKEPT} (${reason})\n`);
    });
    const erased = await ofClients(database, clientId, (id) =>
      eraseRecipient(database, { clientId: id, address }, keep),
    );
    for (const { name, result } of found(erased.length === 0 ? null : erased)) {
      const { searchCount, itemCount, cancelledCount } = result;
      print(
        printable(
          `${name}: erased from ${searchCount} searches and ${itemCount} items of e-mails, of which ` +
            `${cancelledCount} are not sent any more; it is not written to again without a new consent`,
        ),
      );
    }
  });
}

async function withRecipient(
  { args: [address = ''], text }: Input,
  work: (database: Database, address: string, clientId: Uuid | null) => Promise<void>,
): Promise<void> {
  if (!isAddress(address)) throw new UsageError('ADDRESS must be an e-mail address');
  await withDatabase(readConfig(), async (database) => {
    const name = text('client').trim();
    const client = name === '' ? null : await findClientByName(database, name);
    if (name !== '' && client === null) throw new CommandError(`there is no client that is called ${name}`);
    await work(database, address, client?.id ?? null);
  });
}

function found<T>(result: T | null): T {
  if (result === null) throw new CommandError('nothing was ever held about this address');
  return result;
}

/** A member a line, what is in it indented; without what is empty. */
function* linesOf(members: object, indent: string): Generator<string> {
  for (const [name, value] of Object.entries(members)) {
    if (value === null || value === '') continue;
    if (typeof value !== 'object') {
      yield `${indent}${name} ${value}`;
      continue;
    }
    for (const part of Array.isArray(value) ? value : [value]) {
      yield `${indent}${name}`;
      yield* linesOf(part, `${indent}  `);
    }
  }
}
