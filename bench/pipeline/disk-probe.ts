/** Measures the disk while something else runs: a small durable write every 20 ms. */

import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** The size of a small commit of PostgreSQL. */
const WRITE_BYTES = 8_192;
/** The file is overwritten in a circle, because growth would also wait for the file system's journal. */
const FILE_BYTES = 1_048_576;
const EVERY_MS = 20;

export interface DiskProbe {
  /** Milliseconds from when each write was due until it was durable, ascending. */
  stop(): Promise<readonly number[]>;
}

export async function startDiskProbe(folder: string): Promise<DiskProbe> {
  const path = join(folder, 'disk-probe');
  const file = await open(path, 'w');
  await file.write(Buffer.alloc(FILE_BYTES));
  await file.sync();
  const block = Buffer.alloc(WRITE_BYTES, 1);
  const waits: number[] = [];
  let isStopped = false;
  const probing = (async () => {
    for (let position = 0; !isStopped; position = (position + WRITE_BYTES) % FILE_BYTES) {
      const startedAt = performance.now();
      await file.write(block, 0, WRITE_BYTES, position);
      await file.datasync();
      const tookMs = performance.now() - startedAt;
      // Writes that became due during a slow write count too: each waited for the rest of that write.
      for (let restMs = tookMs; restMs > 0; restMs -= EVERY_MS) waits.push(restMs);
      await wait(EVERY_MS - (tookMs % EVERY_MS));
    }
    await file.close();
    await rm(path);
  })();
  return {
    async stop() {
      isStopped = true;
      await probing;
      return waits.sort((a, b) => a - b);
    },
  };
}
