/** What is known of a client's endpoint. An endpoint is its whole URL: see `endpointKeyOf`. */

import type { AttemptError } from './delivery.ts';

/** What one courier has seen of an endpoint since it wrote last. */
export interface EndpointObservation {
  readonly key: string;
  readonly url: string;
  readonly succeededAt: Date | null;
  readonly failedAt: Date | null;
  readonly lastError: AttemptError | null;
  /** Failures after the last success, or all of them when there was none. */
  readonly failuresSinceSuccess: number;
  /** Attempts at once, as adapted. */
  readonly concurrency: number;
}

/** How an earlier process left it. */
export interface RememberedEndpoint {
  readonly key: string;
  readonly failureStreak: number;
  readonly lastError: AttemptError | null;
  readonly concurrency: number;
}

export type EndpointState = 'healthy' | 'failing' | 'paused';

/** Failures in a row from which an endpoint is called failing. */
export const FAILING_FROM = 3;

export interface EndpointHealth extends RememberedEndpoint {
  readonly url: string;
  readonly state: EndpointState;
  readonly lastSuccessAt: Date | null;
  readonly lastFailureAt: Date | null;
  /** Open deliveries, and when the one that is due first is or was due. */
  readonly backlog: number;
  readonly oldestDueAt: Date | null;
}
