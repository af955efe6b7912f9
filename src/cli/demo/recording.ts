/**
 * The market of the demonstration: recorded adverts and their changes, in an endless loop. Each pass adds new homes,
 * and changes them and the remaining homes of the previous pass. `npm run record:market` creates the file.
 */

import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { type Uuid, uuidOfHex } from '../../engine/domain/ids.ts';
import type { PointOfInterest } from '../../engine/domain/point-of-interest.ts';

/** An intake message (decisions, section 8) without times, and with numbers instead of UUIDs. */
interface RecordedMessage {
  readonly kind: 'upsert' | 'expire';
  /** True for the first message of a property. */
  readonly isNew?: true;
  readonly property: { readonly uuid: number };
  readonly advert: { readonly uuid: number; readonly title?: string; readonly price?: number };
}

export interface Recording {
  readonly points: readonly PointOfInterest[];
  readonly messages: readonly RecordedMessage[];
}

export type Played = ReturnType<typeof play> extends Generator<infer One> ? One : never;

export async function readRecording(): Promise<Recording> {
  const packed = await readFile(new URL('market.json.br', import.meta.url));
  return JSON.parse(String(await promisify(brotliDecompress)(packed))) as Recording;
}

/**
 * Plays the recording without end. Calls `now` for each message. `title` is the first one that was published for the
 * property; `message` is ready for `JSON.stringify`.
 */
export function* play({ messages }: Recording, now: () => Date) {
  const offered = new Map<number, { readonly since: Date; readonly title: string }>();
  for (;;) {
    for (const { kind, isNew, property, advert } of messages) {
      const at = now();
      if (isNew) offered.set(property.uuid, { since: at, title: advert.title ?? '' });
      const home = offered.get(property.uuid);
      // Skips, in the first pass, changes of homes that no earlier pass has published.
      if (home === undefined) continue;
      const { since, title } = home;
      const createdAt = since.toISOString();
      const message = {
        kind,
        crawledAt: at.toISOString(),
        property: { ...property, uuid: uuidSince(since, property.uuid), createdAt },
        advert: { ...advert, uuid: uuidSince(since, advert.uuid), createdAt },
      };
      yield { message, title };
    }
  }
}

/** A UUID in the format of version 7 (RFC 9562). */
function uuidSince(since: Date, number: number): Uuid {
  const [time, low] = [since.getTime(), number].map((part) => part.toString(16).padStart(12, '0'));
  return uuidOfHex(`${time}70008000${low}`);
}
