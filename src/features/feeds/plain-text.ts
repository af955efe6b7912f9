/** Texts of adverts as people wrote them in some program: HTML becomes lines, entities become characters. */

import { decodeHTML } from 'entities';

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
