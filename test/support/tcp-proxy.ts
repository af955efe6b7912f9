/** A network that can break between a process that connects (the near side) and its server (the far side). */

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Cleanup } from './servers.ts';

export interface TcpProxy {
  readonly port: number;
  /** Number of connections through it. */
  readonly connections: number;
  /** Resets every connection, but accepts new connections. */
  cut(): void;
  /** Keeps existing and new connections open, but forwards no bytes. */
  stall(): void;
  /**
   * From now on the existing connections lose all bytes sent by the near side (`up`) or by the far side (`down`). The
   * other side does not notice when this side closes. New connections are not affected.
   */
  swallow(direction: 'up' | 'down'): void;
  /** Resets existing and new connections. */
  refuse(): void;
  /** Ends all other faults. Stalled bytes are passed on; connections that have lost bytes are reset. */
  heal(): void;
  /**
   * Bytes passed to the near side before the proxy reset the connection; null if it did not. `farPort`: local port of
   * the far side.
   */
  passedBeforeCut(farPort: number): number | null;
}

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  /** Directions in which bytes are lost. */
  readonly isDeaf: { up: boolean; down: boolean };
}

/** Forwards connections to `targetPort` of the loopback interface. */
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
    // Node.js cannot reset a socket that is shutting down: the handle would keep the process alive for ever.
    if (socket.writableEnded) socket.destroy();
    else socket.resetAndDestroy();
  }
}
