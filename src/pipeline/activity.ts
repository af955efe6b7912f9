/**
 * Tells watchers what this instance does. Nothing is built or sent while nobody watches: a watcher makes itself known
 * every two seconds and is forgotten after ten.
 */

import type { Broker } from '../broker/connection.ts';
import { announceWatcher, onActivity, onWatcher, publishActivity } from '../broker/operator-signals.ts';
import type { Activity } from '../domain/activity.ts';

export interface ActivityFeed {
  readonly isWatched: boolean;
  /** `build` is called only while somebody watches. */
  tell(build: () => readonly Activity[]): void;
  /** Resolves when this instance's own activities are seen; the result ends the watch. */
  watch(onActivities: (activities: readonly Activity[]) => void): Promise<() => void>;
}

const WATCHER_FORGOTTEN_MS = 10_000;
const WATCHER_SHOWN_EVERY_MS = 2_000;
/** Keeps a message well below the server's limit of one megabyte. */
const ACTIVITIES_PER_MESSAGE = 500;

export function createActivityFeed(broker: Broker, nowMs: () => number = () => performance.now()): ActivityFeed {
  let watchedUntilMs = Number.NEGATIVE_INFINITY;
  onWatcher(broker, () => {
    watchedUntilMs = nowMs() + WATCHER_FORGOTTEN_MS;
  });
  return {
    get isWatched() {
      return nowMs() < watchedUntilMs;
    },
    tell(build) {
      if (nowMs() >= watchedUntilMs) return;
      const activities = build();
      for (let start = 0; start < activities.length; start += ACTIVITIES_PER_MESSAGE) {
        const part = activities.slice(start, start + ACTIVITIES_PER_MESSAGE);
        publishActivity(broker, Buffer.from(JSON.stringify(part)));
      }
    },
    async watch(onActivities) {
      const end = onActivity(broker, (bytes) => onActivities(JSON.parse(Buffer.from(bytes).toString('utf8'))));
      const timer = setInterval(() => void announceWatcher(broker).catch(() => undefined), WATCHER_SHOWN_EVERY_MS);
      const stop = (): void => {
        clearInterval(timer);
        end();
      };
      try {
        await announceWatcher(broker);
      } catch (error) {
        stop();
        throw error;
      }
      return stop;
    },
  };
}
