/** Daemons as an orchestrator keeps them: one that ends, for whatever reason, is started again. */

import { setTimeout as wait } from 'node:timers/promises';
import { type Daemon, type Settings, startDaemon } from '../../test/support/daemon.ts';
import type { Cleanup, TestServers } from '../../test/support/servers.ts';
import { until } from '../../test/support/until.ts';

export interface Instance {
  readonly name: string;
  /** Null while it is down. */
  readonly daemon: Daemon | null;
  /** Resolves when it has ended, or at once when it is down. */
  end(signal: NodeJS.Signals): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** Resolves with a daemon that is ready; rejects when none is after five minutes. */
  untilUp(): Promise<Daemon>;
  /** Ends it for good; resolves with the exit code. */
  retire(): Promise<number | null>;
}

export interface InstanceOptions {
  readonly name: string;
  readonly servers: TestServers;
  readonly settings: Settings;
  /** Told when it cannot start, which is no wonder while its servers are away. */
  readonly onTrouble: (what: string) => void;
  /** Told when it ends without having been told to. */
  readonly onCrash: (what: string) => void;
}

const START_AGAIN_MS = 500;
const RETIREMENT_MAX_MS = 600_000;

export function keepInstance(cleanup: Cleanup, options: InstanceOptions): Instance {
  const { name, servers, settings, onTrouble, onCrash } = options;
  let daemon: Daemon | null = null;
  let isRetired = false;
  let wasEnded = false;
  cleanup.after(async () => {
    isRetired = true;
    await daemon?.end('SIGKILL');
    await kept;
  });

  async function keep(): Promise<void> {
    while (!isRetired) {
      wasEnded = false;
      try {
        const started = await startDaemon(cleanup, servers, settings);
        daemon = started;
        const { process } = started;
        if (process.exitCode === null && process.signalCode === null) {
          await new Promise((ended) => process.once('exit', ended));
        }
        daemon = null;
        if (!wasEnded && !isRetired) onCrash(`${name} ended by itself: ${deathOf(started)}`);
      } catch (error) {
        onTrouble(`${name} could not start: ${lastLine(error as Error)}`);
      }
      if (!isRetired) await wait(START_AGAIN_MS);
    }
  }
  const kept = keep();

  return {
    name,
    get daemon() {
      return daemon;
    },
    async end(signal) {
      wasEnded = true;
      await daemon?.end(signal);
    },
    freeze: () => void daemon?.process.kill('SIGSTOP'),
    thaw: () => void daemon?.process.kill('SIGCONT'),
    async untilUp() {
      return (await until(
        async () => daemon,
        (up) => up !== null,
      )) as Daemon;
    },
    async retire() {
      isRetired = true;
      wasEnded = true;
      const code = await Promise.race([daemon?.end('SIGTERM'), wait(RETIREMENT_MAX_MS, null, { ref: false })]);
      return code ?? null;
    },
  };
}

/** A crash tells itself on standard error, an end that was decided in the log. */
function deathOf({ errors, log }: Daemon): string {
  return errors.join('').trim() || JSON.stringify(log.at(-1));
}

function lastLine({ message }: Error): string {
  return message.trimEnd().split('\n').at(-1)?.slice(0, 300) ?? '';
}
