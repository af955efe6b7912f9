/** Lists endpoints; shows, pauses or resumes one. */

import type { Database } from '../engine/store/database.ts';
import { pauseEndpoint, resumeEndpoint } from '../engine/store/endpoints.ts';
import { type AdminEndpoint, listAdminEndpoints, readAdminEndpoint } from '../engine/store/endpoints-admin.ts';
import type { Rpcs } from './call.ts';
import { notFound } from './errors.ts';
import type { Endpoint } from './generated/vigie/admin/v1/endpoints.ts';
import { endpointKeyOfName, nameOf, reasonOf } from './names.ts';
import { cutPage, offsetOf, pageOf } from './paging.ts';

export const ENDPOINT_RPCS = {
  async listEndpoints(request, { database }) {
    const { pausedOnly } = request;
    const page = pageOf(request, { pausedOnly });
    const offset = offsetOf(page);
    const rows = await listAdminEndpoints(database, { pausedOnly, offset, limit: page.size + 1 });
    const cut = cutPage(rows, page, { pausedOnly }, (_, position) => String(offset + position + 1));
    return { endpoints: cut.rows.map(endpointMessage), nextPageToken: cut.nextPageToken };
  },
  getEndpoint: async ({ name }, { database }) => endpointMessage(await readNamed(name, database)),
  /** No attempt starts after the answer. */
  async pauseEndpoint({ name, reason }, { database, announceDue }) {
    const words = reasonOf(reason);
    const { key, url } = await readNamed(name, database);
    announceDue(await pauseEndpoint(database, key, url, words));
    return endpointMessage(await readNamed(name, database));
  },
  /** Couriers resume within about a second, unless another pause of the endpoint remains. */
  async resumeEndpoint({ name }, { database }) {
    await resumeEndpoint(database, endpointKeyOfName('name', name), 'operator');
    return endpointMessage(await readNamed(name, database));
  },
} satisfies Rpcs;

async function readNamed(name: string, database: Database): Promise<AdminEndpoint> {
  const endpoint = await readAdminEndpoint(database, endpointKeyOfName('name', name));
  if (endpoint === null) throw notFound('Endpoint', name);
  return endpoint;
}

function endpointMessage(endpoint: AdminEndpoint): Endpoint {
  return {
    name: nameOf.endpoint(endpoint.key),
    url: endpoint.url,
    pauseTime: endpoint.pausedAt ?? undefined,
    pauseReason: endpoint.pauseReason ?? '',
    openCount: endpoint.openCount,
    failedCount: endpoint.failedCount,
    oldestDueTime: endpoint.oldestDueAt ?? undefined,
    failureStreak: endpoint.failureStreak,
    lastError: endpoint.lastError ?? '',
    lastAttemptTime: endpoint.lastAttemptAt ?? undefined,
  };
}
