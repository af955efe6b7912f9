/** Recipients of all clients, for operators. */

import type { AdminDependencies } from '../../grpc/dependencies.ts';
import { invalidArgument, notFound } from '../../grpc/errors.ts';
import type {
  EraseRecipientsRequest,
  EraseRecipientsResponse,
  GetRecipientsRequest,
  GetRecipientsResponse,
} from '../../grpc/generated/vigie/admin/v1/recipients.ts';
import { nameOf, optionalClientId } from '../../grpc/names.ts';
import { eraseRecipient } from './erasure.ts';
import { openKeeper, UNKEPT } from './erasure-journal.ts';
import { isAddress } from './holdings.ts';
import { documentOfClients, ofClients } from './recipient-document.ts';

export async function getRecipients(
  { address, client }: GetRecipientsRequest,
  { database }: AdminDependencies,
): Promise<GetRecipientsResponse> {
  requireAddress(address);
  const document = await documentOfClients(database, address, await optionalClientId('client', client, database));
  if (document === null) throw neverHeld();
  return { documentJson: JSON.stringify(document) };
}

export async function eraseRecipients(
  { address, client }: EraseRecipientsRequest,
  { database, dataDirectory, logger }: AdminDependencies,
): Promise<EraseRecipientsResponse> {
  requireAddress(address);
  const clientId = await optionalClientId('client', client, database);
  const keep = await openKeeper(database, dataDirectory, (reason) => logger.warn({ reason }, UNKEPT));
  const erased = await ofClients(database, clientId, (id) => eraseRecipient(database, { clientId: id, address }, keep));
  if (erased.length === 0) throw neverHeld();
  return {
    erasures: erased.map(({ client: id, name, result }) => ({
      client: nameOf.client(id),
      clientName: name,
      ...result,
    })),
  };
}

function requireAddress(address: string): void {
  if (!isAddress(address)) throw invalidArgument('address', 'must be an e-mail address');
}

/** Answers and logs do not repeat the address. */
function neverHeld() {
  return notFound('Recipient', 'recipients/…', 'nothing was ever held about this address');
}
