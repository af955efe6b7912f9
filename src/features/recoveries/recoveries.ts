/**
 * A recovery resends the webhooks of a client from a period that have failed or wait for a retry; on request, delivered
 * ones too. A background task makes them due, oldest first, behind the other retries of their endpoints
 * (recovery-steps.ts). This file has that task, and the RPCs for operators.
 */

import { startTask, type Task } from '../../engine/actor/task.ts';
import type { DueAnnouncer } from '../../engine/broker/announcements.ts';
import type { PauseGate } from '../../engine/broker/pause-gate.ts';
import { endpointKeyOf } from '../../engine/domain/endpoint.ts';
import { type SearchNumber, timeOrderedUuid, type Uuid } from '../../engine/domain/ids.ts';
import { type Database, transaction } from '../../engine/store/database.ts';
import { readAnySearch } from '../../engine/store/pairs.ts';
import type { Feature } from '../../feature.ts';
import type { AdminDependencies } from '../../grpc/dependencies.ts';
import { failedPrecondition, invalidArgument, notFound } from '../../grpc/errors.ts';
import {
  type ListRecoveriesRequest,
  type ListRecoveriesResponse,
  type Recovery,
  Recovery_State,
  type StartRecoveryRequest,
} from '../../grpc/generated/vigie/admin/v1/recoveries.ts';
import {
  clientIdOf,
  nameOf,
  optionalClientId,
  optionalUuidOfName,
  optionalValue,
  uuidOfName,
} from '../../grpc/names.ts';
import { cutPage, pageOf, uuidCursorOf } from '../../grpc/paging.ts';
import { Problem } from '../../rest/problem.ts';
import { ENDPOINT_URL, FUTURE } from '../../values.ts';
import { RECOVERY_CONTRACT, recoveryRoutes } from './recovery-routes.ts';
import * as stored from './recovery-rows.ts';
import { countFitting, countPage, lockNextRecovery, sendNext } from './recovery-steps.ts';

const STEP_EVERY_MS = 250;
/** Share of the concurrent attempts of a process that all recoveries may use, so that new deliveries hardly wait. */
const SLOTS_SHARE = 1 / 4;

export const recoveries: Feature = {
  name: 'recoveries',
  async *forget(database, { deliveries }) {
    if (deliveries !== null) yield { recoveries: await stored.removeRecoveries(database, deliveries) };
  },
  contract: RECOVERY_CONTRACT,
  routes: recoveryRoutes,
  rpcs: {
    startRecovery,
    getRecovery: ({ name }, own) => getRecovery(name, own),
    listRecoveries,
    stopRecovery: ({ name }, own) => stopRecovery(name, own),
  },
  start({ config: { attemptsInFlightMax }, database, announcer, onTransientError }, gate) {
    const task = startRecoveries({ database, announcer, attemptsInFlightMax, gate, onTransientError });
    return { drain: task.stop };
  },
};

export interface RecoveriesDependencies {
  readonly database: Database;
  readonly announcer: Pick<DueAnnouncer, 'announce'>;
  /** Maximum number of concurrent attempts of one process. */
  readonly attemptsInFlightMax: number;
  /** While the gate is closed, recoveries make no deliveries due. */
  readonly gate?: Pick<PauseGate, 'isOpen'>;
  readonly onTransientError: (what: string, error: Error) => void;
}

export function startRecoveries(dependencies: RecoveriesDependencies): Task {
  return startTask({
    what: 'recoveries',
    everyMs: STEP_EVERY_MS,
    work: () => (dependencies.gate?.isOpen === false ? undefined : step(dependencies)),
    onTransientError: dependencies.onTransientError,
  });
}

async function step({ database, announcer, attemptsInFlightMax }: RecoveriesDependencies): Promise<void> {
  const slots = attemptsInFlightMax * SLOTS_SHARE;
  for (let after: Uuid | null = null; ; ) {
    const { recovery, due } = await transaction(database, async (connection) => {
      const next = await lockNextRecovery(connection, after);
      if (next?.state === 'counting') await countPage(connection, next);
      return { recovery: next, due: next?.state === 'running' ? await sendNext(connection, next, slots) : [] };
    });
    announcer.announce(due);
    if (recovery === null) return;
    after = recovery.id;
  }
}

