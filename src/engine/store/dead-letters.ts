/** Messages that cannot be recorded, with all data that operators need to analyse and requeue them. */

import { storable } from '../domain/text.ts';
import type { Queryable, Statement } from './database.ts';
import { statementShares } from './statement-share.ts';

export interface DeadLetter {
  readonly stream: string;
  readonly sequence: number;
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  readonly reason: string;
  /** The property or subject of a message that cannot be recorded because of a bug; null for an invalid message. */
  readonly failedKey: string | null;
}

/** Estimated bytes of a row without its body, headers and reason. */
const ROW_LENGTH = 512;

/**
 * Inserts dead letters. A redelivered message is stored only once. The bodies of all letters are one parameter, of
 * which each row takes a slice, because in JSON they would have to be escaped. Served by the unique index.
 */
export function insertDeadLetters(letters: readonly DeadLetter[]): readonly Statement[] {
  const written = letters.map((letter) => ({ bytes: letter.bytes, row: rowOf(letter) }));
  const lengthOf = ({ bytes, row }: (typeof written)[number]): number =>
    bytes.length + row.headers.length + row.reason.length + ROW_LENGTH;
  return statementShares(written, lengthOf).map((share) => ({
    name: 'insert-dead-letters',
    text: `
      insert into dead_letters (stream, stream_number, sequence, subject, headers, body, reason, failed_key)
      select stream, (select stream_number from intake_position), sequence, subject, headers::jsonb,
        substring($2::bytea from (sum(byte_count) over (order by place) - byte_count)::integer + 1 for byte_count),
        reason, failed_key
      from json_to_recordset($1) as written(place integer, stream text, sequence bigint, subject text, headers text,
        byte_count integer, reason text, failed_key text)
      on conflict (stream, sequence, body_hash) do nothing`,
    values: [
      JSON.stringify(share.map(({ row }, place) => ({ ...row, place }))),
      Buffer.concat(share.map(({ bytes }) => bytes)),
    ],
  }));
}

function rowOf({ stream, sequence, subject, headers, bytes, reason, failedKey }: DeadLetter) {
  return {
    stream,
    sequence,
    subject: storable(subject),
    headers: storableHeaders(headers),
    byte_count: bytes.length,
    reason: storable(reason),
    failed_key: failedKey === null ? null : storable(failedKey),
  };
}

/** Those `sequences` that are dead letters of the numbered stream (`NumberedStream`). Served by the unique index. */
export async function readDeadLettersOf(
  client: Queryable,
  stream: string,
  streamNumber: number,
  sequences: readonly number[],
): Promise<readonly number[]> {
  const { rows } = await client.query<{ sequence: string }>(
    'select distinct sequence from dead_letters where stream = $1 and stream_number = $2 and sequence = any($3)',
    [stream, streamNumber, sequences],
  );
  return rows.map(({ sequence }) => Number(sequence));
}

/** Milliseconds since the last failure of each key that failed within `windowMs`. Served by dead_letters_failed. */
export async function readFailedKeys(client: Queryable, windowMs: number): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ failed_key: string; age_ms: number }>(
    `select failed_key, extract(epoch from now() - max(received_at))::float8 * 1000 as age_ms from dead_letters
     where failed_key is not null and received_at > now() - $1 * interval '1 millisecond' group by failed_key`,
    [windowMs],
  );
  return new Map(rows.map(({ failed_key, age_ms }) => [failed_key, age_ms]));
}

function storableHeaders(headers: DeadLetter['headers']): string {
  const entries = Object.entries(headers).map(([name, value]) => [storable(name), storable(value)]);
  return JSON.stringify(Object.fromEntries(entries));
}
