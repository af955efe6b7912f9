/**
 * The server side of bench/http, a process of its own so that the load generator has another core: the API on a given
 * database, or a bare Koa with one route that answers a constant body. Tells its parent the port, and the API its key.
 */

import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { devNull } from 'node:os';
import Router from '@koa/router';
import Koa from 'koa';
import { createApi } from '../../src/api/api.ts';
import { samplePointsOfInterest } from '../../src/cli/sample-points-of-interest.ts';
import { createLog } from '../../src/log.ts';
import { buildPointIndex } from '../../src/matching/poi-index.ts';
import { loadReference } from '../../src/reference/communes.ts';
import { openDatabase } from '../../src/store/database.ts';

const [kind, argument = '', pointCount = '0'] = process.argv.slice(2);

async function apiHandler(databaseUrl: string) {
  const reference = await loadReference();
  const index = await buildPointIndex(samplePointsOfInterest({ seed: 1, reference, count: Number(pointCount) }));
  return createApi({
    database: openDatabase({ url: databaseUrl, connectionsMax: 10, onConnectionLost: () => undefined }),
    reference,
    // The daemon's own log, every line of it, written to nowhere.
    logger: createLog('info', openSync(devNull, 'w')),
    now: () => new Date(),
    searchChanged: async () => undefined,
    pointsOfInterest: () => index,
    settings: {
      publicUrl: null,
      allowPrivateEndpoints: false,
      endpointPorts: [],
      rateLimitPerSecond: 1_000_000,
      rateLimitBurst: 1_000_000,
      version: 'bench',
    },
  }).callback();
}

function bareHandler(bodyBytes: number) {
  const app = new Koa();
  const body = JSON.stringify({ x: 'x'.repeat(Math.max(0, bodyBytes - 8)) });
  const router = new Router();
  router.get('/indicators/points_of_interest', (ctx) => {
    ctx.type = 'application/ld+json';
    ctx.body = body;
  });
  app.use(router.routes());
  return app.callback();
}

const handler = kind === 'bare' ? bareHandler(Number(argument)) : await apiHandler(argument);
const server = createServer(handler).listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.({ port: (server.address() as AddressInfo).port });
process.on('disconnect', () => process.exit(0));
