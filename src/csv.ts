/** Cells of comma-separated values (RFC 4180) that people open in a spreadsheet: text of others must not be a formula. */

/** Signs that begin a formula, full-width ones too, also behind what a spreadsheet skips; and what it splits cells at. */
const FORMULA = /^(?:[\t\r\n]|[\s\p{Default_Ignorable_Code_Point}]*[=+\-@＝＋－＠])/u;

export function csvCell(value: string): string {
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
