/** Polls of the feed that wait for something new, by client, and what wakes them. */

import { Signal } from '../engine/actor/waiting.ts';
import type { Uuid } from '../engine/domain/ids.ts';

/** After an announcement the transactions before that one may still run; each look is twice as far from the last. */
const LOOK_SOON_MS = 20;
/** An announcement may be lost. */
const LOOK_ANYWAY_MS = 5_000;

interface Looked {
  readonly isEmpty: boolean;
  /** There is more to look through. */
  readonly isCut: boolean;
}

interface Poll {
  /** Something was announced since it looked last. */
  hasNews: boolean;
  /** Ends its present pause. */
  readonly wakeUp: Signal;
}

export interface FeedWaits {
  /** True once the process ends: nobody waits any more. */
  readonly isOver: boolean;
  /** There is something new for these clients; null: for everybody. */
  readonly wake: (clientIds: readonly Uuid[] | null) => void;
  /** Looks again and again, from `page` on, until it is not empty, the time is over, the client is gone or the process ends. */
  until<Page extends Looked>(
    clientId: Uuid,
    waitMs: number,
    gone: AbortSignal,
    page: Page,
    look: (last: Page) => Promise<Page>,
  ): Promise<Page>;
}

export function createFeedWaits(ending: AbortSignal = new AbortController().signal): FeedWaits {
  const polls = new Map<Uuid, Set<Poll>>();
  const tell = (clientIds: Iterable<Uuid>): void => {
    for (const id of clientIds) {
      for (const poll of polls.get(id) ?? []) {
        poll.hasNews = true;
        poll.wakeUp.notify();
      }
    }
  };
  ending.addEventListener('abort', () => tell(polls.keys()), { once: true });

  return {
    get isOver() {
      return ending.aborted;
    },
    wake: (clientIds) => tell(clientIds ?? polls.keys()),
    async until(clientId, waitMs, gone, page, look) {
      const endsAt = performance.now() + waitMs;
      const poll: Poll = { hasNews: false, wakeUp: new Signal() };
      const ofClient = polls.get(clientId) ?? new Set<Poll>();
      polls.set(clientId, ofClient.add(poll));
      const leave = (): void => poll.wakeUp.notify();
      gone.addEventListener('abort', leave, { once: true });
      try {
        let last = page;
        // What was announced before it waited was not heard.
        for (let restMs = LOOK_SOON_MS; last.isEmpty; ) {
          const leftMs = endsAt - performance.now();
          if (leftMs <= 0 || gone.aborted || ending.aborted) break;
          if (!last.isCut && !poll.hasNews) await poll.wakeUp.wait(Math.min(restMs, leftMs));
          if (gone.aborted) break;
          restMs = poll.hasNews ? LOOK_SOON_MS : Math.min(LOOK_ANYWAY_MS, restMs * 2);
          poll.hasNews = false;
          last = await look(last);
        }
        return last;
      } finally {
        gone.removeEventListener('abort', leave);
        ofClient.delete(poll);
        if (ofClient.size === 0 && polls.get(clientId) === ofClient) polls.delete(clientId);
      }
    },
  };
}
