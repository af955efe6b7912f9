/** Measures how long new deliveries to healthy endpoints take during other work. */

import { setTimeout as wait } from 'node:timers/promises';
import { seedDeliveries } from '../../test/support/seeded-deliveries.ts';
import { until } from '../../test/support/until.ts';
import { sized } from '../smoke.ts';
import { announce, type Scene } from './scene.ts';

/** Number of healthy endpoints, in addition to those that hang or are dead. */
export const HEALTHY_ENDPOINTS = 160;
/** Time from the start until latencies are measured. */
export const WARM_UP_MS = sized(3_000, 300);
/** Rate of fresh deliveries while latencies are measured. */
const FRESH_PER_SECOND = 100;
const FRESH_EVERY_MS = 100;
/** Longer than any load of this benchmark takes. */
const LOAD_MAX_MS = sized(1_800_000, 120_000);

export function healthyUrls(scene: Scene, count: number): string[] {
  return Array.from({ length: count }, (_, position) => `${scene.receiverUrl}/ok/${position % HEALTHY_ENDPOINTS}`);
}

/**
 * Milliseconds from commit to arrival of new deliveries to healthy endpoints, ascending. Rejects if `isOver` stays
 * false, or if a delivery does not arrive.
 */
export async function freshLatencies(
  scene: Scene,
  isOver: (elapsedMs: number) => Promise<boolean>,
): Promise<readonly number[]> {
  const committedAt = new Map<string, number>();
  const startedAt = performance.now();
  for (let round = 0; !(await isOver(performance.now() - startedAt)); round++) {
    if (performance.now() - startedAt > LOAD_MAX_MS)
      throw new Error(`the load has not ended after ${LOAD_MAX_MS} ms: ${isOver.toString()}`);
    const urls = healthyUrls(scene, (FRESH_PER_SECOND * FRESH_EVERY_MS) / 1_000).map((url) => `${url}?${round % 16}`);
    const addresses = await seedDeliveries(scene.database, scene.search, urls);
    const now = performance.timeOrigin + performance.now();
    for (const { id } of addresses) committedAt.set(id, now);
    announce(scene, addresses);
    await wait(Math.max(0, startedAt + (round + 1) * FRESH_EVERY_MS - performance.now()));
  }
  const missing = () => [...committedAt.keys()].filter((id) => !scene.receivedAt.has(id)).length;
  await until(
    async () => missing(),
    (count) => count === 0,
    120_000,
  );
  return [...committedAt].map(([id, at]) => (scene.receivedAt.get(id) as number) - at).toSorted((a, b) => a - b);
}

export const percentile = (sorted: readonly number[], share: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number);
