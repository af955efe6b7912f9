/** Dead letters: list, show, requeue, purge. */

import { isOvertaken } from '../engine/domain/change.ts';
import { decodeIntakeMessage, type IntakeMessage, RejectedMessageError } from '../engine/domain/intake-message.ts';
import type { Database } from '../engine/store/database.ts';
import * as stored from '../engine/store/dead-letter-reads.ts';
import { readProperty } from '../engine/store/properties.ts';
import type { Rpcs } from './call.ts';
import { invalidArgument, notFound } from './errors.ts';
import type { DeadLetter, DeadLetterFilter } from './generated/vigie/admin/v1/dead_letters.ts';
import { deadLetterIdOfName, nameOf, timeRangeOf } from './names.ts';
import { cutPage, pageOf } from './paging.ts';

const NAMES_MAX = 1_000;
const REQUEUE_BATCH = 100;
const SAMPLE_MAX = 10;

export const DEAD_LETTER_RPCS = {
  async listDeadLetters(request, { database }) {
    const filter = filterOf(request.filter);
    const page = pageOf(request, filter);
    const belowId = page.cursor === null ? null : Number(page.cursor);
    const rows = await stored.listDeadLetters(database, filter, belowId, page.size + 1);
    const { rows: letters, nextPageToken } = cutPage(rows, page, filter, ({ id }) => String(id));
    return { deadLetters: letters.map(letterMessage), nextPageToken };
  },
  async getDeadLetter({ name }, { database }) {
    const filter = { ...stored.ALL_DEAD_LETTERS, ids: [deadLetterIdOfName('name', name)] };
    const [letter] = await stored.readDeadLettersAbove(database, filter, 0, 1);
    if (letter === undefined) throw notFound('DeadLetter', name);
    return { ...letterMessage(letter), body: letter.body };
  },
  /**
   * Publishes the messages before it deletes the rows, because in the opposite order a crash would lose them. After a
   * crash, the next call publishes them again with the same message ids, and the stream drops copies within its
   * duplicate window. Letters whose copy is recorded by then count as overtaken.
   */
  async requeueDeadLetters(request, { database, republish }, { signal }) {
    const filter = conditionsOf(request.filter);
    let [requeuedCount, overtakenCount] = [0, 0];
    // A letter that is rejected again gets a higher id, so only letters that exist now are processed.
    const [newest] = await stored.listDeadLetters(database, filter, null, 1);
    for (let aboveId = 0; newest !== undefined; ) {
      signal.throwIfAborted();
      const letters = (await stored.readDeadLettersAbove(database, filter, aboveId, REQUEUE_BATCH)).filter(
        ({ id }) => id <= newest.id,
      );
      const requeuedIds: number[] = [];
      for (const letter of letters) {
        if (await isLetterOvertaken(letter, database)) continue;
        requeuedIds.push(letter.id);
        if (!request.validateOnly) await republish(letter);
      }
      if (requeuedIds.length > 0 && !request.validateOnly) {
        await stored.deleteDeadLetters(database, { ...filter, ids: requeuedIds });
      }
      requeuedCount += requeuedIds.length;
      overtakenCount += letters.length - requeuedIds.length;
      if (letters.length < REQUEUE_BATCH) break;
      aboveId = letters.at(-1)?.id ?? aboveId;
    }
    return { requeuedCount, overtakenCount };
  },
  async purgeDeadLetters({ filter: message, force }, { database }) {
    const filter = conditionsOf(message);
    if (force) return { purgeCount: await stored.deleteDeadLetters(database, filter), purgeSample: [] };
    const [purgeCount, sample] = await Promise.all([
      stored.countDeadLetters(database, filter),
      stored.listDeadLetters(database, filter, null, SAMPLE_MAX),
    ]);
    return { purgeCount, purgeSample: sample.map(({ id }) => nameOf.deadLetter(id)) };
  },
} satisfies Rpcs;

/** True if a later message of the same advert was recorded, even if it is a requeued copy of the letter. */
async function isLetterOvertaken(letter: stored.DeadLetterRead & { readonly body: Buffer }, database: Database) {
  const message = understood(letter.body);
  const last = message && (await readProperty(database, message.propertyUuid))?.crawls[message.advertUuid];
  if (!message || !last) return false;
  // Of messages with the same `crawledAt`, only those with a higher sequence are later.
  const requeuedFrom = letter.sequence + 1;
  const origin = { stream: letter.streamNumber, sequence: Number.POSITIVE_INFINITY, requeuedFrom };
  return isOvertaken(last, message.crawledAt, origin);
}

function understood(body: Buffer): IntakeMessage | null {
  try {
    return decodeIntakeMessage(body);
  } catch (error) {
    if (error instanceof RejectedMessageError) return null;
    throw error;
  }
}

function filterOf(message: DeadLetterFilter | undefined): stored.DeadLetterFilter {
  if (message === undefined) return stored.ALL_DEAD_LETTERS;
  if (message.names.length > NAMES_MAX) throw invalidArgument('filter.names', `must have at most ${NAMES_MAX} names`);
  return {
    ids: message.names.map((name) => deadLetterIdOfName('filter.names', name)),
    subject: message.subject === '' ? null : message.subject,
    reason: message.reason === '' ? null : message.reason,
    ...timeRangeOf(message),
  };
}

/** Calls that may change rows must set at least one condition. */
function conditionsOf(message: DeadLetterFilter | undefined): stored.DeadLetterFilter {
  const filter = filterOf(message);
  const { ids, ...others } = filter;
  if (ids.length === 0 && Object.values(others).every((condition) => condition === null)) {
    throw invalidArgument('filter', 'must set at least one condition');
  }
  return filter;
}

function letterMessage(letter: stored.DeadLetterRead): DeadLetter {
  return {
    name: nameOf.deadLetter(letter.id),
    stream: letter.stream,
    sequence: letter.sequence,
    subject: letter.subject,
    reason: letter.reason,
    receiveTime: letter.receivedAt,
    bodyBytes: letter.bodyBytes,
    headers: { ...letter.headers },
    body: Buffer.alloc(0),
  };
}
