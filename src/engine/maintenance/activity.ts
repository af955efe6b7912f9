/**
 * Reports changes, matches and attempts of this instance to watchers: instances that serve an operator's
 * `WatchActivity` call. A watcher announces itself every two seconds. If no announcement has arrived for ten seconds,
 * nothing is sent.
 */

import { startTask } from '../actor/task.ts';
import { inTime } from '../actor/waiting.ts';
import { announceChange, onActivity, onChange, publishActivity } from '../broker/announcements.ts';
import type { Broker } from '../broker/connection.ts';
import { BrokerSilentError } from '../broker/outage.ts';
import type { Activity } from '../domain/activity.ts';

export type ActivityFeed = ReturnType<typeof createActivityFeed>;

const WATCHER_FORGOTTEN_MS = 10_000;
const WATCHER_SHOWN_EVERY_MS = 2_000;
const ANSWER_MAX_MS = 1_000;
/** Keeps a message well below the server's limit of one megabyte. */
const ACTIVITIES_PER_MESSAGE = 500;

export function createActivityFeed(broker: Broker) {
  let watchedUntilMs = Number.NEGATIVE_INFINITY;
  onChange(broker, 'watchers', () => {
    watchedUntilMs = performance.now() + WATCHER_FORGOTTEN_MS;
  });
  return {
    /** Sends the activities that `build` returns. Does nothing if there is no watcher. */
    publish(build: () => readonly Activity[]) {
      if (performance.now() >= watchedUntilMs) return;
      const activities = build();
      for (let start = 0; start < activities.length; start += ACTIVITIES_PER_MESSAGE) {
        const part = activities.slice(start, start + ACTIVITIES_PER_MESSAGE);
        publishActivity(broker, Buffer.from(JSON.stringify(part)));
      }
    },
    /** Resolves with a function that ends the watch, once NATS knows the watcher. Rejects if NATS is unavailable. */
    async watch(onActivities: (activities: readonly Activity[]) => void) {
      const end = onActivity(broker, (bytes) => onActivities(JSON.parse(Buffer.from(bytes).toString('utf8'))));
      const work = (): void => announceChange(broker, 'watchers');
      const showing = startTask({ what: 'show a watcher', everyMs: WATCHER_SHOWN_EVERY_MS, work });
      const stop = (): void => {
        void showing.stop();
        end();
      };
      try {
        await showing.run();
        await inTime(broker.connection.flush(), ANSWER_MAX_MS, () => new BrokerSilentError('NATS does not answer'));
      } catch (error) {
        stop();
        throw error;
      }
      return stop;
    },
  };
}
