/**
 * The service as the daemon runs it, in the test's process. Its modules are loaded once for all services of a process,
 * while each daemon takes three seconds of processor time to start. For tests of the service's behaviour; tests of
 * signals, exit codes, standard output, crashes and memory start a daemon.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { type Config, readConfig } from '../../src/config.ts';
import type { Log } from '../../src/log.ts';
import { startService } from '../../src/service.ts';
import { environmentOf, type LogLine, type RunningService, type ServerUrls, type Settings } from './daemon.ts';
import { type Cleanup, endBefore } from './servers.ts';
import { TUNING } from './tuning.ts';

/** The longest wait of a finished test for endpoints that never answer. */
const FAREWELL_MS = 10_000;

/** Starts the service in this process; resolves when it is ready. The end of the test stops it before its servers. */
export async function startHere(
  cleanup: Cleanup,
  servers: ServerUrls,
  settings: Settings = {},
): Promise<RunningService> {
  const lines: LogLine[] = [];
  const { [TUNING]: values = '{}', ...environment } = environmentOf(servers, settings);
  const config: Config = { ...readConfig(environment), ...(JSON.parse(values) as Partial<Config>) };
  const { stop, failed, apiUrl, operationsUrl, adminAddress } = await startService(
    config,
    logTo(lines, config.logLevel),
  );
  let failure: string | null = null;
  void failed.then((reason) => {
    failure = reason;
  });
  const end = (): Promise<number> =>
    stop().then(
      () => (failure === null ? 0 : 1),
      () => 1,
    );
  const endInTime = () => Promise.race([end(), wait(FAREWELL_MS, null, { ref: false })]);
  endBefore(servers.postgres, endInTime);
  endBefore(servers.nats, endInTime);
  cleanup.after(async () => void (await endInTime()));
  return {
    apiUrl: String(apiUrl),
    operationsUrl,
    adminAddress: String(adminAddress),
    log: lines,
    end,
  };
}

function logTo(lines: LogLine[], level: string): Log {
  return pino({ level, base: null, messageKey: 'message' }, { write: (line) => void lines.push(JSON.parse(line)) });
}
