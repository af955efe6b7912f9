/** Keeps daemons running as an orchestrator does: it restarts a daemon that ends, unless it is halted or retired. */

import { setTimeout as wait } from 'node:timers/promises';
import { type Daemon, type ServerUrls, type Settings, startDaemon } from '../../test/support/daemon.ts';
import type { Cleanup } from '../../test/support/servers.ts';
import { RECOVERY_MAX_MS, until } from '../../test/support/until.ts';

export interface Instance {
  readonly name: string;
  /** Null while it is down. */
  readonly daemon: Daemon | null;
  /** True if it leads intake, according to its log. */
  readonly leads: boolean;
  /** Ends the daemon; resolves at once if it is down. A non-zero exit code after SIGTERM counts as a crash. */
  end(signal: NodeJS.Signals): Promise<void>;
  /** Kills it; it stays down until `resume`. Call it only while the daemon is up. */
  halt(): Promise<void>;
  resume(): void;
  freeze(): void;
  thaw(): void;
  /** Resolves with a daemon that is ready; rejects if none is ready after `RECOVERY_MAX_MS`. */
  untilUp(): Promise<Daemon>;
  /** Ends it for good with SIGTERM; resolves with the exit code; null if it is down or needs over ten minutes. */
  retire(): Promise<number | null>;
}

export interface InstanceOptions {
  readonly name: string;
  readonly servers: ServerUrls;
  readonly settings: Settings;
  /**
   * Called with the reason of a failed start, which is expected while a server is unavailable, and with log lines about
   * raised sequence numbers.
   */
  readonly onTransientError: (what: string) => void;
  /** Called with the reason when the daemon ends unrequested, or not as requested. */
  readonly onCrash: (what: string) => void;
}

const LEADS = 'This instance leads intake.';
const STANDS_BY = 'This instance is a standby.';
const RAISES = 'continues far above';
const START_AGAIN_MS = 500;
/** The last line that Node.js prints after an uncaught error. */
const UNCAUGHT = /^Node\.js v\d/m;
const CRASH_LENGTH_MAX = 1_500;
const RETIREMENT_MAX_MS = 600_000;

export function keepInstance(cleanup: Cleanup, options: InstanceOptions): Instance {
  const { name, servers, settings, onTransientError, onCrash } = options;
  let daemon: Daemon | null = null;
  let isRetired = false;
  let wasEnded = false;
  let mayStart = Promise.resolve();
  let resume = (): void => undefined;
  cleanup.after(async () => {
    isRetired = true;
    resume();
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
        const raises = started.log.filter(({ message }) => String(message).includes(RAISES));
        for (const raise of raises) onTransientError(`${name} raised the numbers: ${JSON.stringify(raise)}`);
        if (!wasEnded && !isRetired) onCrash(`${name} ended unexpectedly: ${deathOf(started)}`);
      } catch (error) {
        const { message } = error as Error;
        if (UNCAUGHT.test(message)) onCrash(`${name} crashed as it started: ${message.slice(-CRASH_LENGTH_MAX)}`);
        else onTransientError(`${name} could not start: ${lastLine(error as Error)}`);
      }
      if (!isRetired) await wait(START_AGAIN_MS);
      await mayStart;
    }
  }
  const kept = keep();

  return {
    name,
    get daemon() {
      return daemon;
    },
    get leads() {
      const said = daemon?.log.findLast(({ message }) => message === LEADS || message === STANDS_BY);
      return said?.message === LEADS;
    },
    async end(signal) {
      wasEnded = true;
      const code = await daemon?.end(signal);
      if (signal === 'SIGTERM' && typeof code === 'number' && code !== 0) {
        onCrash(`${name} ended with exit code ${code} after SIGTERM`);
      }
    },
    async halt() {
      mayStart = new Promise((resolve) => {
        resume = resolve;
      });
      wasEnded = true;
      await daemon?.end('SIGKILL');
    },
    resume: () => resume(),
    freeze: () => void daemon?.process.kill('SIGSTOP'),
    thaw: () => void daemon?.process.kill('SIGCONT'),
    async untilUp() {
      return (await until(
        async () => daemon,
        (up) => up !== null,
        RECOVERY_MAX_MS,
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

/** A crash is described on standard error, a deliberate exit in the log. */
function deathOf({ errors, log }: Daemon): string {
  return errors.join('').trim() || JSON.stringify(log.at(-1));
}

function lastLine({ message }: Error): string {
  return message.trimEnd().split('\n').at(-1)?.slice(0, 300) ?? '';
}
