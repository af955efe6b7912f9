/** `vigie serve`: the daemon, from the first signal of life to the last acknowledgement. */

import type { Config } from '../config.ts';
import { createLog } from '../log.ts';
import { startService } from '../service.ts';
import { VERSION } from '../version.ts';

/** Resolves when the daemon has stopped; the exit code is 0 after a clean drain, 1 otherwise. */
export async function serve(config: Config): Promise<void> {
  const log = createLog(config.logLevel);
  if (config.unknownNames.length > 0) log.warn({ names: config.unknownNames }, 'environment names that no setting has');
  log.info({ version: VERSION, roles: config.roles }, 'starting');
  const service = await startService(config, log);
  const { apiUrl: api, operationsUrl: operations, adminAddress: admin, natsCredentialsFile } = service;
  const nats = natsCredentialsFile === null ? {} : { nats: new URL(service.natsUrl).host, natsCredentialsFile };
  log.info({ api, operations, admin, ...nats }, 'ready');

  const reason = await Promise.race([signalled(), service.failed.then((failure) => ({ failure }))]);
  if ('failure' in reason) {
    log.fatal(reason, 'cannot go on');
    process.exitCode = 1;
  } else {
    log.info(reason, 'draining');
  }
  try {
    await service.stop();
    log.info('stopped');
  } catch (error) {
    log.fatal({ err: error }, 'not drained');
    process.exitCode = 1;
  }
  // What could not be closed in time would keep the process alive.
  setTimeout(() => process.exit(), 1_000).unref();
}

function signalled(): Promise<{ readonly signal: string }> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve({ signal }));
  });
}
