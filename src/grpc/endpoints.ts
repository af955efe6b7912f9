/** Lists endpoints; shows, pauses or resumes one. */

import { pauseEndpoint as pauseRow, resumeEndpoint as resumeRow } from '../engine/store/endpoints.ts';
import { type AdminEndpoint, listAdminEndpoints, readAdminEndpoint } from '../engine/store/endpoints-admin.ts';
import type { AdminDependencies } from './dependencies.ts';
import { notFound } from './errors.ts';
import type {
  Endpoint,
  ListEndpointsRequest,
  ListEndpointsResponse,
  PauseEndpointRequest,
} from './generated/vigie/admin/v1/endpoints.ts';
import { endpointKeyOfName, nameOf, reasonOf } from './names.ts';
import { cutPage, offsetOf, pageOf } from './paging.ts';

export async function listEndpoints(
  request: ListEndpointsRequest,
  { database }: AdminDependencies,
): Promise<ListEndpointsResponse> {
  const { pausedOnly } = request;
  const page = pageOf(request, { pausedOnly });
  const offset = offsetOf(page);
  const rows = await listAdminEndpoints(database, { pausedOnly, offset, limit: page.size + 1 });
  const cut = cutPage(rows, page, { pausedOnly }, (_, position) => String(offset + position + 1));
  return { endpoints: cut.rows.map(endpointMessage), nextPageToken: cut.nextPageToken };
}

export async function getEndpoint(name: string, { database }: AdminDependencies): Promise<Endpoint> {
  const endpoint = await readAdminEndpoint(database, endpointKeyOfName('name', name));
  if (endpoint === null) throw notFound('Endpoint', name);
  return endpointMessage(endpoint);
}

/** No attempt starts after the pause is stored. */
export async function pauseEndpoint(
  { name, reason }: PauseEndpointRequest,
  dependencies: AdminDependencies,
): Promise<Endpoint> {
  const { database, announceDue } = dependencies;
  const key = endpointKeyOfName('name', name);
  const words = reasonOf(reason);
  const endpoint = await readAdminEndpoint(database, key);
  if (endpoint === null) throw notFound('Endpoint', name);
  announceDue(await pauseRow(database, key, endpoint.url, words));
  return getEndpoint(name, dependencies);
}

/** Couriers resume within about a second. Resuming an endpoint that is not paused changes nothing. */
export async function resumeEndpoint(name: string, dependencies: AdminDependencies): Promise<Endpoint> {
  const key = endpointKeyOfName('name', name);
  await resumeRow(dependencies.database, key, 'operator');
  return getEndpoint(name, dependencies);
}

function endpointMessage(endpoint: AdminEndpoint): Endpoint {
  const { lastSuccessAt, lastFailureAt } = endpoint;
  const hasFailedLast = (lastFailureAt?.getTime() ?? 0) > (lastSuccessAt?.getTime() ?? 0);
  return {
    name: nameOf.endpoint(endpoint.key),
    url: endpoint.url,
    pauseTime: endpoint.pausedAt ?? undefined,
    pauseReason: endpoint.pauseReason ?? '',
    openCount: endpoint.openCount ?? 0,
    failedCount: endpoint.failedCount ?? 0,
    oldestDueTime: endpoint.oldestDueAt ?? undefined,
    failureStreak: endpoint.failureStreak,
    lastError: hasFailedLast ? (endpoint.lastError ?? '') : '',
    lastAttemptTime: (hasFailedLast ? lastFailureAt : lastSuccessAt) ?? undefined,
  };
}
