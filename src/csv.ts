/** Cells of comma-separated values (RFC 4180). Spreadsheets open them, so no text may become a formula. */

/** Matches texts that a spreadsheet may read as a formula: it accepts full-width signs, and skips some characters. */
const FORMULA = /^(?:[\t\r\n]|[\s\p{Default_Ignorable_Code_Point}]*[=+\-@＝＋－＠])/u;

export function csvCell(value: string): string {
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
