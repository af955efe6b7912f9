/**
 * Bytes as text of which one bad character spoils one advert, not the file: what cannot be read is marked, and the
 * advert that holds it is reported. XML is completed: names of HTML, a bare `&` or `<`, and a character written
 * as two references (a surrogate pair) are what a browser shows.
 */

import { isUtf8 } from 'node:buffer';
import { decodeHTMLStrict } from 'entities';
import { SnapshotRefusedError } from './feed-row.ts';

/** Codes that Unicode assigns to no character: in place of bytes, and of what XML does not have. */
const DAMAGED = '\ufdd0';
const UNREADABLE = '\ufdd1';
export const DAMAGED_REASON = 'it holds bytes that are no character of the encoding';
const UNREADABLE_REASON = 'it holds a character or an entity that XML does not have';

/** Why a text cannot be read as it was meant; null: it can. */
export function textFault(text: string): string | null {
  if (text.includes(DAMAGED)) return DAMAGED_REASON;
  return text.includes(UNREADABLE) ? UNREADABLE_REASON : null;
}

const UTF8 = 'utf-8';

/** Throws `SnapshotRefusedError` when the text ends within a character. */
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
    throw new SnapshotRefusedError(`it is not ${encoding} throughout: it is cut off within a character`);
}

/** The bytes at the end that begin a character. */
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

/** Of an encoding that is wrong, most texts hold some. */
export function refuseWrongEncoding(damaged: number, all: number, encoding = UTF8): void {
  if (damaged * 2 > all)
    throw new SnapshotRefusedError(
      `it is not ${encoding} throughout (${damaged} of ${all} adverts): it is damaged, or the mapping's "encoding" is wrong`,
    );
}

/** Longer than any name of HTML, and than two references to a character. */
const REFERENCE_LENGTH_MAX = 40;
const REFERENCE = '&(?:#[xX]?[0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});';
const PAIR = '&#(?:[xX][dD][89abAB][0-9a-fA-F]{2}|5[56]\\d{3});&#(?:[xX][dD][c-fC-F][0-9a-fA-F]{2}|5[67]\\d{3});';
/** All that XML reads in another way than it was meant, and the sections within which it reads nothing. */
const READ_OTHERWISE = new RegExp(
  // oxlint-disable-next-line eslint/no-control-regex -- XML has no such characters
  `<!\\[CDATA\\[|<!--|${PAIR}|${REFERENCE}|&|<(?![\\p{L}_:/!?])|[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\ufffe\\uffff]`,
  'gu',
);
// oxlint-disable-next-line eslint/no-control-regex -- likewise
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;
const SECTION_ENDS: Readonly<Record<string, string>> = { '<![CDATA[': ']]>', '<!--': '-->' };

/** The same document as XML has it, in chunks. */
export async function* completedXml(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let open = '';
  let section = '';
  const complete = (text: string): string => {
    let done = '';
    for (let at = 0; at < text.length; ) {
      if (section !== '') {
        const end = text.indexOf(section, at);
        const until = end === -1 ? text.length : end + section.length;
        done += text.slice(at, until).replaceAll(CONTROLS, UNREADABLE);
        if (end !== -1) section = '';
        at = until;
        continue;
      }
      READ_OTHERWISE.lastIndex = at;
      const found = READ_OTHERWISE.exec(text);
      if (found === null) return done + text.slice(at);
      done += text.slice(at, found.index);
      section = SECTION_ENDS[found[0]] ?? '';
      done += section === '' ? meaningOf(found[0]) : found[0];
      at = found.index + found[0].length;
    }
    return done;
  };
  for await (const text of texts) {
    const whole = open + text;
    const end = wholeEnd(whole);
    open = whole.slice(end);
    yield complete(whole.slice(0, end));
  }
  yield complete(open);
}

const FIRST_OF_PAIR = /&#(?:[xX][dD][89abAB][0-9a-fA-F]{2}|5[56]\d{3});$/;

/** Before what the next chunk may continue: a reference, the second one of a pair, the beginning or end of a section. */
function wholeEnd(text: string): number {
  const from = Math.max(0, text.length - REFERENCE_LENGTH_MAX);
  const open = /[&<]/.exec(text.slice(from));
  if (open === null) return Math.max(0, text.length - 2);
  const end = from + open.index;
  const [first = ''] = FIRST_OF_PAIR.exec(text.slice(Math.max(0, end - REFERENCE_LENGTH_MAX), end)) ?? [];
  return end - first.length;
}

function meaningOf(written: string): string {
  if (written === '&') return '&amp;';
  if (written === '<') return '&lt;';
  if (!written.startsWith('&')) return UNREADABLE;
  const text = written.includes(';&') ? pairOf(written) : decodeHTMLStrict(written);
  if (text === written || /[\ufffd\p{Cs}]/u.test(text) || text.replaceAll(CONTROLS, '') === '') return UNREADABLE;
  return /^[<>&'"]$/.test(text) ? `&#${text.charCodeAt(0)};` : text;
}

function pairOf(written: string): string {
  const codes = written
    .split(';', 2)
    .map((each) => Number(each.replace(/^&#[xX]?/, (head) => (/x/i.test(head) ? '0x' : ''))));
  return String.fromCharCode(...codes);
}
