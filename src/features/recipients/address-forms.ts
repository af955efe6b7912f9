/**
 * An address within a text: where it surely stands as itself, and is erased, and where it may be a part of another address,
 * and is only shown. Patterns are for PostgreSQL and heed the case of letters: a title-case word behind a full stop or hyphen
 * begins a sentence or names a place, a lower-case one continues the domain.
 */

/** Of the part of an address before its @. */
const LOCAL = "A-Za-z0-9._+'-";
/** Characters that no address has, percent-encoded. */
const ENCODED_OTHER = '%(?:[01][0-9A-Fa-f]|2[0-689AaCcFf]|3[A-Fa-f]|40|5[B-Eb-e]|60|7[B-Fb-f]|[89A-Fa-f][0-9A-Fa-f])';
/** Of JSON: a context is stored as such. */
const ESCAPED = '\\\\(?:[bfnrt]|u[0-9A-Fa-f]{4})';
const OUTSIDE = `(?:^|[^${LOCAL}]|${ENCODED_OTHER}|${ESCAPED})`;
/** French words that an apostrophe joins to the next one. */
const ELIDED = `(?:[CDJLMNSTcdjlmnst]|${anyCase('(?:jus|lors|puis|quoi)?qu')})`;
const BEFORE = `(?<=${OUTSIDE}(?:${ELIDED}?(?:'|%27)+|[.])?|[.][.])`;
const AFTER = [
  '(?![A-Za-z0-9]',
  '-(?:[a-z0-9-]|[A-Z][^a-z])[A-Za-z0-9-]*[.][A-Za-z0-9]',
  '(?:[.]|%2[Ee])(?:[a-z0-9]|[A-Z][A-Z0-9-]))',
].join('|');

/** Finds the address as itself, as it is or percent-encoded, in any case. */
export function addressPattern(address: string): string {
  return `${BEFORE}${charactersOf(address)}${AFTER}`;
}

/** Finds it as well where it may be a part of another address: behind a separator that addresses have. */
export function partPattern(address: string): string {
  return `(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}|${ESCAPED}))${charactersOf(address)}(?![A-Za-z0-9])`;
}

function charactersOf(address: string): string {
  const characters = Array.from(address, (character) => {
    if (/\w/.test(character)) return anyCase(character);
    return `(?:[${character}]|${anyCase(`%${character.charCodeAt(0).toString(16).padStart(2, '0')}`)})`;
  });
  return characters.join('');
}

function anyCase(pattern: string): string {
  return pattern.replace(/[a-z]/gi, (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`);
}

/** A run of characters in a text that ends with an address, as it is or percent-encoded, with what may belong to it. */
export const RUN_PATTERN = String.raw`(?:${ESCAPED})?([^\s"<>()\[\]{},;:=?&/\\]+(?:@|%40)[A-Za-z0-9.-]+)`;

const ADDRESS_LENGTH_MAX = 320;
/** What addresses and sentences have is less; it bounds the work of texts that are made of separators. */
const CUTS_MAX = 12;

/** Every address that a run may have, in lower case, and some that it has not. */
export function addressesIn(run: string): readonly string[] {
  const decoded = run.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) =>
    Buffer.from(encoded.replaceAll('%', ''), 'hex').toString(),
  );
  const text = decoded.toLowerCase();
  const at = text.lastIndexOf('@');
  const before = text.slice(Math.max(0, at - ADDRESS_LENGTH_MAX), at);
  const local = before.split(/[^a-z0-9._+'-]/).at(-1) ?? '';
  const domain = text.slice(at + 1, at + ADDRESS_LENGTH_MAX);
  const starts = [0, ...[...local.matchAll(/'|\.\./g)].map(({ index, 0: cut }) => index + cut.length)];
  const ends = [domain.length, ...[...domain.matchAll(/[.-]/g)].map(({ index }) => index)];
  const locals = starts.slice(-CUTS_MAX).map((start) => local.slice(start).replace(/^\.+/, ''));
  return ends.slice(0, CUTS_MAX).flatMap((end) => locals.map((part) => `${part}@${domain.slice(0, end)}`));
}
