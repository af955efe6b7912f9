/** Maps each method of the interface to the function that answers it. */

import { FEATURES } from '../features.ts';
import { createWatching } from './activity.ts';
import { type CallTimeouts, clientStreaming, serverStreaming, type Unary, unary } from './call.ts';
import {
  createApiKey,
  createClient,
  deleteClient,
  listApiKeys,
  listClients,
  revokeApiKey,
  updateClient,
} from './clients.ts';
import { getDeadLetter, listDeadLetters, purgeDeadLetters, requeueDeadLetters } from './dead-letters.ts';
import { getDelivery, listDeliveries, resendDelivery } from './deliveries.ts';
import type { AdminDependencies } from './dependencies.ts';
import { getEndpoint, listEndpoints, pauseEndpoint, resumeEndpoint } from './endpoints.ts';
import type { AdminServiceServer } from './generated/vigie/admin/v1/admin.ts';
import {
  deletePointSource,
  importPoints,
  listPointSources,
  listSiteCategories,
  setSiteCategories,
} from './reference.ts';
import {
  adoptStreams,
  drainStage,
  getIndexedSearch,
  getStatus,
  pauseStage,
  readIndex,
  rebuildIndex,
  resumeStage,
} from './status.ts';

/** `stopping`: ends the watchers. */
export function createHandlers(
  all: AdminDependencies,
  stopping: AbortSignal,
  { usualMs, longMs }: CallTimeouts,
): AdminServiceServer {
  const usual: Unary = (handle) => unary(all, usualMs, handle);
  const long: Unary = (handle) => unary(all, longMs, handle);
  const watching = createWatching(stopping);
  const own: Partial<AdminServiceServer> = {
    getStatus: usual((_, own) => getStatus(own)),
    pauseStage: usual(pauseStage),
    resumeStage: usual(({ name }, own) => resumeStage(name, own)),
    drainStage: long(drainStage),
    adoptStreams: usual(adoptStreams),
    getIndex: usual((_, { database }) => readIndex(database)),
    rebuildIndex: long((_, own, context) => rebuildIndex(own, context)),
    getIndexedSearch: usual(({ name }, own) => getIndexedSearch(name, own)),
    listDeliveries: usual(listDeliveries),
    getDelivery: usual(getDelivery),
    resendDelivery: usual(({ name }, own) => resendDelivery(name, own)),
    listDeadLetters: usual(listDeadLetters),
    getDeadLetter: usual(({ name }, own) => getDeadLetter(name, own)),
    requeueDeadLetters: long(requeueDeadLetters),
    purgeDeadLetters: usual(purgeDeadLetters),
    listEndpoints: usual(listEndpoints),
    getEndpoint: usual(({ name }, own) => getEndpoint(name, own)),
    pauseEndpoint: usual(pauseEndpoint),
    resumeEndpoint: usual(({ name }, own) => resumeEndpoint(name, own)),
    createClient: usual(createClient),
    updateClient: usual(updateClient),
    listClients: usual(listClients),
    deleteClient: usual(({ name }, own) => deleteClient(name, own)),
    createApiKey: usual(createApiKey),
    listApiKeys: usual(listApiKeys),
    revokeApiKey: usual(({ name }, own) => revokeApiKey(name, own)),
    listSiteCategories: usual(listSiteCategories),
    setSiteCategories: usual(setSiteCategories),
    listPointSources: usual(listPointSources),
    importPointsOfInterest: clientStreaming(all, longMs, importPoints),
    deletePointSource: usual(({ name }, own) => deletePointSource(name, own)),
    watchActivity: serverStreaming(all, watching.watch),
  };
  return Object.assign(own, ...FEATURES.map(({ rpcs }) => rpcs?.(usual)));
}
