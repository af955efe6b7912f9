/** Decodes text from an address, which anyone may have written. Invalid encodings are kept unchanged. */

/** Unlike `decodeURIComponent` it never throws. */
export function decoded(text: string): string {
  const value = text.replaceAll('&', '%26').replaceAll('+', '%2B');
  return new URLSearchParams(`text=${value}`).get('text') ?? '';
}
