/** Everything since a moment, sent again (decisions, section 11): what a client asks for, and how far it has come. */

import type { SearchNumber, Uuid } from './ids.ts';

/** `counting` → `running` → `finished`, or `stopped` by its client; clients are told that it is paused as well. */
export const RECOVERY_STATES = ['counting', 'running', 'finished', 'stopped'] as const;
export type RecoveryState = (typeof RECOVERY_STATES)[number];

const DAY_MS = 86_400_000;

/** Whether what was created at `since` is still kept, `keptDays` long; 0 keeps for ever. */
export function isWithinKept(since: Date, now: Date, keptDays: number): boolean {
  return keptDays === 0 || now.getTime() - since.getTime() <= keptDays * DAY_MS;
}

export interface NewRecovery {
  readonly id: Uuid;
  readonly clientId: Uuid;
  /** Null: of all searches. */
  readonly searchNumber: SearchNumber | null;
  /** Null: of all endpoints. */
  readonly endpoint: string | null;
  readonly since: Date;
  readonly until: Date;
  readonly includesDelivered: boolean;
}

export interface Recovery extends Omit<NewRecovery, 'searchNumber'> {
  readonly searchId: Uuid | null;
  readonly state: RecoveryState;
  /** What fits; grows while it is counted. */
  readonly matched: number;
  /** Of these, attempted for it, by how that attempt ended. */
  readonly sent: number;
  readonly delivered: number;
  readonly failed: number;
  /** Those that need not, or may not, be sent when their turn comes. */
  readonly skipped: number;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  /** All that is under way waits for an endpoint that an operator has paused, and why; else null. */
  readonly pause: { readonly url: string; readonly reason: string | null } | null;
}

/** How many of it are still to be attempted; what was passed over is none of them. */
export function remainingOf({ state, matched, sent, skipped }: Recovery): number {
  return state === 'finished' ? 0 : Math.max(0, matched - sent - skipped);
}
