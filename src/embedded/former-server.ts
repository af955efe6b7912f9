/**
 * Servers of a former daemon that still work in our directory: told to stop by the kernel when that daemon died, and
 * perhaps still writing. They are recognised by their command line, which any user may read, never by a pid file, which
 * outlives its process. The caller holds the data directory, so no living daemon owns what is found here.
 */

import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

/** A fast shutdown of PostgreSQL writes a checkpoint: `shared_buffers` at most, some seconds on a slow disk. */
const FAREWELL_MS = 30_000;
const POLL_MS = 20;

/**
 * Resolves when no process is left whose command line `isFormer` accepts. They are asked with `stopSignal` (a daemon
 * killed in the instant of the start has not set the kernel's signal yet), and killed after 30 seconds.
 */
export async function endFormerServer(
  stopSignal: NodeJS.Signals,
  isFormer: (commandLine: readonly string[]) => boolean,
): Promise<void> {
  const deadline = performance.now() + FAREWELL_MS;
  const asked = new Set<number>();
  for (;;) {
    const left = await findProcesses(isFormer);
    if (left.length === 0) return;
    for (const pid of left) {
      if (performance.now() > deadline) signal(pid, 'SIGKILL');
      else if (!asked.has(pid)) signal(pid, stopSignal);
      asked.add(pid);
    }
    await wait(POLL_MS);
  }
}

/** A zombie has no command line any more, and is not found. */
async function findProcesses(accepts: (commandLine: readonly string[]) => boolean): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const commandLines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return pids.filter((pid, at) => pid !== process.pid && accepts((commandLines[at] ?? '').split('\0')));
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone between the look and the signal.
  }
}
