/** Very many retries that wait for their hour beside everything, at one endpoint of a client that has nothing else. */

import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import type { SearchNumber, Uuid } from '../../src/engine/domain/ids.ts';
import type { Database } from '../../src/engine/store/database.ts';
import type { RestClient } from '../../test/support/rest-client.ts';
import { seedWaitingRetries } from '../../test/support/seeded-deliveries.ts';

/** Beyond every run, and every clock in it. */
const HOURS = 24;
/** With the indexes, and what an update leaves. */
export const WAITING_ROW_BYTES = 1_024;

/** Resolves with the condition on the queue that they alone fulfil. `rest`: of their client; `url`: of their endpoint. */
export async function seedWaiting(
  database: Pick<Database, 'query'>,
  rest: RestClient,
  url: string,
  count: number,
): Promise<string> {
  const { id } = await rest.createSearch({
    title: 'waiting',
    budgetMax: 1,
    notificationEnabled: true,
    endpointRecipient: url,
  });
  const { rows } = await database.query<{ number: SearchNumber; generation: number; clientId: Uuid }>(
    'select number, generation, client_id as "clientId" from searches where id = $1',
    [id],
  );
  const [search] = rows as [(typeof rows)[number]];
  await seedWaitingRetries(database, search, endpointKeyOf(search.clientId, url), count, HOURS);
  return `search_number = ${search.number}`;
}
