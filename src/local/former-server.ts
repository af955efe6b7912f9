/**
 * Servers of a former daemon that still work in our directory: stopped by the kernel when that daemon died, and
 * perhaps still writing. They are recognised by their command line, never by a pid file, which outlives its process, and
 * only among the processes of the users they may run as: anybody can start a program with any command line. The caller
 * holds the data directory, so no living daemon owns what is found here.
 */

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { pause } from '../engine/actor/waiting.ts';
import { ServerStartError } from './child-server.ts';

export interface FormerServer {
  /** As messages call it. */
  readonly name: string;
  readonly stopSignal: NodeJS.Signals;
  readonly userIds: readonly number[];
  readonly isCommandLine: (commandLine: readonly string[]) => boolean;
}

/** A fast shutdown of PostgreSQL writes a checkpoint: `shared_buffers` at most, some seconds on a slow disk. */
const FAREWELL_MS = 30_000;
/** From SIGKILL to the end of a process that waits for the disk. */
const DEATH_MS = 10_000;
const POLL_MS = 20;

/** The name of the server that lives in `home`, which its command line shows. */
export function serverNameOf(home: string): string {
  return `vigie-${createHash('sha256').update(home).digest('hex').slice(0, 16)}`;
}

/**
 * Resolves when no such process is left. They are asked with `stopSignal` (a daemon killed in the instant of the start
 * has not set the kernel's signal yet), and killed after 30 seconds. Throws `ServerStartError` when one survives that.
 */
export async function endFormerServer(former: FormerServer): Promise<void> {
  const killAt = performance.now() + FAREWELL_MS;
  const asked = new Set<number>();
  for (;;) {
    const left = await findProcesses(former);
    if (left.length === 0) return;
    if (performance.now() > killAt + DEATH_MS) {
      throw new ServerStartError(`${former.name}: a former one does not end (process ${left.join(', ')})`);
    }
    for (const pid of left) {
      if (performance.now() > killAt) signal(pid, 'SIGKILL');
      else if (!asked.has(pid)) signal(pid, former.stopSignal);
      asked.add(pid);
    }
    await pause(POLL_MS);
  }
}

async function findProcesses(former: FormerServer): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const areFormer = await Promise.all(pids.map((pid) => isFormer(pid, former)));
  return pids.filter((_, at) => areFormer[at]);
}

/** A zombie has no command line any more, and is not found. */
async function isFormer(pid: number, { userIds, isCommandLine }: FormerServer): Promise<boolean> {
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  if (pid === process.pid || !isCommandLine(commandLine.split('\0'))) return false;
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, userId] = /^Uid:\t(\d+)/m.exec(status) ?? [];
  return userId !== undefined && userIds.includes(Number(userId));
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone between the look and the signal.
  }
}
