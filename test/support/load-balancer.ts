/**
 * A load balancer in front of several instances. It polls `/readyz` of each, sends requests over kept connections to
 * the ready instances in turn, and records every request that failed.
 */

import { Agent, get, type IncomingMessage, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Daemon } from './daemon.ts';

type Instance = Pick<Daemon, 'apiUrl' | 'operationsUrl'>;

export interface LoadBalancer {
  add(instance: Instance): void;
  readonly readyCount: number;
  readonly answered: number;
  /** One line for each request that failed. */
  readonly refused: readonly string[];
  stop(): Promise<void>;
}

const CHECK_EVERY_MS = 50;
/** Pause between two requests of one client. */
const REST_MS = 10;

export function startLoadBalancer(
  key: string,
  options: { readonly clients: number; readonly path: string },
): LoadBalancer {
  const ready: Instance[] = [];
  const refused: string[] = [];
  const agent = new Agent({ keepAlive: true });
  let answered = 0;
  let turn = 0;
  let isStopping = false;

  async function lookAt(instance: Instance): Promise<void> {
    while (!isStopping) {
      const status = await statusOf(`${instance.operationsUrl}/readyz`, {}, agent).catch(() => 0);
      if (status === 200 && !ready.includes(instance)) ready.push(instance);
      if (status !== 200 && ready.includes(instance)) ready.splice(ready.indexOf(instance), 1);
      await wait(CHECK_EVERY_MS);
    }
  }

  async function ask(): Promise<void> {
    while (!isStopping) {
      const instance = ready[turn++ % Math.max(1, ready.length)];
      if (instance !== undefined) {
        const status = await statusOf(`${instance.apiUrl}${options.path}`, { 'X-API-KEY': key }, agent).catch(
          (error: NodeJS.ErrnoException) => error.code ?? error.message,
        );
        if (status === 200) answered += 1;
        else refused.push(`${instance.apiUrl}: ${status}`);
      }
      await wait(REST_MS);
    }
  }

  const running = Array.from({ length: options.clients }, ask);
  return {
    add: (instance) => void running.push(lookAt(instance)),
    get readyCount() {
      return ready.length;
    },
    get answered() {
      return answered;
    },
    refused,
    async stop() {
      isStopping = true;
      await Promise.all(running);
      agent.destroy();
    },
  };
}

/**
 * If the server closes a kept connection just when a request is sent, the request was not received. HTTP permits a
 * client to repeat it (RFC 9112, 9.3.1), which is done once.
 */
async function statusOf(url: string, headers: Record<string, string>, agent: Agent): Promise<number> {
  const asked = request(url, { headers, agent });
  try {
    return await answerOf(asked);
  } catch (error) {
    if (!asked.reusedSocket) throw error;
    return answerOf(get(url, { headers, agent: new Agent() }));
  }
}

function answerOf(asked: ReturnType<typeof request>): Promise<number> {
  return new Promise((resolve, reject) => {
    asked.once('error', reject);
    asked.once('response', (answer: IncomingMessage) => {
      answer.once('error', reject).once('end', () => resolve(answer.statusCode ?? 0));
      answer.resume();
    });
    asked.end();
  });
}
