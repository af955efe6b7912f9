/** Texts may hold what PostgreSQL cannot store: U+0000 and halves of surrogate pairs. */

export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** The same with U+FFFD in their place, for what is kept whatever it holds. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
