/** Random histories of a property in which most messages repeat the previous message about the same advert. */

import fc from 'fast-check';
import type { MessageOrigin } from '../../src/engine/domain/change.ts';
import { type Uuid, uuidOf } from '../../src/engine/domain/ids.ts';
import type { IntakeMessage } from '../../src/engine/domain/intake-message.ts';
import { expireAt, minute, upsertAt } from './adverts.ts';

export interface SentMessage {
  readonly message: IntakeMessage;
  readonly origin: MessageOrigin;
}

const ADVERTS = [1, 2, 3].map((number) => uuidOf(`ad000000-0000-4000-8000-00000000000${number}`));

const step = fc.record({
  advert: fc.nat({ max: ADVERTS.length - 1 }),
  isRepeated: fc.nat({ max: 4 }).map((n) => n > 0),
  isExpiry: fc.nat({ max: 3 }).map((n) => n === 0),
  price: fc.constantFrom(null, 100_000, 120_000, 200_000),
  /** Minutes after the crawl of the previous message: mostly 1, sometimes 0 or negative. */
  later: fc.constantFrom(1, 1, 1, 1, 0, -1, -3),
  /** Mostly the next number of the stream, sometimes one that was read before. */
  ahead: fc.constantFrom(1, 1, 1, 1, 1, -1),
  isNewStream: fc.nat({ max: 19 }).map((n) => n === 0),
  isRequeued: fc.nat({ max: 9 }).map((n) => n === 0),
});

/** Messages about at most three adverts of `propertyUuid`, in the order in which they are read. */
export function recrawlHistory(propertyUuid: Uuid, lengthMax: number): fc.Arbitrary<readonly SentMessage[]> {
  return fc.array(step, { minLength: 1, maxLength: lengthMax, size: 'max' }).map((steps) => {
    const last = new Map<Uuid, IntakeMessage>();
    let [at, stream, newest] = [10, 1, 0];
    return steps.map(({ advert, isRepeated, isExpiry, price, later, ahead, isNewStream, isRequeued }) => {
      const advertUuid = ADVERTS[advert] as Uuid;
      at = Math.max(0, at + later);
      if (isNewStream) [stream, newest] = [stream + 1, 0];
      newest = Math.max(newest, newest + ahead);
      const sequence = Math.max(1, ahead > 0 ? newest : newest + ahead);
      const ids = { propertyUuid, advertUuid };
      const repeated = isRepeated ? last.get(advertUuid) : undefined;
      const other = isExpiry ? expireAt(at, ids) : upsertAt(at, { ...ids, advert: { price, surface: 50 } });
      const message = repeated === undefined ? other : { ...repeated, crawledAt: minute(at) };
      last.set(advertUuid, message);
      return {
        message,
        origin: { stream, sequence, ...(isRequeued ? { requeuedFrom: Math.max(1, sequence - 1) } : {}) },
      };
    });
  });
}
