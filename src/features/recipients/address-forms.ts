/**
 * Finds an address within a text. If it is certainly not part of another address, it is erased; otherwise it is only
 * shown. The patterns are for PostgreSQL's case-sensitive operators. After a full stop or hyphen, a capitalised word
 * begins a sentence or names a place, but a lower-case word continues the domain.
 */

/** The characters of an address before the @. */
const LOCAL = "A-Za-z0-9._+'-";
/** Characters that no address has, percent-encoded. */
const ENCODED_OTHER = '%(?:[01][0-9A-Fa-f]|2[0-689AaCcFf]|3[A-Fa-f]|40|5[B-Eb-e]|60|7[B-Fb-f]|[89A-Fa-f][0-9A-Fa-f])';
/** Escape sequences of JSON, in which contexts are stored. */
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

/** Finds the address where it is not part of another one, plain or percent-encoded, ignoring case. */
export function addressPattern(address: string): string {
  return `${BEFORE}${charactersOf(address)}${AFTER}`;
}

/** Also finds the address where it may be part of another one: behind a separator that addresses may contain. */
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

/** Finds a run: an address, plain or percent-encoded, and the characters before it that may belong to it. */
export const RUN_PATTERN = String.raw`(?:${ESCAPED})?([^\s"<>()\[\]{},;:=?&/\\]+(?:@|%40)[A-Za-z0-9.-]+)`;

const ADDRESS_LENGTH_MAX = 320;
/** More than real addresses and sentences need. Limits the work for texts that consist of separators. */
const CUTS_MAX = 12;

/** Every address that a run may contain, in lower case, and some that it does not contain. */
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
