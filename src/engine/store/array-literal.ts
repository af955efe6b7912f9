/** Writes array parameters. The client library would escape every element, which is slow for long arrays. */

/** Elements that are written without quotes: identifiers, codes, numbers, instants. */
type Element = string | number | boolean | Date | null;

/** Returns PostgreSQL's `{a,b,…}`. */
export function arrayLiteral(values: readonly Element[]): string {
  return `{${values.map((value) => (value instanceof Date ? value.toISOString() : (value ?? 'null'))).join()}}`;
}

type ElementKey<T> = { readonly [K in keyof T]-?: T[K] extends Element ? K : never }[keyof T];

/** One array for each named member, with its values in all rows. */
export function memberArrays<T>(rows: readonly T[], ...names: readonly ElementKey<T>[]): readonly string[] {
  return names.map((name) => arrayLiteral(rows.map((row) => row[name] as Element)));
}

/** No JSON text contains it (RFC 8259, section 7). */
const RECORD_SEPARATOR = '\x1e';

/** Joins many JSON texts into one text parameter, which `jsonTexts` splits. */
export function joinedJson(texts: readonly string[]): string {
  return texts.join(RECORD_SEPARATOR);
}

/** As SQL, the array of the JSON texts in a parameter such as `$1`. */
export function jsonTexts(parameter: string): string {
  return `string_to_array(${parameter}, e'\\x1e')`;
}
