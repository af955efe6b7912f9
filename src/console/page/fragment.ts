/** Text that an address brings. Anybody may have written it: what is no encoded text is taken as it stands. */

/** Unlike `decodeURIComponent` it never throws. */
export function decoded(text: string): string {
  const value = text.replaceAll('&', '%26').replaceAll('+', '%2B');
  return new URLSearchParams(`text=${value}`).get('text') ?? '';
}
