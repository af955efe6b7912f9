/** `vigie serve` runs the daemon until it has drained. */

import { once } from 'node:events';
import { availableParallelism, totalmem } from 'node:os';
import type { Config } from '../config.ts';
import { DESCRIPTORS_REMEDY, descriptorShortage, fitDescriptors, readDescriptorLimit } from '../descriptors.ts';
import { adoptConsole, createLog, type Log } from '../log.ts';
import { type Service, StartBrokenOffError, startService } from '../service.ts';
import { unsupportedNode, VERSION } from '../version.ts';
import { stopSignal } from './terminal.ts';

/** Resolves when the daemon has stopped. The exit code is 0 after a clean drain, otherwise 1. */
export async function serve(config: Config): Promise<void> {
  const log = createLog(config.logLevel);
  adoptConsole(log);
  const stopping = stopSignal((signal) => {
    log.fatal({ signal }, 'A second signal was received, so the daemon ends without draining.');
    process.exit(1);
  });
  stopping.addEventListener('abort', () => log.info({ signal: stopping.reason }, 'draining'));
  if (config.unknownNames.length > 0)
    log.warn({ names: config.unknownNames }, 'The environment has unknown settings. Correct or unset them.');
  const unsupported = unsupportedNode(process.versions.node, new Date());
  if (unsupported !== null) log.warn(unsupported);
  const descriptors = readDescriptorLimit();
  log.info({ version: VERSION, roles: config.roles, descriptors, ...machine(config) }, 'starting');
  const shortage = descriptorShortage(config, descriptors);
  if (shortage !== null) log.warn(`${shortage} ${DESCRIPTORS_REMEDY}`);
  const service = await startService(fitDescriptors(config, descriptors), log, stopping).catch((error: Error) => {
    if (error instanceof StartBrokenOffError) return null;
    throw error;
  });
  if (service !== null) await serveUntilEnd(service, stopping, log);
  log.info('stopped');
  // Ends the process even if a resource was not closed in time.
  setTimeout(() => process.exit(), 1_000).unref();
}

const MEBIBYTE = 1_048_576;
/** Memory of all processes in megabytes under the load of the demonstration, rounded up (config/docs/scaling.md). */
const TAKES_MB = { alone: 320, withServers: 400 } as const;

/** The number of cores, the memory (limited by the container), and the memory that the service needs. */
function machine({ databaseUrl, natsUrl }: Config) {
  const memoryBytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const takesMb = databaseUrl === null || natsUrl === null ? TAKES_MB.withServers : TAKES_MB.alone;
  return { cores: availableParallelism(), memoryMb: Math.round(memoryBytes / MEBIBYTE), takesMb };
}

async function serveUntilEnd(service: Service, stopping: AbortSignal, log: Log): Promise<void> {
  const { apiUrl: api, operationsUrl: operations, adminAddress: admin, natsCredentialsFile } = service;
  const nats = natsCredentialsFile === null ? {} : { nats: new URL(service.natsUrl).host, natsCredentialsFile };
  log.info({ api, operations, admin, ...nats }, 'ready');
  const failure = await Promise.race([
    stopping.aborted ? null : once(stopping, 'abort').then(() => null),
    service.failed,
  ]);
  if (failure !== null) {
    log.fatal({ failure }, 'The daemon cannot continue.');
    process.exitCode = 1;
  }
  try {
    await service.stop();
  } catch (error) {
    log.fatal({ err: error }, 'The daemon could not drain.');
    process.exitCode = 1;
  }
}
