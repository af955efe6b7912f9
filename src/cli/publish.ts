/**
 * `vigie publish`: sends intake messages, one JSON object a line, to the stream that the daemon reads. A line that the
 * contract does not allow is refused here, before it can become a dead letter.
 */

import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { connectBroker } from '../broker/connection.ts';
import { publish } from '../broker/publish.ts';
import { advertSubject, ensureAdvertsStream } from '../broker/topology.ts';
import { decodeIntakeMessage, PoisonError } from '../domain/intake-message.ts';
import { createSemaphore } from '../pipeline/semaphore.ts';

export interface PublishSummary {
  readonly published: number;
  /** Already in the stream under the same message id. */
  readonly duplicates: number;
  readonly refused: number;
}

export interface PublishOptions {
  readonly natsUrl: string;
  /** Null: standard input. */
  readonly file: string | null;
  readonly onProgress: (summary: PublishSummary) => void;
  readonly onRefusal: (lineNumber: number, reason: string) => void;
}

const WINDOW = 256;
const PROGRESS_EVERY = 1_000;

/** Rejects when the file or NATS fails; then the summary told last is what the stream holds for certain. */
export async function publishLines(options: PublishOptions): Promise<PublishSummary> {
  const summary = { published: 0, duplicates: 0, refused: 0 };
  const input = options.file === null ? process.stdin : (await open(options.file)).createReadStream();
  const broker = await connectBroker({ url: options.natsUrl, name: 'vigie publish', onStatus: () => undefined });
  const window = createSemaphore(WINDOW);
  const failures: Error[] = [];
  try {
    await ensureAdvertsStream(broker);
    let lineNumber = 0;
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      lineNumber += 1;
      if (line.trim() === '') continue;
      if (failures.length > 0) break;
      const publication = publicationOf(line);
      if (publication instanceof PoisonError) {
        summary.refused += 1;
        options.onRefusal(lineNumber, publication.message);
        continue;
      }
      await window.acquire(1);
      void publish(broker, publication)
        .then(
          ({ isDuplicate }) => {
            if (isDuplicate) summary.duplicates += 1;
            else summary.published += 1;
            if ((summary.published + summary.duplicates) % PROGRESS_EVERY === 0) options.onProgress(summary);
          },
          (error: Error) => failures.push(error),
        )
        .finally(() => window.release(1));
    }
    await window.acquire(WINDOW);
  } finally {
    await broker.close();
  }
  if (failures[0] !== undefined) throw failures[0];
  return summary;
}

/** The message id is the content's hash: sending a file twice in a row changes nothing. */
function publicationOf(line: string) {
  const bytes = Buffer.from(line);
  try {
    const { propertyUuid } = decodeIntakeMessage(bytes);
    return { subject: advertSubject(propertyUuid), messageId: createHash('sha256').update(bytes).digest('hex'), bytes };
  } catch (error) {
    if (error instanceof PoisonError) return error;
    throw error;
  }
}
