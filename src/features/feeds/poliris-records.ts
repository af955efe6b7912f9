/**
 * The records of a Poliris file (`"value"!#"value"!#…`, one a line): values may hold line ends, so a record ends where
 * it has all its fields. The encoding is each record's own business: software writes Windows-1252 or UTF-8, and texts of
 * the latter are hardly ever texts of the former.
 */

import { isUtf8 } from 'node:buffer';
import { SnapshotRefusedError } from './feed-row.ts';
import { type Line, linesOf } from './lines.ts';

/** Of version 4.1, the oldest still about; real exports have one or two more. */
export const POLIRIS_FIELDS = 333;
const SEPARATOR = '"!#"';
const QUOTE = 0x22;
const LINE_END = Buffer.from('\n');
const RECORD_LINES_MAX = 1_000;
const RECORD_BYTES_MAX = 4 * 1_024 * 1_024;

const windows1252 = new TextDecoder('windows-1252');
/** Without it, Node.js 20 takes the encoding for Latin-1, and loses apostrophes and euros. */
const STREAMED = { stream: true };

export interface PolirisRecord {
  /** Where it begins. */
  readonly line: number;
  /** From 0: field n of the format is the one at n − 1. Of a record that is not whole, those before its end. */
  readonly fields: readonly string[];
  /** Null: it can be read. */
  readonly fault: string | null;
}

/** Throws `SnapshotRefusedError` when it is another format, or is cut off. */
export async function* polirisRecords(bytes: AsyncIterable<Buffer>): AsyncGenerator<PolirisRecord> {
  let open: Line[] = [];
  let openBytes = 0;
  let separators = 0;
  let fieldsUsual = 0;
  const close = (isBroken: boolean): PolirisRecord => {
    const record = recordOf(open, isBroken, fieldsUsual);
    if (record.fault === null) fieldsUsual ||= record.fields.length;
    [open, openBytes, separators] = [[], 0, 0];
    return record;
  };
  for await (const line of linesOf(bytes)) {
    if (open.length === 0 && line.bytes.length < POLIRIS_FIELDS && line.bytes.every(isBlank)) continue;
    const separatorsHere = separatorsIn(line.bytes);
    if (open.length > 0 && isWhole(line, line, separatorsHere)) yield close(true);
    open.push(line);
    openBytes += line.bytes.length;
    separators += separatorsHere;
    if (fieldsUsual === 0 && separators === 0)
      throw new SnapshotRefusedError(`it is not Poliris: line ${line.number} has no fields joined by !#`);
    if (isWhole(open[0] as Line, line, separators)) {
      const record = close(false);
      if (!line.isEnded && record.fields.length < fieldsUsual) throw cutOff(line);
      yield record;
    } else if (open.length > RECORD_LINES_MAX || openBytes > RECORD_BYTES_MAX)
      throw new SnapshotRefusedError(`the record that begins at line ${(open[0] as Line).number} has no end`);
  }
  if (open.length > 0) throw cutOff(open.at(-1) as Line);
}

/** Also the mark that DOS puts at the end of a text. */
function isBlank(byte: number): boolean {
  return byte <= 0x20 && byte !== 0;
}

/** All its fields, and nothing behind them. */
function isWhole(first: Line, last: Line, separators: number): boolean {
  if (separators < POLIRIS_FIELDS - 1 || first.bytes[0] !== QUOTE) return false;
  return /"(?:!#)?\s*$/.test(last.bytes.toString('latin1', Math.max(0, last.bytes.length - 16)));
}

function separatorsIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(SEPARATOR); at !== -1; at = bytes.indexOf(SEPARATOR, at + 3)) count += 1;
  return count;
}

function recordOf(lines: readonly Line[], isBroken: boolean, fieldsUsual: number): PolirisRecord {
  const bytes = Buffer.concat(lines.flatMap((each, at) => (at === 0 ? [each.bytes] : [LINE_END, each.bytes])));
  const text = isUtf8(bytes) ? bytes.toString('utf8') : windows1252.decode(bytes, STREAMED);
  const inner = text.replace(/!#\s*$/, '').replace(/^"/, '');
  const fields = inner.replace(/"\s*$/, '').split(SEPARATOR);
  const { number: line } = lines[0] as Line;
  const isTwo = lines.length > 1 && fieldsUsual > 0 && fields.length > fieldsUsual;
  if (isTwo) return { line, fields: [], fault: 'records run into each other' };
  return { line, fields, fault: isBroken ? `it ends after ${fields.length} fields` : faultOf(bytes) };
}

function faultOf(bytes: Buffer): string | null {
  if (bytes.includes(0)) return 'it holds a NUL, as what a disk has lost does';
  if (isUtf8(bytes)) return null;
  // What Windows-1252 has for an accent is hardly ever followed by what continues a character of UTF-8.
  const { whole, broken } = sequencesOf(bytes.toString('latin1'));
  return whole > broken ? 'its bytes are neither UTF-8 nor Windows-1252' : null;
}

/** Characters of UTF-8 beyond ASCII, whole ones and bytes that belong to none. */
function sequencesOf(latin1: string): { readonly whole: number; readonly broken: number } {
  let whole = 0;
  const rest = latin1.replaceAll(/[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g, () => {
    whole += 1;
    return '';
  });
  return { whole, broken: rest.match(/[\x80-\xff]/g)?.length ?? 0 };
}

function cutOff({ number }: Line): SnapshotRefusedError {
  return new SnapshotRefusedError(`it is cut off: line ${number}, the last one, is not whole`);
}