async function startRecovery(request: StartRecoveryRequest, dependencies: AdminDependencies): Promise<Recovery> {
  const { database, now, retentionDays } = dependencies;
  const present = now();
  const { startTime: since, endTime: until = present } = request;
  if (since === undefined) throw invalidArgument('start_time', 'must be set');
  if (since > present) throw invalidArgument('start_time', FUTURE.en);
  if (since > until) throw invalidArgument('start_time', 'must not be after end_time');
  if (!stored.isWithinKept(since, present, retentionDays.deliveries)) {
    throw invalidArgument('start_time', `must be within the ${retentionDays.deliveries} days that deliveries are kept`);
  }
  const clientId = await clientIdOf('client', request.client, database);
  const endpoint = optionalValue('endpoint_url', ENDPOINT_URL, request.endpointUrl);
  if (endpoint !== null && !(await stored.isEndpointKnown(database, endpointKeyOf(clientId, endpoint)))) {
    throw invalidArgument('endpoint_url', 'must be an endpoint with deliveries of the client');
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
    const requested = { ...request, client: nameOf.client(clientId), startTime: since, endTime: recovery.until };
    return {
      ...requested,
      ...none,
      name: '',
      matchedCount,
      remainingCount: matchedCount,
      createTime: undefined,
      finishTime: undefined,
    };
  }
  try {
    return recoveryMessage(await stored.createRecovery(database, recovery));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const description = 'The client has a recovery that is not finished. Wait until it ends, or stop it.';
    throw failedPrecondition('RECOVERY_OPEN', nameOf.client(clientId), description);
  }
}

/** Null if the field is empty: the recovery covers all searches. */
async function numberOfSearch(
  name: string,
  clientId: Uuid,
  { database }: AdminDependencies,
): Promise<SearchNumber | null> {
  const id = optionalUuidOfName('search', 'searches', name);
  if (id === null) return null;
  const search = await readAnySearch(database, id);
  const isOfClient = search !== null && search.clientId === clientId && search.deletedAt === null;
  if (!isOfClient) throw notFound('Search', name, `The client has no ${name}.`);
  return search.number;
}

async function getRecovery(name: string, { database }: AdminDependencies): Promise<Recovery> {
  const recovery = await stored.readRecovery(database, null, uuidOfName('name', 'recoveries', name));
  if (recovery === null) throw notFound('Recovery', name);
  return recoveryMessage(recovery);
}

async function listRecoveries(
  request: ListRecoveriesRequest,
  { database }: AdminDependencies,
): Promise<ListRecoveriesResponse> {
  const clientId = await optionalClientId('client', request.client, database);
  const page = pageOf(request, { clientId });
  const rows = await stored.listAnyRecoveries(database, clientId, uuidCursorOf(page), page.size + 1);
  const { rows: recoveries, nextPageToken } = cutPage(rows, page, { clientId }, ({ id }) => id);
  return { recoveries: recoveries.map(recoveryMessage), nextPageToken };
}

async function stopRecovery(name: string, dependencies: AdminDependencies): Promise<Recovery> {
  const { database } = dependencies;
  const id = uuidOfName('name', 'recoveries', name);
  if (!(await stored.stopRecovery(database, null, id))) throw notFound('Recovery', name);
  return getRecovery(name, dependencies);
}

const STATES: Readonly<Record<stored.RecoveryState, Recovery_State>> = {
  counting: Recovery_State.STATE_COUNTING,
  running: Recovery_State.STATE_RUNNING,
  finished: Recovery_State.STATE_FINISHED,
  stopped: Recovery_State.STATE_STOPPED,
};

function recoveryMessage(recovery: stored.Recovery): Recovery {
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
    remainingCount: stored.remainingOf(recovery),
    createTime: recovery.createdAt,
    finishTime: recovery.finishedAt ?? undefined,
  };
}
