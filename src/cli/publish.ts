/**
 * `vigie publish`: sends intake messages, one JSON object a line, to the stream that the daemon reads. A line that the
 * contract does not allow is refused here, before it can become a dead letter; members that it does not know, which would
 * have no effect, are told or refused.
 */

import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { connectBroker } from '../broker/connection.ts';
import { type Publication, publish } from '../broker/publish.ts';
import { advertSubject, ensureAdvertsStream } from '../broker/topology.ts';
import { decodeIntakeMessage, PoisonError } from '../domain/intake-message.ts';
import { nearestName } from '../domain/nearest-name.ts';
import type { UnknownMember } from '../domain/unknown-members.ts';
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
  /** Refuses lines with members that the contract does not know. */
  readonly isStrict: boolean;
  readonly onProgress: (summary: PublishSummary) => void;
  readonly onRefusal: (lineNumber: number, reason: string) => void;
  /** Told of each such member of a line that is sent all the same. */
  readonly onUnknownMember: (lineNumber: number, member: UnknownMember) => void;
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
      const { publication, reason, unknown } = readLine(line, options.isStrict);
      if (publication === null) {
        summary.refused += 1;
        options.onRefusal(lineNumber, reason);
        continue;
      }
      for (const member of unknown) options.onUnknownMember(lineNumber, member);
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

interface ReadLine {
  /** Null: refused. */
  readonly publication: Publication | null;
  readonly reason: string;
  readonly unknown: readonly UnknownMember[];
}

/** The message id is the content's hash: sending a file twice in a row changes nothing. */
function readLine(line: string, isStrict: boolean): ReadLine {
  const bytes = Buffer.from(line);
  const unknown: UnknownMember[] = [];
  try {
    const { propertyUuid } = decodeIntakeMessage(bytes, (member) => unknown.push(member));
    const reason = unknown.map(describeUnknown).join('; ');
    if (isStrict && unknown.length > 0) return { publication: null, reason, unknown };
    const messageId = createHash('sha256').update(bytes).digest('hex');
    return { publication: { subject: advertSubject(propertyUuid), messageId, bytes }, reason, unknown };
  } catch (error) {
    if (error instanceof PoisonError) return { publication: null, reason: error.message, unknown };
    throw error;
  }
}

export function describeUnknown({ path, name, known }: UnknownMember): string {
  return `${path} is no member of the contract and has no effect; the nearest one is ${nearestName(name, known)}`;
}
