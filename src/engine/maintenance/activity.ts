/**
 * Reports to watchers what this instance does. Nothing is built or sent without a watcher: a watcher announces itself
 * every two seconds and is forgotten after ten. A watch begins when every living instance has confirmed that it
 * publishes.
 */

import { startTask } from '../actor/task.ts';
import { endsWithin } from '../actor/waiting.ts';
import { announceWatcher, callForActivity, onActivity, onWatcher, publishActivity } from '../broker/announcements.ts';
import type { Broker } from '../broker/connection.ts';
import { BrokerSilentError } from '../broker/outage.ts';
import type { Activity } from '../domain/activity.ts';
import type { Queryable } from '../store/database.ts';
import { listInstances } from '../store/instances.ts';

export interface ActivityFeed {
  readonly isWatched: boolean;
  /** `build` is called only while there is a watcher. */
  publish(build: () => readonly Activity[]): void;
  /**
   * Resolves when the activities of every living instance arrive, or when one has not answered for a second; the result
   * ends the watch. Rejects with `BrokerUnavailableError` when NATS does not answer at all.
   */
  watch(onActivities: (activities: readonly Activity[]) => void): Promise<() => void>;
}

export interface ActivityFeedOptions {
  readonly broker: Broker;
  readonly database: Queryable;
  /** The name by which other instances know this one. */
  readonly instanceId: string;
  /** An instance that died within the last seconds is still listed. */
  readonly answersWithinMs?: number;
}

const WATCHER_FORGOTTEN_MS = 10_000;
const WATCHER_SHOWN_EVERY_MS = 2_000;
const ANSWERS_WITHIN_MS = 1_000;
/** Keeps a message well below the server's limit of one megabyte. */
const ACTIVITIES_PER_MESSAGE = 500;

export function createActivityFeed(options: ActivityFeedOptions): ActivityFeed {
  const { broker, instanceId } = options;
  let watchedUntilMs = Number.NEGATIVE_INFINITY;
  onWatcher(broker, instanceId, () => {
    watchedUntilMs = performance.now() + WATCHER_FORGOTTEN_MS;
  });
  return {
    get isWatched() {
      return performance.now() < watchedUntilMs;
    },
    publish(build) {
      if (performance.now() >= watchedUntilMs) return;
      const activities = build();
      for (let start = 0; start < activities.length; start += ACTIVITIES_PER_MESSAGE) {
        const part = activities.slice(start, start + ACTIVITIES_PER_MESSAGE);
        publishActivity(broker, Buffer.from(JSON.stringify(part)));
      }
    },
    async watch(onActivities) {
      const end = onActivity(broker, (bytes) => onActivities(JSON.parse(Buffer.from(bytes).toString('utf8'))));
      const work = (): void => announceWatcher(broker);
      const showing = startTask({ what: 'show a watcher', everyMs: WATCHER_SHOWN_EVERY_MS, work });
      const stop = (): void => {
        void showing.stop();
        end();
      };
      try {
        await everyInstanceAnswers(options);
      } catch (error) {
        stop();
        throw error;
      }
      return stop;
    },
  };
}

async function everyInstanceAnswers(options: ActivityFeedOptions): Promise<void> {
  const { broker, database, instanceId, answersWithinMs = ANSWERS_WITHIN_MS } = options;
  const missing = new Set([instanceId, ...(await listInstances(database)).map(({ id }) => id)]);
  let endCall = (): void => undefined;
  const answered = new Promise<void>((resolve) => {
    endCall = callForActivity(broker, (id) => {
      missing.delete(id);
      if (missing.size === 0) resolve();
    });
  });
  await endsWithin(answered, answersWithinMs);
  endCall();
  if (missing.has(instanceId)) throw new BrokerSilentError('NATS does not answer');
}
