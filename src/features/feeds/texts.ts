/**
 * Bytes, however they come, as the lines that they are; and texts of adverts as people wrote them in some program: HTML becomes
 * lines, entities become characters.
 */

import { decodeHTML } from 'entities';
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

/** Throws `SnapshotRefusedError` at a line that is too long for an advert. A byte order mark is left out. */
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

const LINE_ENDS = /<br\s*\/?>|<\/(?:p|div|li|tr|h[1-6])\s*>/gi;
const TAGS = /<\/?[a-z][^<>]*>|<!--[^<>]*-->/gi;
// oxlint-disable-next-line eslint/no-control-regex -- exactly those
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufeff]/g;

/** Lines are kept, at most one empty one between two. */
export function plainText(written: string): string {
  const text = /[<&]/.test(written) ? decodeHTML(written.replaceAll(LINE_ENDS, '\n').replaceAll(TAGS, '')) : written;
  return text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(CONTROLS, '')
    .replaceAll(/[ \t\u00a0]+/g, ' ')
    .replaceAll(/ ?\n ?/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

export function plainLine(written: string): string {
  return plainText(written).replaceAll('\n', ' ');
}

/** Null: no number. Digits may be grouped by blanks, and the decimal sign may be a comma. */
export function numberIn(written: string): number | null {
  const digits = written.replaceAll(/[\s\u00a0\u202f]/g, '').replace(',', '.');
  return /^[+-]?\d+(?:\.\d*)?$/.test(digits) ? Number(digits) : null;
}

/** Null: it cannot be followed. */
export function webAddress(written: string): string | null {
  const address = written.trim();
  return /^https?:\/\/[^\s/]/i.test(address) ? address : null;
}
