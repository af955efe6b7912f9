/** Answers on the ports of a service that cannot start yet: alive, not ready, and why. */

import type { Server } from 'node:http';
import Koa from 'koa';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { createOperations } from '../rest/operations.ts';
import { Problem, reportProblems } from '../rest/problem.ts';
import { REFUSALS } from '../rest/sentences.ts';
import { closeServer, createHttpServer, listen } from './http-server.ts';

export interface StandIn {
  /** Listens, unless it does already. */
  open(reason: string): Promise<void>;
  /** The ports are free then. */
  close(): Promise<void>;
}

const CONNECTIONS_MAX = 256;
const RETRY_AFTER_SECONDS = '5';

export function createStandIn({ roles, operations, api }: Config, log: Log): StandIn {
  const bounds = { connectionsMax: CONNECTIONS_MAX };
  let reason = '';
  let servers: readonly Server[] = [];
  const checks = {
    started() {
      throw new Error(reason);
    },
  };
  const metrics = { metrics: async () => '', metricsContentType: 'text/plain' };
  const refusing = new Koa().use(reportProblems({ error: () => undefined })).use(() => {
    throw new Problem(503, REFUSALS.starting, { headers: { 'Retry-After': RETRY_AFTER_SECONDS } });
  });
  return {
    async open(why) {
      reason = why;
      if (servers.length > 0) return;
      const ending = new AbortController().signal;
      const ours = createHttpServer(createOperations({ checks, ...metrics, logger: log }).callback(), bounds);
      const clients = createHttpServer(refusing.callback(), bounds);
      servers = roles.includes('api') ? [ours, clients] : [ours];
      await Promise.all([listen(ours, operations, ending), servers.length > 1 && listen(clients, api, ending)]);
    },
    async close() {
      await Promise.all(servers.map((server) => closeServer(server)));
      servers = [];
    },
  };
}
