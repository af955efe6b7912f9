/**
 * Posts deliveries. Takes turns from the fair scheduler and claims their deliveries in one batch. Each attempt is thus
 * counted before any byte of it is sent. If a delivery may not be sent now, its turn gives the slot back. While
 * PostgreSQL is unavailable the slots remain in use, so no work accumulates.
 */

import { nullIfAbandoned, retryBisecting, retryUntilAborted, retryUntilDone, type Watch } from '../actor/supervisor.ts';
import { InFlight, oncePerTick } from '../actor/waiting.ts';
import { traceHeaders } from '../broker/tracing.ts';
import { type AttemptOutcome, abortedOutcome, type DueDelivery } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';
import { bodyOf } from '../domain/routing.ts';
import { CLAIM_USED_WITHIN_MS } from '../store/claim-fence.ts';
import { type ClaimedDelivery, claimDeliveries, giveBack, type Refusal } from '../store/delivery-claims.ts';
import type { DueQueue } from './due-queue.ts';
import type { FairScheduler, Turn } from './fair-scheduler.ts';
import type { CourierDependencies, Settlement } from './settle.ts';

type DeliveryTurn = Turn<DueDelivery>;

/** A delivery whose attempt was counted. It may be sent until the claim expires. */
interface Claim {
  readonly delivery: ClaimedDelivery;
  readonly holder: number;
  /** Monotonic milliseconds. After this time, the attempt may be aborted, or its search deleted or disabled. */
  readonly expiresAt: number;
}

type ClaimResult = Claim | { readonly id: Uuid; readonly refusal: Refusal };

export interface SendingParts {
  readonly scheduler: FairScheduler<DueDelivery>;
  /** The number that identifies this courier in its claims. */
  readonly holder: () => number;
  readonly due: () => DueQueue;
  readonly settlement: () => Settlement;
}

const CLAIMS_MAX = 128;
const CLAIMS_AT_ONCE = 2;

export class Sending {
  readonly #dependencies: CourierDependencies;
  readonly #parts: SendingParts;
  readonly #stopping = new AbortController();
  readonly #claiming = new InFlight();
  readonly #underWay = new InFlight();
  readonly #watch: Watch;
  readonly #budget = retryUntilAborted(this.#stopping.signal);

  constructor(dependencies: CourierDependencies, parts: SendingParts) {
    this.#dependencies = dependencies;
    this.#parts = parts;
    this.#watch = dependencies.supervisor.watch('claims');
  }

  /** Fills the free slots with attempts. Call it when deliveries arrive or end; calls in one tick share a claim. */
  readonly pump = oncePerTick(() => {
    while (this.#mayClaim) {
      const turns = this.#parts.scheduler.nextTurns(CLAIMS_MAX, performance.now());
      if (turns.length === 0) break;
      for (const { entry } of turns) this.#parts.due().begin(entry.id);
      this.#claiming.add(this.#begin(turns).finally(this.pump));
    }
    this.#parts.due().refill();
  });

