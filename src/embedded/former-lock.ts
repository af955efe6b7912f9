/**
 * The hold of daemons before the lock file: an abstract unix socket named after the data directory. One of them may still
 * run when its successor starts. Any user can open a socket of that name, so one counts only when a process of the
 * daemon's own user has it.
 */

import { createHash } from 'node:crypto';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';

/** The process that holds `path` in the former way; null when none does. */
export async function formerHolder(path: string): Promise<number | null> {
  const name = `@vigie-data-${createHash('sha256').update(path).digest('hex').slice(0, 32)}`;
  const sockets = await readFile('/proc/net/unix', 'utf8').catch(() => '');
  // Node pads the name to the length of the field.
  const line = sockets.split('\n').find((each) => each.includes(` ${name}`));
  if (line === undefined) return null;
  const target = `socket:[${line.trim().split(/\s+/)[6]}]`;
  for (const pid of (await readdir('/proc')).filter((each) => /^\d+$/.test(each))) {
    if (await hasOpen(pid, target)) return Number(pid);
  }
  return null;
}

/** False for processes of other users, and for those that have just ended. */
async function hasOpen(pid: string, target: string): Promise<boolean> {
  try {
    if ((await stat(`/proc/${pid}`)).uid !== process.geteuid?.()) return false;
    const handles = await readdir(`/proc/${pid}/fd`);
    const targets = await Promise.all(handles.map((each) => readlink(`/proc/${pid}/fd/${each}`).catch(() => '')));
    return targets.includes(target);
  } catch {
    return false;
  }
}
