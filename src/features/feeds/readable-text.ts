/**
 * Decodes bytes so that an unreadable character affects one advert, not the whole file: the character is marked, and
 * its advert is reported. In XML, HTML entities, a bare `&` or `<`, and surrogate pairs written as two references are
 * read as a browser shows them.
 */

import { isAscii, isUtf8 } from 'node:buffer';
import { decodeHTMLStrict } from 'entities';
import { SnapshotRefusedError } from './feed-row.ts';

/** Noncharacters of Unicode: `DAMAGED` for undecodable bytes, `UNREADABLE` for characters that XML does not allow. */
const DAMAGED = '\ufdd0';
const UNREADABLE = '\ufdd1';
export const DAMAGED_REASON = 'the advert contains bytes that are not valid in the encoding';
const UNREADABLE_REASON = 'the advert contains a character or an entity that XML does not allow';

/** Why the text cannot be read as intended; null if it can. */
export function textFault(text: string): string | null {
  if (text.includes(DAMAGED)) return DAMAGED_REASON;
  return text.includes(UNREADABLE) ? UNREADABLE_REASON : null;
}

export const UTF8 = 'utf-8';

/** Throws `SnapshotRefusedError` if text in UTF-8 ends within a character. */
export async function* decoded(bytes: AsyncIterable<Buffer>, encoding = UTF8): AsyncGenerator<string> {
  if (encoding !== UTF8) {
    const decoder = new TextDecoder(encoding);
    for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true });
    return;
  }
  let open: Buffer = Buffer.alloc(0);
  let isStart = true;
  for await (const chunk of bytes) {
    const whole = open.length === 0 ? chunk : Buffer.concat([open, chunk]);
    const end = whole.length - openLength(whole);
    open = whole.subarray(end);
    if (end === 0) continue;
    const text = utf8Text(whole.subarray(0, end));
    yield isStart ? text.replace(/^\uFEFF/, '') : text;
    isStart = false;
  }
  if (open.length > 0)
    throw new SnapshotRefusedError(`The file is not ${encoding} throughout: it is cut off within a character.`);
}

/** Passes bytes on. At the end, throws `SnapshotRefusedError` if they are UTF-8 beyond ASCII, so not in `encoding`. */
export async function* withoutUtf8(bytes: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  let open: Buffer = Buffer.alloc(0);
  let [isPlain, isUtf] = [true, true];
  for await (const chunk of bytes) {
    yield chunk;
    isPlain &&= isAscii(chunk);
    if (!isUtf) continue;
    const whole = Buffer.concat([open, chunk]);
    const end = whole.length - openLength(whole);
    isUtf = isUtf8(whole.subarray(0, end));
    open = whole.subarray(end);
  }
  if (isUtf && !isPlain && open.length === 0)
    throw new SnapshotRefusedError(`The file is UTF-8, not ${encoding}. Correct "encoding" in the mapping.`);
}

/** Number of bytes at the end that begin an incomplete character. */
function openLength(bytes: Buffer): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length++) {
    const byte = bytes[bytes.length - length] as number;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return length < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? length : 0;
  }
  return 0;
}

export function utf8Text(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return isUtf8(bytes) ? text : text.replaceAll('\ufffd', DAMAGED);
}

/** Throws `SnapshotRefusedError` if most adverts contain damaged characters, because the encoding is then wrong. */
export function refuseWrongEncoding(damaged: number, all: number, encoding: string): void {
  if (damaged * 2 > all)
    throw new SnapshotRefusedError(
      `The file is not ${encoding} throughout (${damaged} of ${all} adverts). It is damaged, or the mapping's "encoding" is wrong.`,
    );
}

/** Replaces a `<` that begins no tag. */
const LESS = '\ufdd2';

/** Replaces each bare `<` in chunks of XML, so that it is kept as text as in a browser. */
export async function* wholeTags(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let open = '';
  for await (const text of texts) {
    const whole = open + text;
    open = whole.endsWith('<') ? '<' : '';
    yield whole.slice(0, whole.length - open.length).replaceAll(/<(?![\p{L}_:/!?])/gu, LESS);
  }
  yield open.replace('<', LESS);
}

const PAIR = '&#(?:[xX][dD][89abAB][0-9a-fA-F]{2}|5[56]\\d{3});&#(?:[xX][dD][c-fC-F][0-9a-fA-F]{2}|5[67]\\d{3});';
const REFERENCES = new RegExp(`${PAIR}|&(?:#[xX]?[0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});`, 'g');
// oxlint-disable-next-line eslint/no-control-regex -- XML does not allow these characters
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** Text of XML as a browser shows it, with HTML entities and surrogate pairs written as two references. */
export function xmlText(written: string): string {
  return written.replaceAll(CONTROLS, UNREADABLE).replaceAll(REFERENCES, meaningOf).replaceAll(LESS, '<');
}

function meaningOf(written: string): string {
  const codes = written
    .split(';', 2)
    .map((each) => Number(each.replace(/^&#(x?)/i, (_, x: string) => (x ? '0x' : ''))));
  const text = written.includes(';&') ? String.fromCharCode(...codes) : decodeHTMLStrict(written);
  return text === written || /[\ufffd\p{Cs}]/u.test(text) || text.replaceAll(CONTROLS, '') === '' ? UNREADABLE : text;
}
