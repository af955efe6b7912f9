/** A large number of retries that are not due during the run, all at the only endpoint of a separate client. */

import { endpointKeyOf } from '../../src/engine/domain/endpoint.ts';
import type { SearchNumber, Uuid } from '../../src/engine/domain/ids.ts';
import type { Database } from '../../src/engine/store/database.ts';
import type { RestClient } from '../../test/support/rest-client.ts';
import { seedWaitingRetries } from '../../test/support/seeded-deliveries.ts';

/** Longer than any run, even with a wrong clock. */
const HOURS = 24;
/** Includes the index entries, and the dead version that an update leaves. */
export const WAITING_ROW_BYTES = 1_024;

/**
 * Resolves with an SQL condition that selects only these rows. `rest`: the API of their client; `url`: their endpoint.
 */
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
