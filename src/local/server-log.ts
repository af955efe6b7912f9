/** The log file of an embedded server: one older file is kept, its last lines explain a failure. */

import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import { startTask } from '../engine/actor/task.ts';

/** A file larger than this at a start is renamed; a quiet server writes some kilobytes a day. */
const ROTATE_BYTES = 8 * 1024 * 1024;
const TAIL_BYTES = 4_096;
const TAIL_LINES = 12;
const FOLLOW_INTERVAL_MS = 500;
const FOLLOW_BYTES_MAX = 64 * 1024;

/** The server writes to the file itself: a pipe would break under it when the daemon is killed. */
export async function openServerLog(path: string): Promise<FileHandle> {
  const size = await sizeOf(path);
  if (size > ROTATE_BYTES) await rename(path, `${path}.1`);
  return open(path, 'a', 0o600);
}

/** The last lines after the byte `start`, where this run of the server began. */
export async function tailOf(path: string, start: number): Promise<string> {
  const size = await sizeOf(path);
  const lines = (await readFrom(path, Math.max(start, size - TAIL_BYTES), TAIL_BYTES)).trim().split('\n');
  return lines.slice(-TAIL_LINES).join('\n') || '(it wrote nothing)';
}

/** Hands over the lines written from now on, within half a second; the function returned stops it. */
export async function followServerLog(path: string, onLine: (line: string) => void): Promise<() => Promise<void>> {
  let offset = await sizeOf(path);

  async function readOn(): Promise<void> {
    const text = await readFrom(path, offset, FOLLOW_BYTES_MAX);
    const complete = text.slice(0, text.lastIndexOf('\n') + 1);
    offset += Buffer.byteLength(complete);
    for (const line of complete.split('\n')) if (line !== '') onLine(line);
  }

  const work = { what: 'log of a server', work: readOn, keepsProcess: false };
  const following = startTask({ ...work, everyMs: FOLLOW_INTERVAL_MS });
  return async () => {
    await following.stop();
    await readOn();
  };
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    (file) => file.size,
    () => 0,
  );
}

/** Empty when the file cannot be read: a log is never the reason for a failure. */
async function readFrom(path: string, position: number, bytesMax: number): Promise<string> {
  const file = await open(path, 'r').catch(() => null);
  if (file === null) return '';
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytesMax), 0, bytesMax, position);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
