/**
 * Claims: the turns of one go are taken from PostgreSQL together, each with its document, so that a delivery is counted
 * before any byte of it is sent. PostgreSQL may be away: the slots stay taken meanwhile, so nothing piles up.
 */

import { nullWhenGivenUp, patienceUntil, persistApart } from '../actor/supervisor.ts';
import type { Uuid } from '../domain/ids.ts';
import { type RefusedClaim, readRefusals } from '../store/deliveries.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  claimParked,
  type Draw,
  type HeldDelivery,
} from '../store/delivery-claims.ts';
import type { Turn } from '../webhooks/fair-round.ts';
import type { WaitingDelivery } from './attempts.ts';
import type { CourierDependencies } from './courier.ts';

export type DeliveryTurn = Turn<WaitingDelivery>;

/** A turn whose delivery is counted and may be sent. */
export interface Claim {
  readonly turn: DeliveryTurn;
  readonly delivery: ClaimedDelivery;
  /** Undefined when somebody has removed it. */
  readonly document: string | undefined;
  /** Sign it beside the token of its search. */
  readonly secrets: readonly string[];
  /**
   * When it is too old to be used, in monotonic milliseconds. Its lease could end under the request, and another process
   * send a second one; the sweeper counts it as aborted.
   */
  readonly expiresAt: number;
}

export interface Claimed {
  readonly claims: readonly Claim[];
  /** Turns for which nothing that may be sent now was parked any more. */
  readonly undrawn: readonly DeliveryTurn[];
  /** Turns whose delivery has to wait for the one before it in its match. */
  readonly held: readonly { readonly turn: DeliveryTurn; readonly by: HeldDelivery }[];
  /** Turns whose delivery may not be sent now, by the delivery. */
  readonly refused: ReadonlyMap<Uuid, DeliveryTurn>;
  /** Turns that a bug stands in the way of: their messages come back, and their leases end. */
  readonly broken: readonly DeliveryTurn[];
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

export function createClaims(
  { database, documents, secrets, attemptTimeoutMs, supervisor }: CourierDependencies,
  stopping: AbortSignal,
): Claims {
  const leaseMs = attemptTimeoutMs + LEASE_MARGIN_MS;
  const watch = supervisor.watch('claims');
  const patience = patienceUntil(stopping);
  const apart: Apart = (items, work) => persistApart(items, work, watch, patience);

  async function takeAll(turns: readonly DeliveryTurn[]): Promise<Claimed> {
    const { byId, drawn, draws } = sortTurns(turns);
    // Each goes on by itself: what one has claimed must not be claimed again because the other one failed.
    const [hinted, parked] = await Promise.all([
      apart([...byId.keys()], async (ids) => {
        const claim = dated();
        const { claimed, held } = await claimDeliveries(database, ids, leaseMs);
        return [...claimed.map(claim), ...held];
      }),
      apart(draws, async (some) => {
        const claim = dated();
        return (await claimParked(database, some, leaseMs)).map(claim);
      }),
    ]);
    const deliveries = [...hinted.results.filter(isDated), ...parked.results];
    const contentOf = await readContents(deliveries, apart, { documents, secrets });
    const claims: Claim[] = [];
    const broken: DeliveryTurn[] = [];
    for (const { delivery, expiresAt } of deliveries) {
      const turn = (byId.get(delivery.id) ?? drawn.get(delivery.endpointKey)?.pop()) as DeliveryTurn;
      byId.delete(delivery.id);
      const content = contentOf(delivery);
      if (content === null) broken.push(turn);
      else claims.push({ turn, delivery, expiresAt, ...content });
    }
    for (const id of hinted.broken) broken.push(takeTurn(byId, id));
    const held = hinted.results.flatMap((by) => (isDated(by) ? [] : [{ turn: takeTurn(byId, by.id), by }]));
    return { claims, undrawn: [...drawn.values()].flat(), held, refused: byId, broken };
  }

  return {
    take: (turns) => takeAll(turns).catch(nullWhenGivenUp),
    refusals: (ids) =>
      apart(ids, (some) => readRefusals(database, some))
        .then(({ results }) => results)
        .catch(nullWhenGivenUp),
  };
}

type Apart = <T, R>(
  items: readonly T[],
  work: (items: readonly T[]) => Promise<readonly R[]>,
) => ReturnType<typeof persistApart<T, R>>;

/** What is sent with each delivery; null where a bug stands in the way of reading it. */
async function readContents(
  deliveries: readonly DatedDelivery[],
  apart: Apart,
  { documents, secrets }: Pick<CourierDependencies, 'documents' | 'secrets'>,
): Promise<(delivery: ClaimedDelivery) => Pick<Claim, 'document' | 'secrets'> | null> {
  const snapshotIds = new Set(deliveries.map(({ delivery }) => delivery.snapshotId));
  const clientIds = new Set(deliveries.map(({ delivery }) => delivery.clientId));
  const [read, signing] = await Promise.all([
    apart([...snapshotIds], async (ids) => [...(await documents.read(ids))]),
    apart([...clientIds], (ids) => secrets.read(ids)),
  ]);
  const texts = new Map(read.results);
  const unreadable = new Set(read.broken);
  const signers = new Map(signing.results);
  return ({ snapshotId, clientId, startedAt }) => {
    const secretsAt = signers.get(clientId);
    if (unreadable.has(snapshotId) || secretsAt === undefined) return null;
    return { document: texts.get(snapshotId), secrets: secretsAt(startedAt) };
  };
}

function takeTurn(byId: Map<Uuid, DeliveryTurn>, id: Uuid): DeliveryTurn {
  const turn = byId.get(id) as DeliveryTurn;
  byId.delete(id);
  return turn;
}

type DatedDelivery = Pick<Claim, 'delivery' | 'expiresAt'>;

/** For what is claimed from now on: with when it is too old to be used. */
function dated(): (delivery: ClaimedDelivery) => DatedDelivery {
  const expiresAt = performance.now() + LEASE_MARGIN_MS / 2;
  return (delivery) => ({ delivery, expiresAt });
}

function isDated(each: DatedDelivery | HeldDelivery): each is DatedDelivery {
  return 'delivery' in each;
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
