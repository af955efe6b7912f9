/** Planned messages of a snapshot, kept on disk until all of it has been read, so that a bad file publishes nothing. */

import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { linesOf, type OtherKeys } from './feed-row.ts';

export interface Planned {
  readonly reference: string;
  /** The reference from which its ids are derived. */
  readonly first: string;
  readonly keys: OtherKeys;
  /** Names of its known members, separated by spaces. */
  readonly members: string;
  readonly price: number | null;
  readonly hash: string;
  readonly change: 'new' | 'changed' | 'none';
  /** The result of `contentJson`. */
  readonly content: string;
}

export type Spool = Awaited<ReturnType<typeof createSpool>>;

const BUFFERED_MAX = 1_024 * 1_024;

/** The file is unlinked at once, so that it disappears with the process. */
export async function createSpool() {
  const directory = await mkdtemp(join(tmpdir(), 'vigie-feed-'));
  const file = await open(join(directory, 'spool'), 'wx+', 0o600);
  await rm(directory, { recursive: true });
  let buffered = '';
  const flush = async (): Promise<void> => {
    const text = buffered;
    buffered = '';
    await file.writeFile(text);
  };
  return {
    async add({ content, ...head }: Planned): Promise<void> {
      // `JSON.stringify` escapes tabs and line breaks.
      buffered += `${JSON.stringify(head)}\t${content}\n`;
      if (buffered.length > BUFFERED_MAX) await flush();
    },
    async *read(): AsyncGenerator<Planned> {
      await flush();
      for await (const { bytes } of linesOf(file.createReadStream({ start: 0, autoClose: false }))) {
        const line = bytes.toString('utf8');
        const end = line.indexOf('\t');
        yield { ...(JSON.parse(line.slice(0, end)) as Omit<Planned, 'content'>), content: line.slice(end + 1) };
      }
    },
    close: () => file.close(),
  };
}
