/** Cells of comma-separated values (RFC 4180). Spreadsheets open them, so no text may become a formula. */

/** Characters that begin a formula, full-width or after others that a spreadsheet skips, and cell separators. */
const FORMULA = /^(?:[\t\r\n]|[\s\p{Default_Ignorable_Code_Point}]*[=+\-@＝＋－＠])/u;

export function csvCell(value: string): string {
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
