/**
 * Attempts, from the slot to the outcome: take turns from the fair round, claim their deliveries in one batch, send
 * each, and tell the outcome. A turn whose delivery may not be sent now gives its slot back.
 */

import { InFlight } from '../actor/in-flight.ts';
import { oncePerTick } from '../actor/waiting.ts';
import type { DeliveryHint } from '../broker/delivery-messages.ts';
import type { PulledMessage } from '../broker/pull.ts';
import { traceAttempt } from '../broker/tracing.ts';
import type { AttemptOutcome } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';
import { bodyOf } from '../domain/routing.ts';
import type { ClaimedDelivery, HeldDelivery } from '../store/delivery-claims.ts';
import type { FairRound } from '../webhooks/fair-round.ts';
import { type Claim, type Claims, createClaims, type DeliveryTurn } from './claims.ts';
import type { CourierDependencies } from './courier.ts';
import { Followers } from './followers.ts';
import type { DeliveryOutcomes } from './outcomes.ts';

/** A delivery whose message has been pulled. JetStream may hand it out again meanwhile: the newest message counts. */
export interface WaitingDelivery extends DeliveryHint {
  message: PulledMessage;
  /** Monotonic milliseconds. */
  readonly admittedAt: number;
}

const CLAIMS_MAX = 128;
const CLAIMS_AT_ONCE = 2;

export class DeliveryAttempts {
  readonly #round: FairRound<WaitingDelivery>;
  readonly #outcomes: DeliveryOutcomes;
  readonly #dependencies: CourierDependencies;
  readonly #claims: Claims;
  readonly #park: (waiting: WaitingDelivery) => Promise<void>;
  readonly #held = new Map<Uuid, WaitingDelivery>();
  readonly #followers: Followers;
  readonly #underWay = new InFlight();
  readonly #claimsUnderWay = new InFlight();
  readonly #claiming = new Set<readonly DeliveryTurn[]>();
  readonly #stopping = new AbortController();

