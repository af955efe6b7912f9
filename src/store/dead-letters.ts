/** Messages that cannot be recorded, with everything needed to look into them and to send them again. */

import type { Queryable, Statement } from './database.ts';

export interface DeadLetter {
  readonly stream: string;
  readonly sequence: number;
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  readonly reason: string;
  /** The property, or the subject, of a message that a bug keeps from being recorded; null when the message is wrong. */
  readonly setAsideFor: string | null;
}

/** A redelivered message is kept once. Served by the unique index. */
export function insertDeadLetters(letters: readonly DeadLetter[]): readonly Statement[] {
  return letters.map((letter) => ({
    name: 'insert-dead-letter',
    text: `
      insert into dead_letters (stream, sequence, subject, headers, body, reason, set_aside_for)
      values ($1, $2, $3, $4, $5, $6, $7)
      on conflict (stream, sequence, body_hash) do nothing`,
    values: [
      letter.stream,
      letter.sequence,
      storable(letter.subject),
      storableHeaders(letter.headers),
      Buffer.from(letter.bytes),
      storable(letter.reason),
      letter.setAsideFor === null ? null : storable(letter.setAsideFor),
    ],
  }));
}

/** What was set aside within `windowMs`: how long ago, in milliseconds, the last time. Served by `dead_letters_set_aside`. */
export async function readSetAside(client: Queryable, windowMs: number): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ set_aside_for: string; age_ms: number }>(
    `select set_aside_for, extract(epoch from now() - max(received_at))::float8 * 1000 as age_ms from dead_letters
     where set_aside_for is not null and received_at > now() - $1 * interval '1 millisecond' group by set_aside_for`,
    [windowMs],
  );
  return new Map(rows.map(({ set_aside_for, age_ms }) => [set_aside_for, age_ms]));
}

/** PostgreSQL holds neither U+0000 nor half a surrogate pair in text; the body keeps its bytes. */
function storable(text: string): string {
  return Buffer.from(text).toString().replaceAll('\0', '\ufffd');
}

function storableHeaders(headers: DeadLetter['headers']): string {
  const entries = Object.entries(headers).map(([name, value]) => [storable(name), storable(value)]);
  return JSON.stringify(Object.fromEntries(entries));
}
