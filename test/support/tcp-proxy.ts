/** A network between two processes of a test that can break: connections are cut, nothing passes, or nobody answers. */

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Cleanup } from './servers.ts';

export interface TcpProxy {
  readonly port: number;
  /** How many connections come through it. */
  readonly connections: number;
  /** Resets every connection; new ones are welcome. */
  cut(): void;
  /** Connections stay open, also new ones, and nothing passes. */
  stall(): void;
  /**
   * From now on bytes of the connections that exist vanish, those of the near side (`up`) or of the far one (`down`), and
   * so does the word that a side has closed. New connections are not concerned.
   */
  swallow(direction: 'up' | 'down'): void;
  /** Resets every connection, and each new one. */
  refuse(): void;
  /** Ends the others. What was held up passes now, connections that have swallowed something are reset. */
  heal(): void;
  /** How many bytes the near side was handed of the far one's connection from `farPort`; null unless it was reset here. */
  passedBeforeCut(farPort: number): number | null;
}

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  /** Directions in which nothing passes any more. */
  readonly isDeaf: { up: boolean; down: boolean };
}

/** Passes connections on to `targetPort` of the loopback interface. */
export async function startTcpProxy(cleanup: Cleanup, targetPort: number): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  const passedBeforeCut = new Map<number, number>();
  let state: 'open' | 'stalled' | 'refusing' = 'open';
  const server = createServer({ noDelay: true }, (near) => {
    near.on('error', () => undefined);
    if (state === 'refusing') {
      near.resetAndDestroy();
      return;
    }
    const far = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    const pair = { near, far, isDeaf: { up: false, down: false } };
    pairs.add(pair);
    far.on('error', () => undefined);
    far.once('connect', () => passedBeforeCut.delete(far.localPort as number));
    const end = (): void => {
      pairs.delete(pair);
      reset(pair);
    };
    near.once('close', () => (pair.isDeaf.up && !far.destroyed) || end());
    far.once('close', () => (pair.isDeaf.down && !near.destroyed) || end());
    if (state === 'open') join(pair);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const cutPair = (pair: Pair): void => {
    const { near, far } = pair;
    if (far.localPort !== undefined) passedBeforeCut.set(far.localPort, near.bytesWritten - near.writableLength);
    reset(pair);
  };
  const cut = (): void => {
    for (const pair of pairs) cutPair(pair);
  };
  cleanup.after(async () => {
    const closed = new Promise<unknown>((resolve) => server.close(resolve));
    cut();
    await closed;
  });
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return pairs.size;
    },
    cut,
    stall() {
      state = 'stalled';
      for (const { near, far } of pairs) {
        near.unpipe(far);
        far.unpipe(near);
      }
    },
    swallow(direction) {
      for (const { near, far, isDeaf } of pairs) {
        isDeaf[direction] = true;
        const [from, to] = direction === 'up' ? [near, far] : [far, near];
        from.unpipe(to).resume();
      }
    },
    refuse() {
      state = 'refusing';
      cut();
    },
    heal() {
      for (const pair of pairs) {
        if (pair.isDeaf.up || pair.isDeaf.down) cutPair(pair);
        else if (state === 'stalled') join(pair);
      }
      state = 'open';
    },
    passedBeforeCut: (farPort) => passedBeforeCut.get(farPort) ?? null,
  };
}

function join({ near, far }: Pair): void {
  near.pipe(far);
  far.pipe(near);
}

function reset({ near, far }: Pair): void {
  for (const socket of [near, far]) {
    // Node.js cannot reset what is being shut down: it would keep the handle for ever, and the event loop at work.
    if (socket.writableEnded) socket.destroy();
    else socket.resetAndDestroy();
  }
}
