/** A file of lines that was named on the command line, or standard input: opened before anything else is asked for. */

import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { CommandError, cannotRead } from './terminal.ts';

export interface LineFile {
  readonly path: string;
  readonly stream: Readable;
  /** Of what there is, 0 to 1; null when nobody knows, as of a pipe. */
  readonly shareRead: () => number | null;
}

/** Null: standard input. Throws `CommandError` when it cannot be read. */
export async function openLines(path: string | null): Promise<LineFile> {
  if (path === null) return { path: 'standard input', stream: process.stdin, shareRead: () => null };
  const file = await open(path).catch((error: Error) => {
    throw cannotRead(path, error);
  });
  const stats = await file.stat();
  if (stats.isDirectory()) {
    await file.close();
    throw new CommandError(`cannot read ${path}: it is a directory`);
  }
  const stream = file.createReadStream();
  return { path, stream, shareRead: () => (stats.size === 0 ? null : stream.bytesRead / stats.size) };
}
