/**
 * A proxy that makes NATS's clock appear wrong to its clients for a while. Messages that were stored during that time
 * always show them the wrong time. Times are rewritten on their way from the server, in acknowledgement subjects (NATS
 * ADR-15) and in JetStream's answers and advisories; their length does not change.
 */

import { connect, createServer } from 'node:net';
import { Transform } from 'node:stream';
import { listenOnLoopback } from './loopback.ts';
import type { Cleanup } from './servers.ts';

export interface TurnedClock {
  /** URL of the proxy. */
  readonly url: string;
  /** From now on the clock is `ms` behind. */
  turnBack(ms: number): void;
  putRight(): void;
}

interface Turned {
  readonly fromMs: number;
  untilMs: number;
  readonly behindMs: number;
}

const SECONDS = '2026-11-27T12:00:00'.length;

export async function startTurnedClock(cleanup: Cleanup, natsUrl: string): Promise<TurnedClock> {
  const turns: Turned[] = [];
  const behindAt = (ms: number): number =>
    turns.find(({ fromMs, untilMs }) => ms >= fromMs && ms < untilMs)?.behindMs ?? 0;
  const nanoseconds = (_: string, before: string, time: string): string =>
    before + String(BigInt(time) - BigInt(behindAt(Number(time) / 1e6)) * 1_000_000n);
  const instant = (_: string, before: string, time: string): string => {
    const ms = Date.parse(time);
    return before + new Date(ms - behindAt(ms)).toISOString().slice(0, SECONDS) + time.slice(SECONDS);
  };
  const rewritten = (text: string): string =>
    text
      .replace(/(\$JS\.ACK\.\S+\.)(\d{19})(?=\.\d)/g, nanoseconds)
      .replace(/("time(?:stamp)?":")(\d{4}-[^"]+Z)(?=")/g, instant);

  const target = new URL(natsUrl);
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ port: Number(target.port), host: target.hostname, noDelay: true });
    for (const socket of [near, far])
      socket.on('error', () => undefined).once('close', () => [near, far].forEach((each) => void each.destroy()));
    near.pipe(far);
    far.pipe(byLine(rewritten)).pipe(near);
  });
  const url = new URL(natsUrl);
  url.port = String(await listenOnLoopback(cleanup, server));
  return {
    url: url.href,
    turnBack: (behindMs) => void turns.push({ fromMs: Date.now(), untilMs: Number.POSITIVE_INFINITY, behindMs }),
    putRight() {
      const last = turns.at(-1);
      if (last !== undefined) last.untilMs = Date.now();
    },
  };
}

/** Rewrites whole lines, because each part of the protocol ends with a line end. */
function byLine(rewrite: (text: string) => string): Transform {
  let rest = '';
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const text = rest + chunk.toString('latin1');
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      done(null, Buffer.from(rewrite(text.slice(0, end)), 'latin1'));
    },
  });
}
