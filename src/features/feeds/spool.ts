/** What is to be published of a snapshot, on disk until the whole of it has been read: nothing of a bad file is. */

import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { linesOf } from './lines.ts';

export interface Planned {
  readonly reference: string;
  readonly digest: string;
  readonly isNew: boolean;
  /** `contentJson` of it. */
  readonly content: string;
}

export interface Spool {
  add(planned: Planned): Promise<void>;
  read(): AsyncGenerator<Planned>;
  close(): Promise<void>;
}

const BUFFERED_MAX = 1_024 * 1_024;

/** The file has no name from the beginning: it goes with the process. */
export async function createSpool(): Promise<Spool> {
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
    async add({ reference, digest, isNew, content }) {
      // A reference is one line without tabs, and JSON has no line ends.
      buffered += `${digest}\t${isNew}\t${reference}\t${content}\n`;
      if (buffered.length > BUFFERED_MAX) await flush();
    },
    async *read() {
      await flush();
      for await (const { bytes } of linesOf(file.createReadStream({ start: 0, autoClose: false }))) {
        const [digest = '', isNew, reference = '', ...content] = bytes.toString('utf8').split('\t');
        yield { digest, isNew: isNew === 'true', reference, content: content.join('\t') };
      }
    },
    close: () => file.close(),
  };
}
