/**
 * Follows the feed by long polls, starting with the next item. It retries while the service is unavailable, continues
 * after an outdated cursor at the one that the service names, and shows nothing twice.
 */

import type { FeedItem, FeedPage } from './documents.ts';
import { pause } from './now.ts';
import { Refusal, type Rest, Unreachable } from './rest.ts';

export type Connection = 'connecting' | 'live' | 'lost';

export interface Following {
  readonly rest: Rest;
  readonly signal: AbortSignal;
  onItems(items: readonly FeedItem[]): void;
  onConnection(connection: Connection): void;
}

/** Shorter than the timeout of most proxies. */
const WAIT_SECONDS = 20;
const PAGE_ITEMS = 200;
const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 5_000;

/** Resolves when the signal is aborted, or the service no longer knows the key. */
export async function followFeed({ rest, signal, onItems, onConnection }: Following): Promise<void> {
  let after = 'latest';
  let failures = 0;
  while (!signal.aborted) {
    try {
      // The first poll, also after a lost connection, does not wait, and so shows at once that it succeeded.
      const wait = after === 'latest' || failures > 0 ? 0 : WAIT_SECONDS;
      const page = await rest.read<FeedPage>('/feed', { after, wait, limit: PAGE_ITEMS }, signal);
      failures = 0;
      after = page.next;
      onConnection('live');
      if (page.items.length > 0) onItems(page.items);
    } catch (error) {
      if (signal.aborted) return;
      const next = nextOf(error);
      if (next === null) return;
      if (next.after !== null) after = next.after;
      if (next.isLost) onConnection('lost');
      failures += 1;
      await pause(next.pauseMs ?? Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** failures), signal);
    }
  }
}

/** Null if the service rejects the key. Throws errors that are bugs. `pauseMs`: null for a growing pause. */
function nextOf(error: unknown) {
  if (error instanceof Unreachable) return { after: null, isLost: true, pauseMs: null };
  if (!(error instanceof Refusal)) throw error;
  if (error.status === 401) return null;
  if (error.status === 410 && error.oldest !== null) return { after: error.oldest, isLost: false, pauseMs: 0 };
  // A new database rejects the cursor of the former one.
  if (error.status === 400) return { after: 'latest', isLost: false, pauseMs: null };
  return { after: null, isLost: error.status >= 500, pauseMs: error.retryAfterMs };
}
