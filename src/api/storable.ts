/** JSON can carry text that PostgreSQL cannot store: U+0000 and halves of surrogate pairs. */

const UNSTORABLE = /[\0\p{Surrogate}]/u;

export function isStorable(text: string): boolean {
  return !UNSTORABLE.test(text);
}
