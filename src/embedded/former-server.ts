/**
 * Servers of a former daemon that still work in our directory: told to stop by the kernel when that daemon died, and
 * perhaps still writing. They are recognised by what they have open now, so a pid file is never believed.
 * The caller holds the data directory, therefore no living daemon owns what is found here.
 */

import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

export interface FoundProcess {
  readonly pid: number;
  /** Working directory. Another user's process and one already dead do not show it, and are not found. */
  readonly directory: string;
  /** At most 15 bytes of the name of the executable. */
  readonly command: string;
  readonly args: readonly string[];
}

/** A fast shutdown of PostgreSQL writes a checkpoint: up to `shared_buffers` and some seconds on a slow disk. */
const FAREWELL_MS = 30_000;
const POLL_MS = 20;

/** Resolves when no process that `isFormer` accepts is left: asked with `stopSignal` first, killed after 30 seconds. */
export async function endFormerServer(
  stopSignal: NodeJS.Signals,
  isFormer: (found: FoundProcess) => boolean,
): Promise<void> {
  const deadline = Date.now() + FAREWELL_MS;
  const asked = new Set<number>();
  for (;;) {
    const left = (await runningProcesses()).filter(isFormer);
    if (left.length === 0) return;
    for (const { pid } of left) {
      if (Date.now() > deadline) signal(pid, 'SIGKILL');
      else if (!asked.has(pid)) signal(pid, stopSignal);
      asked.add(pid);
    }
    await wait(POLL_MS);
  }
}

async function runningProcesses(): Promise<readonly FoundProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = await Promise.all(pids.map((pid) => describe(Number(pid)).catch(() => null)));
  return found.filter((each) => each !== null);
}

async function describe(pid: number): Promise<FoundProcess> {
  const [directory, command, args] = await Promise.all([
    readlink(`/proc/${pid}/cwd`),
    readFile(`/proc/${pid}/comm`, 'utf8'),
    readFile(`/proc/${pid}/cmdline`, 'utf8'),
  ]);
  return { pid, directory, command: command.trim(), args: args.split('\0') };
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone between the look and the signal.
  }
}
