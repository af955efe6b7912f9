/** Array parameters without the client's escaping of every element, which is most of the cost of a long one. */

/** `{a,b,…}`. For what needs no quotes: identifiers, numbers, instants. */
export function arrayLiteral(values: readonly (string | number | Date | null)[]): string {
  return `{${values.map((value) => (value instanceof Date ? value.toISOString() : (value ?? 'null'))).join()}}`;
}
