/** Reports status, stages and search indexes. Operators control stages, adopt streams and rebuild indexes. */

import { pause } from '../engine/actor/waiting.ts';
import { criteriaOf } from '../engine/domain/search.ts';
import { type Control, nextGeneration, pauseControl, readControls, resumeControl } from '../engine/store/controls.ts';
import type { Database } from '../engine/store/database.ts';
import { ALL_DEAD_LETTERS, countDeadLetters } from '../engine/store/dead-letter-reads.ts';
import { countFailedDeliveries, countOpenDeliveries } from '../engine/store/delivery-admin.ts';
import { countPausedEndpoints } from '../engine/store/endpoints-admin.ts';
import { listInstances, type SeenInstance } from '../engine/store/instances.ts';
import { readIntakeLead } from '../engine/store/intake-leader.ts';
import { countSearches, readAnySearch } from '../engine/store/pairs.ts';
import { listSiteCategories } from '../engine/store/site-categories.ts';
import type { Rpcs } from './call.ts';
import type { AdminDependencies } from './dependencies.ts';
import { failedPrecondition, notFound } from './errors.ts';
import type { Index } from './generated/vigie/admin/v1/matching.ts';
import { type PauseStageRequest, type Stage, Stage_State, type Stream } from './generated/vigie/admin/v1/status.ts';
import { idOfName, nameOf, reasonOf, uuidOfName } from './names.ts';

/** The stages that operators can pause. */
export const STAGES = ['intake', 'deliver'] as const;

const CHECK_EVERY_MS = 200;

export const STATUS_RPCS = {
  async getStatus(_, { database, version, now, readStreams }) {
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
      openDeliveries: Array.from(open.counts, ([state, count]) => ({ state, count })),
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
  },
  async adoptStreams({ validateOnly }, dependencies) {
    const { refusal, adopted } = await dependencies.adoptStreams(validateOnly);
    if (refusal !== null) throw failedPrecondition('OTHER_DATABASE_LEADS', 'streams', refusal);
    return { adopted: [...adopted] };
  },
  pauseStage,
  async resumeStage({ name }, dependencies) {
    const stage = stageOfName(name);
    await resumeControl(dependencies.database, stage);
    await dependencies.controlsChanged();
    return readStage(stage, dependencies);
  },
  /** Pauses the stage. Resolves when no instance has work in progress in it, or when the stage is resumed. */
  async drainStage(request, dependencies, { signal }) {
    let stage = await pauseStage(request, dependencies);
    while (stage.state === Stage_State.STATE_PAUSING) {
      await pause(CHECK_EVERY_MS, signal);
      signal.throwIfAborted();
      await dependencies.controlsChanged();
      stage = await readStage(stageOfName(request.name), dependencies);
    }
    return stage;
  },
  getIndex: (_, { database }) => readIndex(database),
  /** Resolves when every running instance with an index has rebuilt it. */
  async rebuildIndex(_, { database, controlsChanged }, { signal }) {
    if ((await readIndex(database)).instances.length === 0) {
      throw failedPrecondition('NO_INDEX', 'index', 'No instance with the role intake is running. Start one.');
    }
    const generation = await nextGeneration(database, 'index');
    await controlsChanged();
    for (;;) {
      const behind = (await listInstances(database)).some(
        ({ searchIndex }) => searchIndex !== null && searchIndex.generation < generation,
      );
      if (!behind) return readIndex(database);
      await pause(CHECK_EVERY_MS, signal);
      signal.throwIfAborted();
    }
  },
  async getIndexedSearch({ name }, { database, isIndexed }) {
    const search = await readAnySearch(database, uuidOfName('name', 'searches', name));
    if (search === null || search.deletedAt !== null) throw notFound('Search', name);
    const categories = new Map((await listSiteCategories(database)).map((category) => [category.id, category.name]));
    return {
      name: nameOf.search(search.id),
      number: search.number,
      title: search.members.title,
      client: nameOf.client(search.clientId),
      indexed: isIndexed(search.number) ?? undefined,
      criteriaJson: JSON.stringify(criteriaOf(search.members, (id) => categories.get(id) ?? null)),
      notificationEnabled: search.members.notificationEnabled,
    };
  },
} satisfies Rpcs;

async function pauseStage(request: PauseStageRequest, dependencies: AdminDependencies): Promise<Stage> {
  const stage = stageOfName(request.name);
  await pauseControl(dependencies.database, stage, reasonOf(request.reason));
  await dependencies.controlsChanged();
  return readStage(stage, dependencies);
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

async function readIndex(database: Database): Promise<Index> {
  const [instances, storedSearchCount] = await Promise.all([listInstances(database), countSearches(database)]);
  return {
    storedSearchCount,
    instances: instances.flatMap(({ id, searchIndex }) =>
      searchIndex === null
        ? []
        : {
            instance: nameOf.instance(id),
            searchCount: searchIndex.searches,
            buildTime: new Date(searchIndex.builtAt),
            figures: { ...searchIndex.figures },
          },
    ),
  };
}
