/** Decodes text of an address, which anyone may have written: invalid encodings are kept as they are. */

/** Unlike `decodeURIComponent` it never throws. */
export function decoded(text: string): string {
  const value = text.replaceAll('&', '%26').replaceAll('+', '%2B');
  return new URLSearchParams(`text=${value}`).get('text') ?? '';
}