  /** `park`: for what finds no room here. */
  constructor(
    round: FairRound<WaitingDelivery>,
    outcomes: DeliveryOutcomes,
    park: (waiting: WaitingDelivery) => Promise<void>,
    dependencies: CourierDependencies,
  ) {
    this.#round = round;
    this.#outcomes = outcomes;
    this.#park = park;
    this.#followers = new Followers(
      (id) => this.#held.has(id),
      (waiting) => this.#goOn(waiting),
    );
    this.#dependencies = dependencies;
    this.#claims = createClaims(dependencies, this.#stopping.signal);
  }

  /**
   * Starts what there are slots for. Call it whenever something has come or ended: what comes and ends together is
   * claimed together.
   */
  readonly pump = oncePerTick(() => this.#startClaims());

  /** Call it with the endpoints of what has been parked. */
  readonly noteParked = (endpointKeys: ReadonlySet<string>): void => {
    for (const key of endpointKeys) this.#round.noteParked(key);
    this.pump();
  };

  #startClaims(): void {
    const { valve } = this.#dependencies;
    while (!this.#isStopping && valve?.isOpen !== false && this.#claimsUnderWay.count < CLAIMS_AT_ONCE) {
      const turns = this.#round.take(CLAIMS_MAX, performance.now());
      if (turns.length === 0) return;
      this.#claimsUnderWay.add(this.#claim(turns).finally(this.pump));
    }
  }

  hold(waiting: WaitingDelivery): void {
    this.#held.set(waiting.id, waiting);
  }

  /** True when the delivery is here already; its message is the newer one then, and one is enough. */
  isHeld({ id, message }: WaitingDelivery): boolean {
    const held = this.#held.get(id);
    if (held === undefined) return false;
    const isAnother = held.message.sequence !== message.sequence;
    if (isAnother) this.#underWay.add(held.message.settle({ type: 'ack' }));
    held.message = message;
    return true;
  }

  /** Waiting for the one before them in their match. */
  get followers(): Pick<Followers, 'count' | 'takeOlder' | 'takeAll'> {
    return this.#followers;
  }

  /** Waiting here for its turn, or under way. */
  holds(id: Uuid): boolean {
    return this.#held.has(id);
  }

  forget(id: Uuid): void {
    this.#held.delete(id);
  }

  /** The messages of what waits to be claimed, to be handed back: the rows decide who sends it. */
  takeBack(): readonly PulledMessage[] {
    return [...this.#claiming].flat().flatMap(({ entry }) => entry?.message ?? []);
  }

  stopStarting(): void {
    this.#stopping.abort();
  }

  /** Resolves when every attempt under way has told its outcome. */
  async ended(): Promise<void> {
    await this.#claimsUnderWay.ended();
    await this.#underWay.ended();
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #claim(turns: readonly DeliveryTurn[]): Promise<void> {
    this.#claiming.add(turns);
    const claimed = await this.#claims.take(turns);
    this.#claiming.delete(turns);
    if (claimed === null) return;
    this.#dependencies.onClaimed?.();
    for (const claim of claimed.claims) this.#underWay.add(this.#attempt(claim));
    for (const turn of claimed.undrawn) {
      turn.lane.mayHaveParked = false;
      this.#round.withdraw(turn);
    }
    for (const { turn, by } of claimed.held) {
      this.#round.withdraw(turn);
      this.#follow(turn.entry as WaitingDelivery, by);
    }
    for (const turn of claimed.broken) {
      if (turn.entry !== null) this.forget(turn.entry.id);
      this.#round.withdraw(turn);
    }
    await this.#settleRefused(claimed.refused);
  }

  #follow(waiting: WaitingDelivery, by: HeldDelivery): void {
    if (this.#isStopping) {
      this.forget(waiting.id);
      this.#underWay.add(waiting.message.settle({ type: 'nak', delayMs: 0 }));
    } else if (!this.#followers.add(waiting, by)) {
      this.#underWay.add(this.#park(waiting));
    }
  }

  /** First in its lane: it has had its turn before. */
  #goOn(waiting: WaitingDelivery): void {
    if (!this.#round.addFirst(waiting.endpointKey, waiting)) return this.#underWay.add(this.#park(waiting));
    this.pump();
  }

  async #attempt(claim: Claim): Promise<void> {
    const { turn, delivery } = claim;
    if (performance.now() > claim.expiresAt) {
      this.forget(delivery.id);
      return this.#round.withdraw(turn);
    }
    const outcome = await this.#send(claim);
    const endedAt = performance.now();
    this.#round.answered(turn, delivery.endpoint, outcome);
    this.pump();
    await this.#outcomes.tell({
      delivery,
      outcome,
      endedAt,
      hint: turn.entry,
      onRecorded: () => {
        this.forget(delivery.id);
        this.#round.finish(turn);
        this.#followers.leaderEnded(delivery.id);
        // What is parked behind it in its match was passed over.
        if (turn.entry === null) this.#round.noteParked(turn.lane.key);
        this.pump();
      },
    });
  }

  async #send({ delivery, document, secrets }: Claim): Promise<AttemptOutcome> {
    if (document === undefined) return lostSnapshot(delivery);
    const { id, endpoint, token, context, sequence, startedAt, head } = delivery;
    const trace = traceAttempt(delivery);
    const body = Buffer.from(bodyOf(head, document));
    const outcome = await this.#dependencies.sender.send({
      ...{ id, endpoint, body, token, secrets, context, sequence, startedAt },
      ...trace.headers,
    });
    trace.end(outcome);
    return outcome;
  }

  /** Final, parked or gone: nothing to do any more. Not due, or another process is at it: look again when it is. */
  async #settleRefused(refused: ReadonlyMap<Uuid, DeliveryTurn>): Promise<void> {
    if (refused.size === 0) return;
    const refusals = await this.#claims.refusals([...refused.keys()]);
    if (refusals === null) return;
    const dueInMs = new Map(refusals.map((refusal) => [refusal.id, refusal.dueInMs]));
    for (const [id, turn] of refused) {
      this.forget(id);
      this.#round.withdraw(turn);
      const delayMs = dueInMs.get(id) ?? null;
      const { message } = turn.entry as WaitingDelivery;
      this.#underWay.add(
        message.settle(delayMs === null ? { type: 'ack' } : { type: 'nak', delayMs: Math.max(1, delayMs) }),
      );
    }
  }
}

/** Somebody has removed the document by hand: nothing can be sent, now or later. */
function lostSnapshot({ startedAt }: ClaimedDelivery): AttemptOutcome {
  const reason = 'the recorded property document is gone';
  return { startedAt, durationMs: 0, statusCode: null, error: 'aborted', reason, responseHead: null };
}
