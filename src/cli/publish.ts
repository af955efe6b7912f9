/**
 * `vigie publish`: sends intake messages, one JSON object per line, to the daemon's stream. A line that violates the
 * contract is refused here, so that it does not become a dead letter. Members that the contract does not define have no
 * effect. They are reported or, with `--strict`, the line is refused.
 */

import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Config } from '../config.ts';
import { InFlight } from '../engine/actor/waiting.ts';
import { type Broker, connectBroker } from '../engine/broker/connection.ts';
import { brokerReason, isBrokerFull } from '../engine/broker/outage.ts';
import { publish } from '../engine/broker/publish.ts';
import { advertSubject, ensureAdvertsStream } from '../engine/broker/topology.ts';
import { decodeIntakeMessage, RejectedMessageError } from '../engine/domain/intake-message.ts';
import { nearestHint } from '../engine/domain/nearest-name.ts';
import type { UnknownMember } from '../engine/domain/unknown-members.ts';
import { natsUrlOf } from './connect.ts';
import { type Progress, type ProgressState, startProgress } from './progress.ts';
import { CommandError, cannotRead, InterruptedError, print } from './terminal.ts';

interface Summary {
  published: number;
  /** Number of messages that the stream already had under the same message id. */
  duplicates: number;
  refused: number;
}

const WINDOW = 256;
const WARNINGS_MAX = 50;

/**
 * `file` is null for standard input. `isStrict` refuses lines with undefined members. Throws `InterruptedError` if
 * `stopping` is aborted, `CommandError` if the file cannot be read or NATS is not configured or full, and errors of
 * NATS. Once it is connected to NATS, it always prints how many messages the stream has confirmed.
 */
export async function publishFile(
  config: Config,
  file: string | null,
  isStrict: boolean,
  stopping: AbortSignal,
): Promise<void> {
  const input = await openLines(file);
  const broker = await connectBroker({ url: await natsUrlOf(config), name: 'vigie publish' });
  const progress = startProgress(`publishing ${input.path}`, 'messages');
  const summary: Summary = { published: 0, duplicates: 0, refused: 0 };
  try {
    await ensureAdvertsStream(broker);
    await publishLines(broker, { ...input, isStrict, stopping, progress, summary });
  } catch (error) {
    throw isBrokerFull(error as Error) ? withoutRoom(error as Error) : error;
  } finally {
    await broker.close();
    input.stream.destroy();
    progress.end();
    print(`${summary.published} published, ${summary.duplicates} already in the stream, ${summary.refused} refused.`);
  }
  if (stopping.aborted) throw new InterruptedError(stopping, 'Publish the same lines again: none is recorded twice.');
  if (summary.refused > 0) process.exitCode = 1;
}

function withoutRoom(cause: Error): CommandError {
  const reason = brokerReason(cause).replace(/^NATS does not store the message: /, '');
  const remedy = 'Make room in its store or on its disk, then publish the same lines again: none is recorded twice.';
  return new CommandError(`NATS has no room (${reason}). ${remedy}`, { cause });
}

interface Work extends LineFile {
  readonly isStrict: boolean;
  readonly stopping: AbortSignal;
  readonly progress: Progress;
  readonly summary: Summary;
}

async function publishLines(broker: Broker, work: Work): Promise<void> {
  const { path, stream, stopping, progress, summary } = work;
  const reportUnknown = unknownMemberReporter(progress);
  const underWay = new InFlight();
  const failures: Error[] = [];
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY, signal: stopping });
  stream.once('error', (error) => {
    failures.push(cannotRead(path, error));
    lines.close();
  });
  let lineNumber = 0;
  for await (const line of lines) {
    lineNumber += 1;
    if (line.trim() === '') continue;
    if (failures.length > 0 || stopping.aborted) break;
    const { publication, reason, unknown } = readLine(line, work.isStrict);
    if (publication === null) {
      summary.refused += 1;
      progress.say(`Line ${lineNumber} was refused: ${reason}.`);
      continue;
    }
    for (const member of unknown) reportUnknown(lineNumber, member);
    if (underWay.count >= WINDOW) await underWay.oneEnded();
    const published = publish(broker, publication).then(({ isDuplicate }) => {
      summary[isDuplicate ? 'duplicates' : 'published'] += 1;
      progress.update(stateOf(work));
    });
    underWay.add(published.catch((error: Error) => failures.push(error)));
  }
  await underWay.ended();
  if (failures[0] !== undefined) throw failures[0];
}

function stateOf({ path, shareRead, summary }: Work): ProgressState {
  return {
    doing: `publishing ${path}`,
    count: summary.published + summary.duplicates,
    share: shareRead(),
  };
}

/** Reports the first fifty unknown members, each once, because every line is likely to have the same ones. */
function unknownMemberReporter(progress: Progress): (lineNumber: number, member: UnknownMember) => void {
  const reported = new Set<string>();
  return (lineNumber, member) => {
    if (reported.has(member.path) || reported.size === WARNINGS_MAX) return;
    reported.add(member.path);
    progress.say(`Line ${lineNumber}: ${describeUnknown(member)}.`);
  };
}

/**
 * The message id is the hash of the content, so that sending a file twice in a row changes nothing. If the line is
 * refused, `publication` is null and `reason` says why.
 */
function readLine(line: string, isStrict: boolean) {
  const bytes = Buffer.from(line);
  const unknown: UnknownMember[] = [];
  try {
    const { propertyUuid } = decodeIntakeMessage(bytes, (member) => unknown.push(member));
    const reason = unknown.map(describeUnknown).join('; ');
    if (isStrict && unknown.length > 0) return { publication: null, reason, unknown };
    const messageId = createHash('sha256').update(bytes).digest('hex');
    return { publication: { subject: advertSubject(propertyUuid), messageId, bytes }, reason, unknown };
  } catch (error) {
    if (error instanceof RejectedMessageError) return { publication: null, reason: error.message, unknown };
    throw error;
  }
}

function describeUnknown({ path, name, known }: UnknownMember): string {
  return `${path} is not a member of the contract and has no effect${nearestHint(name, known)}`;
}

/** The lines of the named file or of standard input. */
interface LineFile {
  readonly path: string;
  readonly stream: Readable;
  /** The share of the file that has been read, 0 to 1; null if unknown, as for a pipe. */
  readonly shareRead: () => number | null;
}

/** Opens the file, or standard input for null. Throws `CommandError` if the file cannot be read. */
async function openLines(path: string | null): Promise<LineFile> {
  if (path === null) return { path: 'standard input', stream: process.stdin, shareRead: () => null };
  const file = await open(path).catch((error: Error) => {
    throw cannotRead(path, error);
  });
  const stats = await file.stat();
  if (stats.isDirectory()) {
    await file.close();
    throw new CommandError(`Cannot read ${path}: it is a directory. Name a file.`);
  }
  const stream = file.createReadStream();
  return { path, stream, shareRead: () => (stats.size === 0 ? null : stream.bytesRead / stats.size) };
}
