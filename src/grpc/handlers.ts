/** The functions that answer the methods of the interface. */

import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { FEATURES } from '../features.ts';
import { createWatching } from './activity.ts';
import { type CallTimeouts, clientStreaming, type Rpcs, serverStreaming, unary } from './call.ts';
import { CLIENT_RPCS } from './clients.ts';
import { DEAD_LETTER_RPCS } from './dead-letters.ts';
import { DELIVERY_RPCS } from './deliveries.ts';
import type { AdminDependencies } from './dependencies.ts';
import { ENDPOINT_RPCS } from './endpoints.ts';
import { importPoints, REFERENCE_RPCS } from './reference.ts';
import { STATUS_RPCS } from './status.ts';

const RPCS: readonly Rpcs[] = [
  ...[STATUS_RPCS, DELIVERY_RPCS, DEAD_LETTER_RPCS, ENDPOINT_RPCS, CLIENT_RPCS, REFERENCE_RPCS],
  ...FEATURES.map(({ rpcs = {} }) => rpcs),
];

/** Unary methods that may take minutes, because they read many rows or wait for instances. */
const LONG: readonly string[] = ['drainStage', 'rebuildIndex', 'requeueDeadLetters'] satisfies (keyof Rpcs)[];

/** `stopping`: ends the watchers. */
export function createHandlers(
  all: AdminDependencies,
  stopping: AbortSignal,
  { usualMs, longMs }: CallTimeouts,
): UntypedServiceImplementation {
  const unaries = RPCS.flatMap(Object.entries).map(([name, handle]) => {
    return [name, unary(all, LONG.includes(name) ? longMs : usualMs, handle)];
  });
  return {
    ...Object.fromEntries(unaries),
    importPointsOfInterest: clientStreaming(all, longMs, importPoints),
    watchActivity: serverStreaming(all, createWatching(stopping).watch),
  };
}
