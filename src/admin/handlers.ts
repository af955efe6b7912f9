/** Every call of the interface and the function that answers it. */

import { createWatching } from './activity.ts';
import { clientStreaming, LONG_TIMEOUT_MS, serverStreaming, unary } from './call.ts';
import { createApiKey, createClient, listApiKeys, listClients, revokeApiKey } from './clients.ts';
import { getDeadLetter, listDeadLetters, purgeDeadLetters, requeueDeadLetters } from './dead-letters.ts';
import { getDelivery, listDeliveries, retryDelivery } from './deliveries.ts';
import type { AdminDependencies } from './dependencies.ts';
import { getEndpoint, listEndpoints, pauseEndpoint, resumeEndpoint } from './endpoints.ts';
import { explainMatch } from './explain.ts';
import type { AdminServiceServer } from './generated/vigie/admin/v1/admin.ts';
import { getIndexedSearch, readIndex, rebuildIndex } from './index-status.ts';
import {
  deletePointSource,
  importPoints,
  listPointSources,
  listSiteCategories,
  setSiteCategories,
} from './reference.ts';
import { replayDeliveries } from './replays.ts';
import { drainStage, getStatus, pauseStage, resumeStage } from './status.ts';

/** `stopping`: ends the watchers. */
export function createHandlers(all: AdminDependencies, stopping: AbortSignal): AdminServiceServer {
  const long = { timeoutMs: LONG_TIMEOUT_MS };
  const watching = createWatching(all, stopping);
  return {
    getStatus: unary(all, () => getStatus(all)),
    pauseStage: unary(all, (request) => pauseStage(request, all)),
    resumeStage: unary(all, ({ name }) => resumeStage(name, all)),
    drainStage: unary(all, (request, context) => drainStage(request, all, context), long),
    getIndex: unary(all, () => readIndex(all.database)),
    rebuildIndex: unary(all, (_, context) => rebuildIndex(all, context), long),
    getIndexedSearch: unary(all, ({ name }) => getIndexedSearch(name, all)),
    explainMatch: unary(all, (request) => explainMatch(request, all)),
    listDeliveries: unary(all, (request) => listDeliveries(request, all)),
    getDelivery: unary(all, (request) => getDelivery(request, all)),
    retryDelivery: unary(all, ({ name }) => retryDelivery(name, all)),
    replayDeliveries: unary(all, (request, context) => replayDeliveries(request, all, context), long),
    listDeadLetters: unary(all, (request) => listDeadLetters(request, all)),
    getDeadLetter: unary(all, ({ name }) => getDeadLetter(name, all)),
    requeueDeadLetters: unary(all, (request, context) => requeueDeadLetters(request, all, context), long),
    purgeDeadLetters: unary(all, (request) => purgeDeadLetters(request, all)),
    listEndpoints: unary(all, (request) => listEndpoints(request, all)),
    getEndpoint: unary(all, ({ name }) => getEndpoint(name, all)),
    pauseEndpoint: unary(all, (request) => pauseEndpoint(request, all)),
    resumeEndpoint: unary(all, ({ name }) => resumeEndpoint(name, all)),
    createClient: unary(all, (request) => createClient(request, all)),
    listClients: unary(all, (request) => listClients(request, all)),
    createApiKey: unary(all, (request) => createApiKey(request, all)),
    listApiKeys: unary(all, (request) => listApiKeys(request, all)),
    revokeApiKey: unary(all, ({ name }) => revokeApiKey(name, all)),
    listSiteCategories: unary(all, (request) => listSiteCategories(request, all)),
    setSiteCategories: unary(all, (request) => setSiteCategories(request, all)),
    listPointSources: unary(all, (request) => listPointSources(request, all)),
    importPointsOfInterest: clientStreaming(all, (requests, context) => importPoints(requests, all, context), long),
    deletePointSource: unary(all, ({ name }) => deletePointSource(name, all)),
    watchActivity: serverStreaming(all, (call, context) => watching.watch(call, context)),
  };
}