  get #mayClaim(): boolean {
    const isOpen = !this.#stopping.signal.aborted && this.#dependencies.gate?.isOpen !== false;
    return isOpen && this.#claiming.count < CLAIMS_AT_ONCE;
  }

  /** Stops claiming. Resolves when every attempt in progress has been reported. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#claiming.ended();
    await this.#underWay.ended();
  }

  async #begin(turns: readonly DeliveryTurn[]): Promise<void> {
    const turnOf = new Map(turns.map((turn) => [turn.entry.id, turn]));
    const answered = await this.#claim([...turnOf.keys()]).catch(nullIfAbandoned);
    if (answered === null) return;
    this.#dependencies.onClaimed?.();
    const claims = answered.results.filter((each) => 'delivery' in each);
    const contentOf = await this.#readContents(claims).catch(nullIfAbandoned);
    for (const claim of claims) {
      const turn = turnOf.get(claim.delivery.id) as DeliveryTurn;
      turnOf.delete(claim.delivery.id);
      this.#underWay.add(this.#attempt(turn, claim, contentOf?.(claim) ?? null));
    }
    const refusals = new Map(answered.results.flatMap((each) => ('refusal' in each ? [[each.id, each.refusal]] : [])));
    // If a bug prevents the claim of a delivery, the next scan retries it, so that it is not claimed in a tight loop.
    for (const id of answered.broken) {
      this.#withdraw(turnOf.get(id) as DeliveryTurn);
      turnOf.delete(id);
    }
    for (const turn of turnOf.values()) this.#refuse(turn, refusals.get(turn.entry.id) ?? null);
  }

  /** If the answer to the previous claim was lost, gives its deliveries back first. */
  #claim(ids: readonly Uuid[]) {
    const { database, clock } = this.#dependencies;
    let isUnknown = false;
    const claim = async (some: readonly Uuid[]): Promise<readonly ClaimResult[]> => {
      const holder = this.#parts.holder();
      const expiresAt = performance.now() + CLAIM_USED_WITHIN_MS;
      if (isUnknown) await giveBack(database, holder, some);
      isUnknown = true;
      const { claimed, refused } = await claimDeliveries(database, holder, some, clock());
      isUnknown = false;
      return [
        ...claimed.map((delivery) => ({ delivery, holder, expiresAt })),
        ...[...refused].map(([id, refusal]) => ({ id, refusal })),
      ];
    };
    return retryBisecting(ids, claim, this.#watch, this.#budget);
  }

  async #readContents(claims: readonly Claim[]): Promise<(claim: Claim) => Content> {
    const { documents, secrets } = this.#dependencies;
    const apart = <T, R>(items: Iterable<T>, work: (items: readonly T[]) => Promise<readonly R[]>) =>
      retryBisecting([...new Set(items)], work, this.#watch, this.#budget);
    const [read, signing] = await Promise.all([
      apart(
        claims.map(({ delivery }) => delivery.snapshotId),
        async (ids) => [...(await documents.read(ids))],
      ),
      apart(
        claims.map(({ delivery }) => delivery.clientId),
        (ids) => secrets.read(ids),
      ),
    ]);
    const texts = new Map(read.results);
    const unreadable = new Set(read.broken);
    const signers = new Map(signing.results);
    return ({ delivery: { snapshotId, clientId, startedAt } }) => {
      const secretsAt = signers.get(clientId);
      if (unreadable.has(snapshotId) || secretsAt === undefined) return null;
      return { document: texts.get(snapshotId), secrets: secretsAt(startedAt) };
    };
  }

  async #attempt(turn: DeliveryTurn, { delivery, holder, expiresAt }: Claim, content: Content): Promise<void> {
    const { scheduler, due, settlement } = this.#parts;
    const mayPost = content !== null && performance.now() <= expiresAt;
    const outcome = mayPost ? await this.#post(delivery, content) : null;
    if (mayPost && outcome === null) scheduler.noteCrowded(turn, performance.now());
    // If the content cannot be read, the delivery waits for the next scan. Admitting it now would claim it in a tight
    // loop.
    if (outcome === null) return this.#giveBack(turn, holder, content !== null);
    const endedAt = performance.now();
    scheduler.answered(turn, delivery.endpoint, outcome);
    this.pump();
    const onRecorded = (): void => {
      scheduler.recorded(turn);
      due().forget(delivery.id);
      this.pump();
    };
    await settlement().tell({ delivery, holder, outcome, endedAt, onRecorded });
  }

  /** Withdraws a claim, so that it counts as no attempt. `isSoon`: the delivery is admitted again soon. */
  async #giveBack(turn: DeliveryTurn, holder: number, isSoon: boolean): Promise<void> {
    const back = (): Promise<void> => giveBack(this.#dependencies.database, holder, [turn.entry.id]);
    // A delivery that stays claimed keeps its slot, and this courier stays registered until others abort the attempt.
    if ((await retryUntilDone(back, this.#watch, this.#budget).then(() => true, nullIfAbandoned)) === null) return;
    this.#withdraw(turn);
    if (isSoon) this.#parts.due().admitSoon([turn.entry]);
  }

  /** Null if no attempt was made. */
  async #post(delivery: ClaimedDelivery, { document, secrets }: NonNullable<Content>): Promise<AttemptOutcome | null> {
    const { id, endpoint, clientId, token, context, sequence, startedAt, head, traceparent } = delivery;
    if (document === undefined) return abortedOutcome(startedAt, 'the recorded property document is gone');
    const body = Buffer.from(bodyOf(head, document));
    return this.#dependencies.sender.send({
      id,
      endpoint,
      clientId,
      body,
      token,
      secrets,
      context,
      sequence,
      startedAt,
      trace: traceHeaders(traceparent),
    });
  }

  /** `refusal` is null if the delivery is not due, its row is locked, or this courier may not claim any more. */
  #refuse(turn: DeliveryTurn, refusal: Refusal | null): void {
    const { scheduler, due } = this.#parts;
    const { entry } = turn;
    this.#withdraw(turn);
    if (refusal === 'contended') return due().admitSoon([entry]);
    if (refusal === null) return due().fetchSoon(entry.endpointKey, entry.lane);
    if (refusal !== 'paused') return;
    // The endpoint is paused, or resuming with its only attempt in progress. It counts as paused until the next poll.
    scheduler.setPaused(entry.endpointKey, true);
    due().empty(scheduler.queue(entry.endpointKey));
    scheduler.markBacklog(entry.endpointKey, entry.lane);
  }

  #withdraw(turn: DeliveryTurn): void {
    this.#parts.due().forget(turn.entry.id);
    this.#parts.scheduler.withdraw(turn);
  }
}

/** `document` is undefined if it was removed by hand. Null if the content cannot be read, or the courier stops. */
type Content = { readonly document: string | undefined; readonly secrets: readonly string[] } | null;
