/** Messages that cannot be understood, with everything needed to look into them and to send them again. */

import type { Statement } from './database.ts';

export interface DeadLetter {
  readonly stream: string;
  readonly sequence: number;
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  readonly reason: string;
}

/** A redelivered message is kept once. Served by the unique index. */
export function insertDeadLetters(letters: readonly DeadLetter[]): readonly Statement[] {
  return letters.map((letter) => ({
    name: 'insert-dead-letter',
    text: `
      insert into dead_letters (stream, sequence, subject, headers, body, reason)
      values ($1, $2, $3, $4, $5, $6)
      on conflict (stream, sequence, body_hash) do nothing`,
    values: [
      letter.stream,
      letter.sequence,
      storable(letter.subject),
      storableHeaders(letter.headers),
      Buffer.from(letter.bytes),
      storable(letter.reason),
    ],
  }));
}

/** PostgreSQL holds neither U+0000 nor half a surrogate pair in text; the body keeps its bytes. */
function storable(text: string): string {
  return Buffer.from(text).toString().replaceAll('\0', '\ufffd');
}

function storableHeaders(headers: DeadLetter['headers']): string {
  const entries = Object.entries(headers).map(([name, value]) => [storable(name), storable(value)]);
  return JSON.stringify(Object.fromEntries(entries));
}
