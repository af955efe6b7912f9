/**
 * Claims: the turns of one go are taken from PostgreSQL together, each with its document, so that a delivery is counted
 * before any byte of it is sent. PostgreSQL may be away: the slots stay taken meanwhile, so nothing piles up.
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { Uuid } from '../domain/ids.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  claimParked,
  type Draw,
  type RefusedClaim,
  readRefusals,
} from '../store/deliveries.ts';
import type { Turn } from '../webhooks/fair-round.ts';
import type { CourierDependencies } from './courier.ts';
import type { WaitingDelivery } from './delivery-attempts.ts';

export type DeliveryTurn = Turn<WaitingDelivery>;

/** A turn whose delivery is counted and may be sent. */
export interface Claim {
  readonly turn: DeliveryTurn;
  readonly delivery: ClaimedDelivery;
  /** Undefined when somebody has removed it. */
  readonly document: string | undefined;
  /**
   * When it is too old to be used, in monotonic milliseconds. Its lease could end under the request, and another process
   * send a second one; the sweeper counts it as aborted.
   */
  readonly expiresAt: number;
}

export interface Claimed {
  readonly claims: readonly Claim[];
  /** Turns for which nothing was parked any more. */
  readonly undrawn: readonly DeliveryTurn[];
  /** Turns whose delivery may not be sent now, by the delivery. */
  readonly refused: ReadonlyMap<Uuid, DeliveryTurn>;
}

/**
 * Both resolve with null when the daemon stops before PostgreSQL answers: the messages come back, and a claim whose
 * answer was lost is aborted with its lease.
 */
export interface Claims {
  take(turns: readonly DeliveryTurn[]): Promise<Claimed | null>;
  /** Why deliveries were refused. */
  refusals(ids: readonly Uuid[]): Promise<readonly RefusedClaim[] | null>;
}

/** How much longer than an attempt its claim lasts: time to record the outcome. */
const LEASE_MARGIN_MS = 15_000;
const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5_000;

export function createClaims(
  { database, documents, attemptTimeoutMs, onFailure }: CourierDependencies,
  isStopping: () => boolean,
): Claims {
  const leaseMs = attemptTimeoutMs + LEASE_MARGIN_MS;

  async function untilItWorks<T>(work: () => Promise<T>): Promise<T | null> {
    for (let retryInMs = RETRY_FIRST_MS; ; retryInMs = Math.min(2 * retryInMs, RETRY_MAX_MS)) {
      try {
        return await work();
      } catch (error) {
        onFailure({ actor: 'claims', error: error as Error, isFinal: false, retryInMs });
        if (isStopping()) return null;
        await wait(retryInMs);
      }
    }
  }

  async function take(turns: readonly DeliveryTurn[]): Promise<Claimed | null> {
    const { byId, drawn, draws } = sortTurns(turns);
    let expiresAt = 0;
    const deliveries = await untilItWorks(async () => {
      expiresAt = performance.now() + LEASE_MARGIN_MS / 2;
      const [hinted, parked] = await Promise.all([
        byId.size === 0 ? [] : claimDeliveries(database, [...byId.keys()], leaseMs),
        draws.length === 0 ? [] : claimParked(database, draws, leaseMs),
      ]);
      return [...hinted, ...parked];
    });
    if (deliveries === null) return null;
    const texts = await untilItWorks(() => documents.read(deliveries.map(({ snapshotId }) => snapshotId)));
    if (texts === null) return null;
    const claims = deliveries.map((delivery) => {
      const turn = (byId.get(delivery.id) ?? drawn.get(delivery.endpointKey)?.pop()) as DeliveryTurn;
      byId.delete(delivery.id);
      return { turn, delivery, document: texts.get(delivery.snapshotId), expiresAt };
    });
    return { claims, undrawn: [...drawn.values()].flat(), refused: byId };
  }

  return { take, refusals: (ids) => untilItWorks(() => readRefusals(database, ids)) };
}

interface SortedTurns {
  readonly byId: Map<Uuid, DeliveryTurn>;
  /** Turns for what is parked, by endpoint. */
  readonly drawn: Map<string, DeliveryTurn[]>;
  readonly draws: readonly Draw[];
}

function sortTurns(turns: readonly DeliveryTurn[]): SortedTurns {
  const byId = new Map<Uuid, DeliveryTurn>();
  const drawn = new Map<string, DeliveryTurn[]>();
  for (const turn of turns) {
    if (turn.entry !== null) byId.set(turn.entry.id, turn);
    else drawn.set(turn.lane.key, [...(drawn.get(turn.lane.key) ?? []), turn]);
  }
  return { byId, drawn, draws: [...drawn].map(([endpointKey, { length }]) => ({ endpointKey, count: length })) };
}
