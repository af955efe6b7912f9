/** `vigie recipients`: prints the stored data about a recipient of e-mails, as text or as JSON, and erases it. */

import { type Input, UsageError } from '../../cli/command.ts';
import { withDatabase } from '../../cli/connect.ts';
import { CommandError, escapedJson, print, printable } from '../../cli/terminal.ts';
import { readConfig } from '../../config.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import { findClientByName } from '../../engine/store/clients.ts';
import type { Database } from '../../engine/store/database.ts';
import { dataDirectoryPath } from '../../local/data-directory.ts';
import { eraseAtClients } from './erasure.ts';
import { documentOfClients, isAddress } from './holdings.ts';
import { keepBeside } from './recipient-journal.ts';

export function showRecipient(input: Input): Promise<void> {
  return withRecipient(input, async (...requested) => {
    const document = JSON.stringify(found(await documentOfClients(...requested)));
    for (const line of linesOf(JSON.parse(document), '')) print(printable(line));
  });
}

export function exportRecipient(input: Input): Promise<void> {
  return withRecipient(input, async (...requested) => {
    print(escapedJson(JSON.stringify(found(await documentOfClients(...requested)), null, 2)));
  });
}

export function eraseRecipientOf(input: Input): Promise<void> {
  return withRecipient(input, async (...requested) => {
    const directory = (): string => dataDirectoryPath(readConfig().dataDir);
    const keep = keepBeside(directory, (reason) => void process.stderr.write(`vigie: ${reason}\n`));
    const erased = await eraseAtClients(...requested, keep);
    for (const { name, searchCount, itemCount, cancelledCount, hadNotices } of found(
      erased.length === 0 ? null : erased,
    )) {
      print(
        printable(
          `${name}: erased from ${searchCount} searches and ${itemCount} items of e-mails` +
            `${hadNotices ? ', and as the address for notices' : ''}; ${cancelledCount} of these items were cancelled. ` +
            'The address receives no further e-mail without a new consent.',
        ),
      );
    }
  });
}

async function withRecipient(
  { args: [address = ''], text }: Input,
  work: (database: Database, address: string, clientId: Uuid | null) => Promise<void>,
): Promise<void> {
  if (!isAddress(address)) throw new UsageError('ADDRESS must be an e-mail address.');
  await withDatabase(readConfig(), async (database) => {
    const name = text('client').trim();
    const client = name === '' ? null : await findClientByName(database, name);
    if (name !== '' && client === null)
      throw new CommandError(`There is no client named ${name}. Run \`vigie keys list\` to see all clients.`);
    await work(database, address, client?.id ?? null);
  });
}

function found<T>(result: T | null): T {
  if (result === null) throw new CommandError('Vigie has no data about this address. Check its spelling.');
  return result;
}

/** One line for each member, nested members indented; empty members are left out. */
function* linesOf(members: object, indent: string): Generator<string> {
  for (const [name, value] of Object.entries(members)) {
    for (const part of [value].flat()) {
      if (typeof part !== 'object') yield `${indent}${name} ${part}`;
      else if (part !== null) yield* [`${indent}${name}`, ...linesOf(part, `${indent}  `)];
    }
  }
}
