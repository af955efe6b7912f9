/** Texts may contain what PostgreSQL cannot store: U+0000 and halves of surrogate pairs. */

export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** The text with U+FFFD in their place, for text that must be stored in any case. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
