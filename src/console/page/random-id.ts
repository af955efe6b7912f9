/** Random ids. `crypto.randomUUID` is missing where the page is served over plain http from another machine. */

const BYTES = 16;

export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
