/** Decodes text from an address, which may be invalid, because readers type addresses too. */

/** Unlike `decodeURIComponent`, this function never throws. */
export function decoded(text: string): string {
  const value = text.replaceAll('&', '%26').replaceAll('+', '%2B');
  return new URLSearchParams(`text=${value}`).get('text') ?? '';
}
