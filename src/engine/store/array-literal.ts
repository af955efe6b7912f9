/** Array parameters without the client library's escaping of every element, which is most of the cost of a long one. */

/** `{a,b,…}`. For what needs no quotes: identifiers, codes, numbers, instants as ISO 8601. */
export function arrayLiteral(values: readonly (string | number | boolean | null)[]): string {
  return `{${values.map((value) => value ?? 'null').join()}}`;
}

/** No JSON text contains it (RFC 8259, section 7). */
const RECORD_SEPARATOR = '\x1e';

/** A text parameter of many JSON texts, which `jsonTexts` takes apart. */
export function joinedJson(texts: readonly string[]): string {
  return texts.join(RECORD_SEPARATOR);
}

/** In SQL, the array of the JSON texts in a parameter such as `$1`. */
export function jsonTexts(parameter: string): string {
  return `string_to_array(${parameter}, e'\\x1e')`;
}
