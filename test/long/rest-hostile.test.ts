/**
 * The worst requests of one megabyte cost the API at most ten times the unavoidable processor time. That is the time of
 * `JSON.parse` of the same body and of a plain request of the same size. `HOSTILE_SEED` changes the random requests.
 */

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, test } from 'node:test';
import { NO_POINTS } from '../../src/engine/matching/points/poi-index.ts';
import { startTestApi } from '../support/api.ts';
import { type HostileRequest, hostileRequests } from '../support/hostile-requests.ts';
import { assertNone } from '../support/lists.ts';

const SEED = Number(process.env.HOSTILE_SEED ?? 15);
/** Allows for sending and receiving, and for other work of the process at the same time. */
const RATIO_MAX = 10;
const TRIES = 5;

const api = await startTestApi({ after }, { pointsOfInterest: () => NO_POINTS });
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
after(() => agent.destroy());

interface Answer {
  readonly status: number;
  readonly bytes: number;
}

function send({ method, path, headers, body }: Omit<HostileRequest, 'name'>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { method, path, agent, headers: { 'X-API-KEY': api.key, ...headers } };
    const outgoing = request(api.baseUrl, options, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes }));
    });
    outgoing.on('error', reject);
    outgoing.end(body ?? undefined);
  });
}

/** The processor time of all threads of this process, without the time spent waiting for a processor. */
async function processorMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** A request of the same size with a trivial body, sent, received and answered by the same code. */
const plain = {
  method: 'POST',
  path: '/searches',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ title: 'x'.repeat(1_000_000) }),
} as const;

function parseCost(body: string | null): Promise<number> {
  return processorMs(() => body !== null && JSON.parse(body));
}

const requests = hostileRequests(SEED);

test(`no request costs more than ten times the unavoidable time (seed ${SEED})`, { timeout: 600_000 }, async (t) => {
  for (const one of requests) {
    const { status, bytes } = await send(one);
    assert.ok(status < 500, one.name);
    // A refusal is short.
    if (status >= 400) assert.ok(bytes <= 64 * 1024, `${one.name}: ${bytes} bytes`);
  }
  const found: { name: string; ratio: number }[] = [];
  for (const one of requests) {
    let ratio = Number.POSITIVE_INFINITY;
    // The garbage of earlier requests may be collected during any request, hence several tries.
    for (let tries = 0; tries < TRIES && ratio > RATIO_MAX; tries++) {
      const unavoidable = (await parseCost(one.body)) + (await processorMs(() => send(plain)));
      ratio = Math.min(ratio, (await processorMs(() => send(one))) / unavoidable);
    }
    found.push({ name: one.name, ratio });
  }
  found.sort((a, b) => b.ratio - a.ratio);
  t.diagnostic(
    found
      .slice(0, 5)
      .map(({ name, ratio }) => `${name}: ${ratio.toFixed(1)}`)
      .join(', '),
  );
  assertNone(found.filter(({ ratio }) => ratio > RATIO_MAX));
});
