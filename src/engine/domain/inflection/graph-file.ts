/**
 * How `french.graph` holds the lemmas of forms: a notice, then a word graph. Each of its words is a form, a slash, and
 * what makes the lemma of the form: how many letters go, what comes instead, and a dot for each lemma of the same
 * spelling before it. So the forms of many verbs end alike, and share their arcs.
 */

import type { WordGraph } from './word-graph.ts';

/** Behind the form. */
export const LEMMAS = '/';
/** The integers that follow are little-endian, as is every platform that Node.js runs on here. */
const NOTICE_END = 0;
const INTEGER_BYTES = 4;
const NONE_GO = 'A'.charCodeAt(0);

export function encodeLemma(form: string, lemma: string, homograph: number): string {
  let kept = 0;
  while (kept < form.length && form[kept] === lemma[kept]) kept += 1;
  const gone = String.fromCharCode(NONE_GO + form.length - kept);
  return form + LEMMAS + gone + lemma.slice(kept) + '.'.repeat(homograph);
}

/** `code`: what follows `LEMMAS`. Lemmas that are not the same get different names. */
export function decodeLemma(form: string, code: string): string {
  return form.slice(0, form.length - (code.charCodeAt(0) - NONE_GO)) + code.slice(1);
}

/** `notice`: ASCII. */
export function writeGraphFile(notice: string, graph: WordGraph): Buffer {
  const length = Math.ceil((notice.length + 1) / INTEGER_BYTES) * INTEGER_BYTES;
  const head = Buffer.alloc(length, NOTICE_END);
  head.write(notice, 'latin1');
  return Buffer.concat([head, new Uint8Array(graph.buffer, graph.byteOffset, graph.byteLength)]);
}

export function readGraphFile(file: Uint8Array): WordGraph {
  const start = Math.ceil((file.indexOf(NOTICE_END) + 1) / INTEGER_BYTES) * INTEGER_BYTES;
  return new Uint32Array(Uint8Array.from(file.subarray(start)).buffer);
}
