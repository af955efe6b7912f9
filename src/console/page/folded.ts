/** Ignores case, accents and invisible characters. */
export function folded(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
    .toLowerCase();
}
