/** Recipients of all clients, for operators. */

import type { Uuid } from '../../engine/domain/ids.ts';
import type { Database, Queryable } from '../../engine/store/database.ts';
import { attemptAnswer } from '../../grpc/deliveries.ts';
import type { AdminDependencies } from '../../grpc/dependencies.ts';
import { invalidArgument, notFound } from '../../grpc/errors.ts';
import type {
  EraseRecipientsRequest,
  EraseRecipientsResponse,
  GetRecipientsRequest,
  GetRecipientsResponse,
} from '../../grpc/generated/vigie/admin/v1/recipients.ts';
import { nameOf, optionalClientId } from '../../grpc/names.ts';
import { type Erasure, eraseRecipient, type KeepOpposition } from './erasure.ts';
import { openKeeper, UNKEPT } from './erasure-journal.ts';
import { type Holding, isAddress, readHolding } from './holdings.ts';

export interface OfClient<T> {
  readonly clientId: Uuid;
  readonly clientName: string;
  readonly result: T;
}

/** By name; deleted ones, whose searches are still being removed, as well. `clientId`: of this one alone. */
async function ofClients<T>(
  database: Queryable,
  clientId: Uuid | null,
  work: (clientId: Uuid) => Promise<T | null>,
): Promise<readonly OfClient<T>[]> {
  // Served by the primary key; without an id it reads every client.
  const { rows } = await database.query<Omit<OfClient<T>, 'result'>>(
    `select id as "clientId", name as "clientName" from clients where $1::uuid is null or id = $1 order by name`,
    [clientId],
  );
  const found: OfClient<T>[] = [];
  for (const client of rows) {
    const result = await work(client.clientId);
    if (result !== null) found.push({ ...client, result });
  }
  return found;
}

/** What clients hold about an address; those that never did are left out. */
export function readHoldings(
  database: Queryable,
  address: string,
  clientId: Uuid | null,
): Promise<readonly OfClient<Holding>[]> {
  return ofClients(database, clientId, (id) => readHolding(database, { clientId: id, address }));
}

/** The same for its erasure. */
export function eraseHoldings(
  database: Database,
  address: string,
  clientId: Uuid | null,
  keep: KeepOpposition,
): Promise<readonly OfClient<Erasure>[]> {
  return ofClients(database, clientId, (id) => eraseRecipient(database, { clientId: id, address }, keep));
}

export async function getRecipients(
  { address, client }: GetRecipientsRequest,
  { database }: AdminDependencies,
): Promise<GetRecipientsResponse> {
  requireAddress(address);
  const holdings = await readHoldings(database, address, await optionalClientId('client', client, database));
  if (holdings.length === 0) throw neverHeld();
  return {
    recipients: holdings.map(({ clientId, clientName, result: { searches, emails, ...facts } }) => ({
      client: nameOf.client(clientId),
      clientName,
      unsubscribeTime: facts.unsubscribedAt ?? undefined,
      eraseTime: facts.erasedAt ?? undefined,
      liftTime: facts.liftedAt ?? undefined,
      emailCount: facts.emailCount,
      searches: searches.map(({ id, title, isRecipient, consent, refusedAt, deletedAt }) => ({
        name: nameOf.search(id),
        title,
        mentionsOnly: !isRecipient,
        consentSource: consent?.source ?? '',
        consentTime: consent?.at ?? '',
        refuseTime: refusedAt ?? undefined,
        deleteTime: deletedAt ?? undefined,
      })),
      emails: emails.map(({ state, itemCount, createdAt, finishedAt, attempts }) => ({
        state,
        itemCount,
        createTime: createdAt,
        finishTime: finishedAt ?? undefined,
        attempts: attempts.map(attemptAnswer),
      })),
    })),
  };
}

export async function eraseRecipients(
  { address, client }: EraseRecipientsRequest,
  { database, dataDirectory, logger }: AdminDependencies,
): Promise<EraseRecipientsResponse> {
  requireAddress(address);
  const clientId = await optionalClientId('client', client, database);
  const keep = await openKeeper(database, dataDirectory, (reason) => logger.warn({ reason }, UNKEPT));
  const erased = await eraseHoldings(database, address, clientId, keep);
  if (erased.length === 0) throw neverHeld();
  return {
    erasures: erased.map(({ clientId: id, clientName, result }) => {
      return { client: nameOf.client(id), clientName, ...result };
    }),
  };
}

function requireAddress(address: string): void {
  if (!isAddress(address)) throw invalidArgument('address', 'must be an e-mail address');
}

/** Answers and logs do not repeat the address. */
function neverHeld() {
  return notFound('Recipient', 'recipients/…', 'nothing was ever held about this address');
}
