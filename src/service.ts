/**
 * The composition root: opens every part in order and closes them in reverse. `foundation.ts` opens what all roles
 * share; each role has a file of its own beside this one.
 */

import type { Config, Role } from './config.ts';
import { openDelivery } from './deliverers.ts';
import { openFoundation } from './foundation.ts';
import { openIntake } from './intake.ts';
import type { Log } from './log.ts';
import { openOperations, type Progress } from './operations.ts';
import { openOperators } from './operators.ts';
import type { Parts } from './parts.ts';
import { openApi } from './rest.ts';
import { assertPortsFree } from './taken-ports.ts';

export interface Service {
  readonly databaseUrl: string;
  readonly natsUrl: string;
  /** The file with `natsUrl` of an embedded NATS; null when NATS is given. */
  readonly natsCredentialsFile: string | null;
  /** Null without the role `api`. */
  readonly apiUrl: string | null;
  readonly operationsUrl: string;
  /** `host:port` of the gRPC interface of operators; null without the role `admin`. */
  readonly adminAddress: string | null;
  /** Resolves when the service cannot go on, with the reason. */
  readonly failed: Promise<string>;
  /** Stops pulling, finishes what is in flight, closes. Rejects when that takes longer than the drain timeout. */
  stop(): Promise<void>;
}

export async function startService(config: Config, log: Log): Promise<Service> {
  const closers: { readonly name: string; readonly close: () => Promise<unknown> }[] = [];
  const closing: Parts['closing'] = (name, close) => closers.push({ name, close });
  const closeAll = async (): Promise<void> => {
    for (const { name, close } of closers.splice(0).reverse()) {
      log.debug({ part: name }, 'closing');
      await close();
    }
  };
  try {
    await assertPortsFree(config);
    return await openAll(config, log, closing, () => withinTime(closeAll(), config.drainTimeoutMs));
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Each part after those that it needs; the operations port comes early, to say how far the others are. */
async function openAll(config: Config, log: Log, closing: Parts['closing'], stop: Service['stop']): Promise<Service> {
  const { parts, ...foundation } = await openFoundation(config, log, closing);
  const hasRole = (role: Role): boolean => config.roles.includes(role);
  const progress: Progress = { phase: 'starting', isIndexLoaded: !hasRole('intake') };
  const operationsUrl = await openOperations(parts, progress);
  if (hasRole('deliver')) await openDelivery(parts);
  const matcher = hasRole('intake') ? await openIntake(parts, foundation.databaseUrl) : null;
  progress.isIndexLoaded = true;
  const apiUrl = hasRole('api') ? await openApi(parts, matcher) : null;
  const adminAddress = hasRole('admin') ? await openOperators(parts, matcher) : null;
  progress.phase = 'ready';
  closing('readiness', async () => {
    progress.phase = 'draining';
  });
  return { ...foundation, apiUrl, operationsUrl, adminAddress, stop };
}

async function withinTime(work: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not closed within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
