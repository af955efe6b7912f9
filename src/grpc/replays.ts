/**
 * Sending failed deliveries again, at a pace that a receiver which has just recovered can bear: back into the queue, batch
 * by batch.
 */

import { pause } from '../engine/actor/waiting.ts';
import type { Uuid } from '../engine/domain/ids.ts';
import { previewReplay, requeueFailed } from '../engine/store/replays.ts';
import type { CallContext } from './call.ts';
import { stateOfRequest } from './delivery-answers.ts';
import type { AdminDependencies } from './dependencies.ts';
import { invalidArgument } from './errors.ts';
import { timeRangeOf } from './fields.ts';
import type { ReplayDeliveriesRequest, ReplayDeliveriesResponse } from './generated/vigie/admin/v1/deliveries.ts';
import { nameOf, optionalEndpointKey, optionalUuidOfName } from './names.ts';

const PACE_DEFAULT = 100;
const PACE_MAX = 10_000;
const BATCHES_PER_SECOND = 10;
const SAMPLE_MAX = 10;

export async function replayDeliveries(
  request: ReplayDeliveriesRequest,
  dependencies: AdminDependencies,
  { signal }: CallContext,
): Promise<ReplayDeliveriesResponse> {
  const filter = filterOf(request);
  const pace = paceOf(request.pacePerSecond);
  const preview = await previewReplay(dependencies.database, filter);
  const planned = {
    replayedCount: preview.count,
    sample: preview.sample.map(nameOf.delivery),
    oldestCreateTime: preview.oldestAt ?? undefined,
    newestCreateTime: preview.newestAt ?? undefined,
    unwantedCount: preview.unwantedCount,
  };
  if (request.validateOnly) return planned;
  return { ...planned, ...(await replayAll(filter, pace, dependencies, signal)) };
}

function filterOf(request: ReplayDeliveriesRequest) {
  const state = stateOfRequest('state', request.state);
  if (state !== null && state !== 'failed') throw invalidArgument('state', 'must be STATE_FAILED or unspecified');
  const filter = {
    searchId: optionalUuidOfName('search', 'searches', request.search),
    endpointKey: optionalEndpointKey('endpoint', request.endpoint),
    ...timeRangeOf(request),
  };
  if (state === null && Object.values(filter).every((condition) => condition === null)) {
    throw invalidArgument('state', 'or another condition must be set: to replay everything, say STATE_FAILED');
  }
  return filter;
}

function paceOf(pacePerSecond: number): number {
  if (pacePerSecond < 0 || pacePerSecond > PACE_MAX) {
    throw invalidArgument('pace_per_second', `must be 0 to ${PACE_MAX}`);
  }
  return pacePerSecond === 0 ? PACE_DEFAULT : pacePerSecond;
}

type Replayed = Pick<ReplayDeliveriesResponse, 'replayedCount' | 'sample' | 'oldestCreateTime' | 'newestCreateTime'>;

/** Each delivery once: one that fails again meanwhile lies before the cursor. */
async function replayAll(
  filter: ReturnType<typeof filterOf>,
  pacePerSecond: number,
  { database, announceDue, onReplayed }: AdminDependencies,
  signal: AbortSignal,
): Promise<Replayed> {
  const batchMax = Math.max(1, Math.floor(pacePerSecond / BATCHES_PER_SECOND));
  const sample: string[] = [];
  const times: Date[] = [];
  let replayedCount = 0;
  for (let aboveId: Uuid | null = null; ; ) {
    const batch = await requeueFailed(database, filter, aboveId, batchMax);
    if (batch.length === 0) break;
    announceDue(batch);
    onReplayed(batch.length);
    replayedCount += batch.length;
    for (const { id, createdAt } of batch) {
      if (sample.length < SAMPLE_MAX) sample.push(nameOf.delivery(id));
      times[times.length === 0 ? 0 : 1] = createdAt;
    }
    aboveId = batch.at(-1)?.id ?? null;
    if (batch.length < batchMax) break;
    await pause((batch.length / pacePerSecond) * 1_000, signal);
    signal.throwIfAborted();
  }
  return { replayedCount, sample, oldestCreateTime: times[0], newestCreateTime: times.at(-1) };
}
