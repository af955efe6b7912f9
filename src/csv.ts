/** Cells of comma-separated values (RFC 4180). People open them in a spreadsheet: no text may become a formula. */

/** Signs that begin a formula, also full-width or after characters that a spreadsheet skips, and cell separators. */
const FORMULA = /^(?:[\t\r\n]|[\s\p{Default_Ignorable_Code_Point}]*[=+\-@＝＋－＠])/u;

export function csvCell(value: string): string {
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
