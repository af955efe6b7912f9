/** `vigie recipients`: what is held about a recipient of e-mails, as text or as one JSON file, and its erasure. */

import { type Input, UsageError } from '../../cli/command.ts';
import { withDatabase } from '../../cli/connect.ts';
import { CommandError, escapedJson, print, printable } from '../../cli/terminal.ts';
import { readConfig } from '../../config.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import { findClientByName } from '../../engine/store/clients.ts';
import type { Database } from '../../engine/store/database.ts';
import { dataDirectoryPath } from '../../local/data-directory.ts';
import { openKeeper, UNKEPT } from './erasure-journal.ts';
import { type Holding, isAddress } from './holdings.ts';
import { eraseHoldings, type OfClient, readHoldings } from './recipient-rpcs.ts';

export function showRecipient(input: Input): Promise<void> {
  return withRecipient(input, async (database, address, clientId) => {
    const holdings = found(await readHoldings(database, address, clientId));
    for (const line of holdings.flatMap(linesOf)) print(printable(line));
  });
}

export function exportRecipient(input: Input): Promise<void> {
  return withRecipient(input, async (database, address, clientId) => {
    const clients = found(await readHoldings(database, address, clientId)).map(
      ({ clientId: client, clientName: name, result }) => ({ client, name, ...result }),
    );
    print(escapedJson(JSON.stringify({ address, exportedAt: new Date(), clients }, null, 2)));
  });
}

export function eraseRecipientOf(input: Input): Promise<void> {
  return withRecipient(input, async (database, address, clientId) => {
    const directory = (): string => dataDirectoryPath(readConfig().dataDir);
    const keep = await openKeeper(database, directory, (reason) => {
      process.stderr.write(`vigie: ${UNKEPT} (${reason})\n`);
    });
    for (const { clientName, result } of found(await eraseHoldings(database, address, clientId, keep))) {
      const { searchCount, itemCount, cancelledCount } = result;
      print(
        printable(
          `${clientName}: erased from ${searchCount} searches and ${itemCount} items of e-mails, of which ` +
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

function found<T>(results: readonly OfClient<T>[]): readonly OfClient<T>[] {
  if (results.length === 0) throw new CommandError('nothing was ever held about this address');
  return results;
}

function linesOf({ clientId, clientName, result }: OfClient<Holding>): readonly string[] {
  const { searches, emails, emailCount, ...oppositions } = result;
  const facts = {
    unsubscribed: oppositions.unsubscribedAt,
    erased: oppositions.erasedAt,
    lifted: oppositions.liftedAt,
  };
  return [
    `client ${clientName} (${clientId})`,
    ...Object.entries(facts).flatMap(([name, at]) => (at === null ? [] : [`  ${name} ${at.toISOString()}`])),
    ...searches.map(({ id, title, isRecipient, consent, refusedAt, deletedAt }) => {
      const marks = [
        consent === null ? 'without consent' : `consent of ${consent.at} (${consent.source})`,
        isRecipient ? '' : 'mentions the address only',
        refusedAt === null ? '' : `refused since ${refusedAt.toISOString()}`,
        deletedAt === null ? '' : `deleted ${deletedAt.toISOString()}`,
      ];
      return `  search ${id} ${title}: ${marks.filter((mark) => mark !== '').join(', ')}`;
    }),
    ...emails.map(({ state, itemCount, createdAt, attempts }) => {
      const tries = attempts.map(({ startedAt, statusCode, error }) => {
        return `${startedAt.toISOString()} ${statusCode ?? error ?? 'under way'}`;
      });
      return `  e-mail of ${createdAt.toISOString()}, ${itemCount} items ${state}: ${tries.join('; ') || 'no attempt'}`;
    }),
    ...(emailCount > emails.length ? [`  and ${emailCount - emails.length} older e-mails`] : []),
  ];
}
