/**
 * What is held about a recipient as one JSON document: of one client for its own, of all clients for operators; and the
 * erasure at all clients.
 */

import type { Uuid } from '../../engine/domain/ids.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { identityOf } from '../../rest/hydra.ts';
import { searchIri } from '../../rest/search-document.ts';
import { type Holding, readHolding } from './holdings.ts';

export function recipientDocument(address: string, { searches, emails, emailCount, ...holding }: Holding) {
  return {
    ...identityOf('Recipient', `/recipients/${encodeURIComponent(address)}`),
    address,
    unsubscribedAt: holding.unsubscribedAt?.toISOString() ?? null,
    erasedAt: holding.erasedAt?.toISOString() ?? null,
    liftedAt: holding.liftedAt?.toISOString() ?? null,
    searches: searches.map(({ id, title, isRecipient, consent, refusedAt, deletedAt }) => ({
      search: searchIri(id),
      title,
      mentionsOnly: !isRecipient,
      notificationConsent: consent,
      refusedAt: refusedAt?.toISOString() ?? null,
      deletedAt: deletedAt?.toISOString() ?? null,
    })),
    emails: emails.map(({ state, itemCount, createdAt, finishedAt, attempts }) => ({
      status: state,
      items: itemCount,
      createdAt: createdAt.toISOString(),
      finishedAt: finishedAt?.toISOString() ?? null,
      attempts: attempts.map(({ startedAt, statusCode, error, reason }) => ({
        startedAt: startedAt.toISOString(),
        statusCode,
        error,
        reason,
      })),
    })),
    emailCount,
  };
}

interface OfClient<T> {
  readonly client: Uuid;
  readonly name: string;
  readonly result: T;
}

/** By name; deleted ones, whose searches are still being removed, as well. `clientId`: of this one alone. */
export async function ofClients<T>(
  database: Queryable,
  clientId: Uuid | null,
  work: (clientId: Uuid) => Promise<T | null>,
): Promise<readonly OfClient<T>[]> {
  // Served by the primary key; without an id it reads every client.
  const { rows } = await database.query<Omit<OfClient<T>, 'result'>>(
    `select id as client, name from clients where $1::uuid is null or id = $1 order by name`,
    [clientId],
  );
  const found: OfClient<T>[] = [];
  for (const row of rows) {
    const result = await work(row.client);
    if (result !== null) found.push({ ...row, result });
  }
  return found;
}

/** Clients that never held it are left out; null when none did. */
export async function documentOfClients(database: Queryable, address: string, clientId: Uuid | null) {
  const held = await ofClients(database, clientId, (id) => readHolding(database, { clientId: id, address }));
  if (held.length === 0) return null;
  const clients = held.map(({ result, ...client }) => ({ ...client, ...recipientDocument(address, result) }));
  return { address, exportedAt: new Date().toISOString(), clients };
}
