/** Writes array parameters. The client library would escape every element, which is slow for long arrays. */

/** Elements that need no quotes: identifiers, codes, numbers, times. */
type Element = string | number | boolean | Date | null;

/** Returns an array in PostgreSQL's notation, `{a,b,…}`. */
export function arrayLiteral(values: readonly Element[]): string {
  return `{${values.map((value) => (value instanceof Date ? value.toISOString() : (value ?? 'null'))).join()}}`;
}

type ElementKey<T> = { readonly [K in keyof T]-?: T[K] extends Element ? K : never }[keyof T];

/** Returns an array literal for each named member, with the values of that member in all rows. */
export function memberArrays<T>(rows: readonly T[], ...names: readonly ElementKey<T>[]): readonly string[] {
  return names.map((name) => arrayLiteral(rows.map((row) => row[name] as Element)));
}

/** JSON text cannot contain this character (RFC 8259, section 7). */
const RECORD_SEPARATOR = '\x1e';

/** Joins texts that do not contain `RECORD_SEPARATOR`, such as JSON, into one parameter. `jsonTexts` splits it. */
export function joinedJson(texts: readonly string[]): string {
  return texts.join(RECORD_SEPARATOR);
}

/** SQL for the array of texts that `joinedJson` put into a parameter such as `$1`. */
export function jsonTexts(parameter: string): string {
  return `string_to_array(${parameter}, e'\\x1e')`;
}
