/**
 * Clients take turns for the connections of the API's pool, one request per turn (actor/turn-ring.ts), and none has
 * more than a third of them: four hundred concurrent requests of one client delay another client by the few that are
 * under way. A request takes its turn when it has arrived completely and before it is processed, so that neither a slow
 * connection nor a waiting request costs a turn or the event loop; the turn ends with the answer, or before a long wait
 * (`leaveTurn`).
 */

import type { Context, Middleware } from 'koa';
import { type Member, TurnRing } from '../engine/actor/turn-ring.ts';
import type { Uuid } from '../engine/domain/ids.ts';
import { isWrite, principalOf } from './auth.ts';
import { goneOf } from './content.ts';
import { receiveBody } from './json-body.ts';
import { Problem } from './problem.ts';
import { REFUSALS } from './sentences.ts';

type EndTurn = () => void;

interface WaitingRequest extends Member {
  readonly start: () => void;
}

/** Reads and writes of a client wait separately, and alternate. */
const KINDS = 2;
const CLIENT_SHARE = 1 / 3;

export class RequestTurns {
  readonly #max: number;
  readonly #perClientMax: number;
  readonly #ring = new TurnRing<WaitingRequest>(KINDS);
  readonly #held = new Map<string, number>();
  #all = 0;

  /** `max`: turns under way at once, of all clients. */
  constructor(max: number) {
    this.#max = Math.max(1, max);
    this.#perClientMax = Math.max(1, Math.floor(max * CLIENT_SHARE));
  }

  /** Immediate while there is room. Call the function that it returns or resolves with. Rejects at abort of `gone`. */
  take(client: Uuid, isWriting: boolean, gone: () => AbortSignal): EndTurn | Promise<EndTurn> {
    if (this.#hasRoom(client)) return this.#start(client);
    const signal = gone();
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#ring.place(waiting, null);
        reject(new Problem(400, REFUSALS.clientGone));
      };
      const start = (): void => {
        signal.removeEventListener('abort', leave);
        this.#ring.place(waiting, null);
        resolve(this.#start(client));
      };
      const waiting: WaitingRequest = { client, host: '', start };
      this.#ring.place(waiting, isWriting ? 1 : 0);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  #hasRoom(client: string): boolean {
    return this.#all < this.#max && (this.#held.get(client) ?? 0) < this.#perClientMax;
  }

  #start(client: string): EndTurn {
    this.#count(client, 1);
    let isUnderWay = true;
    return () => {
      if (!isUnderWay) return;
      isUnderWay = false;
      this.#count(client, -1);
      this.#ring.next((waiting) => this.#hasRoom(waiting))?.start();
    };
  }

  #count(client: string, by: 1 | -1): void {
    const held = (this.#held.get(client) ?? 0) + by;
    if (held === 0) this.#held.delete(client);
    else this.#held.set(client, held);
    this.#all += by;
  }
}

/** After authentication. Points of interest need no connection and are answered earlier. */
export function takeTurns(connectionsMax: number): Middleware {
  // One connection is reserved for the process itself.
  const turns = new RequestTurns(connectionsMax - 1);
  return async (ctx, next) => {
    if (ctx.state.principal === undefined) return next();
    await receiveBody(ctx);
    const end = await turns.take(principalOf(ctx).clientId, isWrite(ctx), () => goneOf(ctx));
    ctx.state.endTurn = end;
    try {
      return await next();
    } finally {
      end();
    }
  };
}

/** Called before long work that needs no connection of the API's pool. */
export function leaveTurn(ctx: Context): void {
  (ctx.state.endTurn as EndTurn | undefined)?.();
}
