/** Status and stages: what every instance says of itself, and what operators decide about stages. */

import { pause } from '../engine/actor/waiting.ts';
import { type Control, pauseControl, readControls, resumeControl } from '../engine/store/controls.ts';
import { ALL_DEAD_LETTERS, countDeadLetters } from '../engine/store/dead-letter-reads.ts';
import { countFailedDeliveries, countOpenDeliveries } from '../engine/store/delivery-admin.ts';
import { countPausedEndpoints } from '../engine/store/endpoints-admin.ts';
import { listInstances, type SeenInstance } from '../engine/store/instances.ts';
import { readIntakeLead } from '../engine/store/intake-leader.ts';
import type { CallContext } from './call.ts';
import type { AdminDependencies } from './dependencies.ts';
import { failedPrecondition, notFound } from './errors.ts';
import { reasonOf } from './fields.ts';
import type {
  AdoptStreamsRequest,
  AdoptStreamsResponse,
  PauseStageRequest,
  Stage,
  Status,
  Stream,
} from './generated/vigie/admin/v1/status.ts';
import { Stage_State } from './generated/vigie/admin/v1/status.ts';
import { readIndex } from './index-status.ts';
import { idOfName, nameOf } from './names.ts';

/** What can be paused. */
export const STAGES = ['intake', 'deliver'] as const;

const DRAIN_LOOK_EVERY_MS = 200;

export async function getStatus(dependencies: AdminDependencies): Promise<Status> {
  const { database, version, now, readStreams } = dependencies;
  const [instances, controls, streams, open, failed, letters, pausedEndpoints, index, lead] = await Promise.all([
    listInstances(database),
    readControls(database),
    readStreams(),
    countOpenDeliveries(database),
    countFailedDeliveries(database),
    countDeadLetters(database, ALL_DEAD_LETTERS),
    countPausedEndpoints(database),
    readIndex(database),
    readIntakeLead(database),
  ]);
  return {
    version,
    readTime: now(),
    instances: instances.map((instance) => ({
      name: nameOf.instance(instance.id),
      host: instance.host,
      processId: instance.processId,
      roles: [...instance.roles],
      version: instance.version,
      startTime: instance.startedAt,
      seenTime: instance.seenAt,
      leadsIntake: instance.stages.intake?.leads === true,
      failingActors: instance.failing.map(({ actor, reason, failingForMs }) => ({
        actor,
        reason,
        failingSeconds: Math.round(failingForMs / 1_000),
      })),
    })),
    stages: STAGES.map((stage) => stageOf(stage, instances, controls)),
    streams: streams.map(streamOf),
    openDeliveries: ['queued', 'sending', 'retry_wait'].map((state) => ({
      state,
      count: open.counts.get(state) ?? 0,
    })),
    failedDeliveryCount: failed,
    oldestDueTime: open.oldestDueAt ?? undefined,
    deadLetterCount: letters,
    pausedEndpointCount: pausedEndpoints,
    index,
    intakeLead: {
      beginTime: lead.beganAt ?? undefined,
      gapSeconds: lead.gapSeconds,
      leaderlessSeconds: lead.leaderlessSeconds,
    },
  };
}

export async function adoptStreams(
  { validateOnly }: AdoptStreamsRequest,
  dependencies: AdminDependencies,
): Promise<AdoptStreamsResponse> {
  const { refusal, adopted } = await dependencies.adoptStreams(validateOnly);
  if (refusal !== null) throw failedPrecondition('OTHER_DATABASE_LEADS', 'streams', refusal);
  return { adopted: [...adopted] };
}

export async function pauseStage(request: PauseStageRequest, dependencies: AdminDependencies): Promise<Stage> {
  const stage = stageOfName(request.name);
  await pauseControl(dependencies.database, stage, reasonOf(request.reason));
  await dependencies.controlsChanged();
  return readStage(stage, dependencies);
}

export async function resumeStage(name: string, dependencies: AdminDependencies): Promise<Stage> {
  const stage = stageOfName(name);
  await resumeControl(dependencies.database, stage);
  await dependencies.controlsChanged();
  return readStage(stage, dependencies);
}

/** Resolves when nothing of the stage is under way on any instance. */
export async function drainStage(
  request: PauseStageRequest,
  dependencies: AdminDependencies,
  { signal }: CallContext,
): Promise<Stage> {
  let stage = await pauseStage(request, dependencies);
  while (stage.state === Stage_State.STATE_PAUSING) {
    await pause(DRAIN_LOOK_EVERY_MS, signal);
    signal.throwIfAborted();
    await dependencies.controlsChanged();
    stage = await readStage(stageOfName(request.name), dependencies);
  }
  return stage;
}

async function readStage(stage: string, { database }: AdminDependencies): Promise<Stage> {
  const [instances, controls] = await Promise.all([listInstances(database), readControls(database)]);
  return stageOf(stage, instances, controls);
}

function stageOfName(name: string): string {
  const stage = idOfName('name', 'stages', name);
  if (!STAGES.some((known) => known === stage)) throw notFound('Stage', name);
  return stage;
}

function stageOf(stage: string, instances: readonly SeenInstance[], controls: ReadonlyMap<string, Control>): Stage {
  const figures = instances.flatMap(({ stages }) => stages[stage] ?? []);
  const control = controls.get(stage);
  const inFlight = figures.reduce((sum, each) => sum + each.inFlight, 0);
  const isQuiet = inFlight === 0 && figures.every(({ isPaused }) => isPaused);
  return {
    name: nameOf.stage(stage),
    state: stateOf(figures.length, (control?.pausedAt ?? null) !== null, isQuiet),
    pauseTime: control?.pausedAt ?? undefined,
    pauseReason: control?.reason ?? '',
    inFlight,
    instanceCount: figures.length,
  };
}

function stateOf(instanceCount: number, isPaused: boolean, isQuiet: boolean): Stage_State {
  if (isPaused) return isQuiet ? Stage_State.STATE_PAUSED : Stage_State.STATE_PAUSING;
  return instanceCount === 0 ? Stage_State.STATE_ABSENT : Stage_State.STATE_RUNNING;
}

function streamOf(stream: Awaited<ReturnType<AdminDependencies['readStreams']>>[number]): Stream {
  return {
    name: nameOf.stream(stream.name),
    messageCount: stream.messages,
    byteCount: stream.bytes,
    pendingCount: stream.pending,
    ackPendingCount: stream.ackPending,
    consumerCount: stream.consumers,
  };
}
