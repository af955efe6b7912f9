/**
 * Lets operators see and control an instance. The instance polls the controls every two seconds, and at once when a
 * change is announced. Then it closes or opens its gates, stores its state, and rebuilds its index on request. While
 * PostgreSQL is unavailable, nothing changes.
 */

import { hostname } from 'node:os';
import type { FailingActor } from '../actor/supervisor.ts';
import { startTask } from '../actor/task.ts';
import { InFlight } from '../actor/waiting.ts';
import { onChange } from '../broker/announcements.ts';
import type { Broker } from '../broker/connection.ts';
import type { PauseGate } from '../broker/pause-gate.ts';
import { randomUuid } from '../domain/ids.ts';
import { type Control, readControls } from '../store/controls.ts';
import type { Database } from '../store/database.ts';
import {
  type IndexFigures,
  type Instance,
  removeInstance,
  type StageFigures,
  showInstance,
} from '../store/instances.ts';
import { refusalOf } from '../store/schema.ts';

/** A stage of this instance: its gate, and its work in progress apart from the batches being pulled. */
export interface FollowedStage {
  readonly name: string;
  readonly gate: PauseGate;
  readonly inFlight: () => number;
  /** Absent for a stage that runs in every instance of its role. */
  readonly leads?: () => boolean;
}

/** The search index of this instance. */
export interface ShownIndex {
  readonly figures: () => Omit<IndexFigures, 'generation'>;
  readonly rebuild: () => Promise<void>;
}

export interface InstanceHeartbeatOptions {
  readonly broker: Broker;
  readonly database: Database;
  readonly roles: readonly string[];
  readonly version: string;
  readonly clock: () => Date;
  /** Actors that have been failing in this instance for a while, and checks that fail now. */
  readonly failing: () => readonly FailingActor[];
  /** While true, every stage pauses as if an operator had paused it. */
  readonly isHeld: () => boolean;
  readonly onTransientError: (what: string, error: Error) => void;
  /** Called with the reason why this version must stop: a newer version has upgraded the database beyond it. */
  readonly onOutdated: (reason: string) => void;
}

export type InstanceHeartbeat = Awaited<ReturnType<typeof startInstanceHeartbeat>>;

const CHECK_EVERY_MS = 2_000;

/** Resolves when the instance has stored its first heartbeat. */
export async function startInstanceHeartbeat(options: InstanceHeartbeatOptions) {
  const { broker, database, isHeld, onTransientError } = options;
  const identity = identityOf(options);
  const { id, startedAt } = identity;
  const stages: FollowedStage[] = [];
  let index: ShownIndex | null = null;
  const rebuilds = new InFlight();
  let generation = (await readControls(database)).get('index')?.generation ?? 0;

  async function refresh(): Promise<void> {
    const controls = await readControls(database);
    for (const stage of stages) follow(stage, controls, isHeld());
    await show();
    const wanted = controls.get('index')?.generation ?? 0;
    if (index === null || rebuilds.count > 0 || wanted <= generation) return;
    // Not awaited: it takes long, and without heartbeats the instance would count as gone and ignore a pause.
    rebuilds.add(rebuild(index, wanted).catch((error: Error) => onTransientError('controls', error)));
  }

  async function rebuild(requested: ShownIndex, wanted: number): Promise<void> {
    await requested.rebuild();
    generation = wanted;
    task.ask();
  }

  function show(): Promise<void> {
    return showUnlessOutdated(options, {
      ...identity,
      stages: Object.fromEntries(stages.map((stage) => [stage.name, figuresOf(stage)])),
      failing: options.failing(),
      searchIndex: index === null ? null : { ...index.figures(), generation },
    });
  }

  await refresh();
  const task = startTask({ what: 'controls', everyMs: CHECK_EVERY_MS, work: refresh, onTransientError });
  onChange(broker, 'controls', task.ask);
  return {
    /** The instance's name is `instances/{id}`. */
    id,
    startedAt,
    /** Controls the stage from now on. The gate is closed at once if the stage is paused. */
    async addStage(stage: FollowedStage) {
      stages.push(stage);
      follow(stage, await readControls(database), isHeld());
    },
    setIndex(followed: ShownIndex) {
      index = followed;
    },
    /** Polls the controls, applies them and stores the resulting state. */
    refresh: task.run,
    async stop() {
      await task.stop();
      await removeInstance(database, id).catch((error: Error) => onTransientError('controls', error));
    },
  };
}

function identityOf({ roles, version, clock }: InstanceHeartbeatOptions) {
  return { id: randomUuid(), host: hostname(), processId: process.pid, roles, version, startedAt: clock() };
}

async function showUnlessOutdated(
  { database, onOutdated }: InstanceHeartbeatOptions,
  instance: Instance,
): Promise<void> {
  const reason = refusalOf(await showInstance(database, instance));
  if (reason !== null) onOutdated(reason);
}

function follow({ name, gate }: FollowedStage, controls: ReadonlyMap<string, Control>, isHeld: boolean): void {
  const isPaused = isHeld || (controls.get(name)?.pausedAt ?? null) !== null;
  if (isPaused && gate.isOpen) gate.close();
  if (!isPaused && !gate.isOpen) gate.open();
}

function figuresOf({ gate, inFlight, leads }: FollowedStage): StageFigures {
  return {
    isPaused: !gate.isOpen,
    // A pull through an open gate mostly waits for messages, which is not work in progress.
    inFlight: inFlight() + (gate.isOpen ? 0 : gate.busyCount),
    leads: leads?.() ?? false,
  };
}
