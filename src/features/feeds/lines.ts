/** Bytes, however they come, as the lines that they are. */

import { SnapshotRefusedError } from './feed-row.ts';

/** An advert with thirty photos and texts in five languages has a hundredth of it. */
const LINE_BYTES_MAX = 4 * 1_024 * 1_024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export interface Line {
  readonly number: number;
  /** Without its end. */
  readonly bytes: Buffer;
  /** False: the file ends here, without the end of a line. */
  readonly isEnded: boolean;
}

/** Throws `SnapshotRefusedError` at a line that is no advert's. A byte order mark is left out. */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let length = 0;
  let number = 1;
  const taken = (isEnded: boolean): Line => {
    const whole = withoutMark(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts), number);
    parts = [];
    length = 0;
    return { number: number++, bytes: whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole, isEnded };
  };
  const add = (part: Buffer): void => {
    length += part.length;
    if (length > LINE_BYTES_MAX) throw new SnapshotRefusedError(`line ${number} has more than ${LINE_BYTES_MAX} bytes`);
    parts.push(part);
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      add(chunk.subarray(from, end));
      from = end + 1;
      yield taken(true);
    }
    if (from < chunk.length) add(chunk.subarray(from));
  }
  if (length > 0) yield taken(false);
}

function withoutMark(bytes: Buffer, number: number): Buffer {
  const hasMark = number === 1 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return hasMark ? bytes.subarray(3) : bytes;
}
