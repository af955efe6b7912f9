/**
 * Streams activities to watchers. While a watcher's connection is busy, activities wait in a limited queue. When the
 * queue is full, the oldest are dropped, and the next activity that is sent reports their number.
 */

import { once } from 'node:events';
import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import { Signal } from '../engine/actor/waiting.ts';
import type { Activity } from '../engine/domain/activity.ts';
import type { SearchNumber, Uuid } from '../engine/domain/ids.ts';
import { readAnySearch, readSearchIds } from '../engine/store/pairs.ts';
import { oneOf } from '../values.ts';
import type { CallContext } from './call.ts';
import type { AdminDependencies } from './dependencies.ts';
import { exhausted, notFound } from './errors.ts';
import type { Activity as ActivityMessage, WatchActivityRequest } from './generated/vigie/admin/v1/activity.ts';
import { nameOf, optionalEndpointKey, optionalUuidOfName, valueOf } from './names.ts';

const KINDS = { changes: 'change', matches: 'match', attempts: 'attempt' } as const;
const QUEUE_MAX = 1_000;
const BATCH_MAX = 200;
const WATCHERS_MAX = 16;

/** `stopping` ends every watch. */
export function createWatching(stopping: AbortSignal) {
  let count = 0;
  return {
    get count() {
      return count;
    },
    async watch(
      call: ServerWritableStream<WatchActivityRequest, ActivityMessage>,
      dependencies: AdminDependencies,
      { signal }: CallContext,
    ) {
      if (count >= WATCHERS_MAX)
        throw exhausted('TOO_MANY_WATCHERS', `At most ${WATCHERS_MAX} clients can watch at once. Try again later.`);
      count += 1;
      try {
        await watchOne(call, AbortSignal.any([signal, stopping]), dependencies);
      } finally {
        count -= 1;
      }
    },
  };
}

async function watchOne(
  call: ServerWritableStream<WatchActivityRequest, ActivityMessage>,
  signal: AbortSignal,
  dependencies: AdminDependencies,
): Promise<void> {
  const fits = await filterOf(call.request, dependencies);
  const queue: Activity[] = [];
  let skippedCount = 0;
  const wakeUp = new Signal();
  signal.addEventListener('abort', () => wakeUp.notify(), { once: true });
  const end = await dependencies.watch((activities) => {
    for (const activity of activities) {
      if (!fits(activity)) continue;
      if (queue.length >= QUEUE_MAX) {
        queue.shift();
        skippedCount += 1;
      }
      queue.push(activity);
    }
    if (queue.length > 0) wakeUp.notify();
  });
  try {
    call.sendMetadata(new Metadata());
    while (!signal.aborted) {
      if (queue.length === 0) {
        await wakeUp.wait();
        continue;
      }
      const batch = queue.splice(0, BATCH_MAX);
      const searchIds = await readSearchIds(dependencies.database, searchNumbersOf(batch));
      for (const activity of batch) {
        const isTaken = call.write(activityMessage(activity, searchIds, skippedCount));
        skippedCount = 0;
        if (!isTaken && !signal.aborted) await once(call, 'drain', { signal });
      }
    }
    signal.throwIfAborted();
  } finally {
    end();
  }
}

type Fits = (activity: Activity) => boolean;

async function filterOf(request: WatchActivityRequest, { database }: AdminDependencies): Promise<Fits> {
  const known = oneOf(Object.keys(KINDS) as (keyof typeof KINDS)[]);
  const kinds = request.kinds.map((kind) => KINDS[valueOf('kinds', known, kind)]);
  const searchId = optionalUuidOfName('search', 'searches', request.search);
  const propertyUuid = optionalUuidOfName('property', 'properties', request.property);
  const endpointKey = optionalEndpointKey('endpoint', request.endpoint);
  const search = searchId === null ? null : await readAnySearch(database, searchId);
  if (searchId !== null && search === null) throw notFound('Search', request.search);
  return (activity) =>
    (kinds.length === 0 || kinds.includes(activity.type)) &&
    (search === null || ('searchNumber' in activity && activity.searchNumber === search.number)) &&
    (propertyUuid === null || ('propertyUuid' in activity && activity.propertyUuid === propertyUuid)) &&
    (endpointKey === null || ('endpointKey' in activity && activity.endpointKey.startsWith(endpointKey))) &&
    (!request.failuresOnly || (activity.type === 'attempt' && activity.error !== null));
}

function searchNumbersOf(activities: readonly Activity[]): readonly SearchNumber[] {
  return [...new Set(activities.flatMap((activity) => ('searchNumber' in activity ? activity.searchNumber : [])))];
}

function activityMessage(
  activity: Activity,
  searchIds: ReadonlyMap<SearchNumber, Uuid>,
  skippedCount: number,
): ActivityMessage {
  const search = 'searchNumber' in activity ? (searchIds.get(activity.searchNumber) ?? null) : null;
  return {
    time: new Date(activity.at),
    skippedCount,
    fact: factOf(activity, search === null ? '' : nameOf.search(search)),
  };
}

function factOf(activity: Activity, search: string): ActivityMessage['fact'] {
  switch (activity.type) {
    case 'change':
      return {
        $case: 'change',
        value: {
          property: nameOf.property(activity.propertyUuid),
          advert: activity.advertUuid,
          kind: activity.kind,
          field: activity.field ?? '',
          oldValue: activity.oldValue ?? '',
          newValue: activity.newValue ?? '',
        },
      };
    case 'match':
      return {
        $case: 'match',
        value: { match: nameOf.match(activity.matchId), search, property: nameOf.property(activity.propertyUuid) },
      };
    case 'attempt':
      return {
        $case: 'attempt',
        value: {
          delivery: nameOf.delivery(activity.deliveryId),
          search,
          endpoint: nameOf.endpoint(activity.endpointKey),
          number: activity.number,
          statusCode: activity.statusCode ?? 0,
          error: activity.error ?? '',
          durationMs: activity.durationMs,
          state: activity.state,
        },
      };
  }
}
