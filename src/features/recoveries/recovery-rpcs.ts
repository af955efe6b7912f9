/** Recoveries that operators start, follow and stop for clients, who can do all of it themselves (recovery-routes.ts). */

import { endpointKeyOf } from '../../engine/domain/endpoint.ts';
import { type SearchNumber, timeOrderedUuid, type Uuid } from '../../engine/domain/ids.ts';
import { readAnySearch } from '../../engine/store/pairs.ts';
import type { AdminDependencies } from '../../grpc/dependencies.ts';
import { failedPrecondition, invalidArgument, notFound } from '../../grpc/errors.ts';
import { textOf } from '../../grpc/fields.ts';
import {
  type ListRecoveriesRequest,
  type ListRecoveriesResponse,
  type Recovery,
  Recovery_State,
  type StartRecoveryRequest,
} from '../../grpc/generated/vigie/admin/v1/recoveries.ts';
import { clientIdOf, nameOf, optionalClientId, optionalUuidOfName, uuidOfName } from '../../grpc/names.ts';
import { cutPage, pageOf, uuidCursorOf } from '../../grpc/paging.ts';
import {
  createRecovery,
  isEndpointKnown,
  isWithinKept,
  listAnyRecoveries,
  RecoveryOpenError,
  type Recovery as RecoveryRead,
  type RecoveryState,
  readAnyRecovery,
  remainingOf,
  stopRecovery as stopRow,
} from './recovery-rows.ts';
import { countFitting } from './recovery-steps.ts';

const ENDPOINT_LENGTH_MAX = 2_048;

export async function startRecovery(request: StartRecoveryRequest, dependencies: AdminDependencies): Promise<Recovery> {
  const { database, now, retentionDays } = dependencies;
  const present = now();
  const { startTime: since, endTime: until = present } = request;
  if (since === undefined) throw invalidArgument('start_time', 'must be set');
  if (since > until) throw invalidArgument('start_time', 'must not be after end_time');
  if (!isWithinKept(since, present, retentionDays.deliveries)) {
    throw invalidArgument('start_time', `must be within the ${retentionDays.deliveries} days that deliveries are kept`);
  }
  const clientId = await clientIdOf('client', request.client, database);
  const endpoint = textOf('endpoint_url', request.endpointUrl, ENDPOINT_LENGTH_MAX) || null;
  if (endpoint !== null && !(await isEndpointKnown(database, endpointKeyOf(clientId, endpoint)))) {
    throw invalidArgument('endpoint_url', 'must be an endpoint of the client, to which something was sent');
  }
  const recovery = {
    id: timeOrderedUuid(present),
    clientId,
    searchNumber: await numberOfSearch(request.search, clientId, dependencies),
    endpoint,
    since,
    until: until > present ? present : until,
    includesDelivered: request.includeDelivered,
  };
  if (request.validateOnly) {
    const matchedCount = await countFitting(database, recovery);
    const none = { state: Recovery_State.STATE_UNSPECIFIED, sentCount: 0, deliveredCount: 0, failedCount: 0 };
    const asked = { ...request, client: nameOf.client(clientId), startTime: since, endTime: recovery.until };
    return {
      ...asked,
      ...none,
      name: '',
      matchedCount,
      remainingCount: matchedCount,
      createTime: undefined,
      finishTime: undefined,
    };
  }
  try {
    return recoveryMessage(await createRecovery(database, recovery));
  } catch (error) {
    if (!(error instanceof RecoveryOpenError)) throw error;
    const description = 'the client has a recovery that is not finished: wait for its end, or stop it';
    throw failedPrecondition('RECOVERY_OPEN', nameOf.client(clientId), description);
  }
}

/** Null when the field is empty: of all searches. */
async function numberOfSearch(
  name: string,
  clientId: Uuid,
  { database }: AdminDependencies,
): Promise<SearchNumber | null> {
  const id = optionalUuidOfName('search', 'searches', name);
  if (id === null) return null;
  const search = await readAnySearch(database, id);
  const isOfClient = search !== null && search.clientId === clientId && search.deletedAt === null;
  if (!isOfClient) throw notFound('Search', name, `the client has no ${name}`);
  return search.number;
}

export async function getRecovery(name: string, { database }: AdminDependencies): Promise<Recovery> {
  const recovery = await readAnyRecovery(database, uuidOfName('name', 'recoveries', name));
  if (recovery === null) throw notFound('Recovery', name);
  return recoveryMessage(recovery);
}

export async function listRecoveries(
  request: ListRecoveriesRequest,
  { database }: AdminDependencies,
): Promise<ListRecoveriesResponse> {
  const clientId = await optionalClientId('client', request.client, database);
  const page = pageOf(request, { clientId });
  const rows = await listAnyRecoveries(database, clientId, uuidCursorOf(page), page.size + 1);
  const { rows: recoveries, nextPageToken } = cutPage(rows, page, { clientId }, ({ id }) => id);
  return { recoveries: recoveries.map(recoveryMessage), nextPageToken };
}

export async function stopRecovery(name: string, dependencies: AdminDependencies): Promise<Recovery> {
  const { database } = dependencies;
  const id = uuidOfName('name', 'recoveries', name);
  const recovery = await readAnyRecovery(database, id);
  if (recovery === null) throw notFound('Recovery', name);
  await stopRow(database, recovery.clientId, id);
  return getRecovery(name, dependencies);
}

const STATES: Readonly<Record<RecoveryState, Recovery_State>> = {
  counting: Recovery_State.STATE_COUNTING,
  running: Recovery_State.STATE_RUNNING,
  finished: Recovery_State.STATE_FINISHED,
  stopped: Recovery_State.STATE_STOPPED,
};

function recoveryMessage(recovery: RecoveryRead): Recovery {
  return {
    name: nameOf.recovery(recovery.id),
    client: nameOf.client(recovery.clientId),
    startTime: recovery.since,
    endTime: recovery.until,
    search: recovery.searchId === null ? '' : nameOf.search(recovery.searchId),
    endpointUrl: recovery.endpoint ?? '',
    includeDelivered: recovery.includesDelivered,
    state: STATES[recovery.state],
    matchedCount: recovery.matched,
    sentCount: recovery.sent,
    deliveredCount: recovery.delivered,
    failedCount: recovery.failed,
    remainingCount: remainingOf(recovery),
    createTime: recovery.createdAt,
    finishTime: recovery.finishedAt ?? undefined,
  };
}
