/** Array parameters without the client's escaping of every element, which is most of the cost of a long one. */

/** `{a,b,…}`. For what needs no quotes: identifiers, numbers, instants. */
export function arrayLiteral(values: readonly (string | number | Date | null)[]): string {
  let instant: Date | null = null;
  let instantText = '';
  const textOf = (value: string | number | Date | null): string | number => {
    if (!(value instanceof Date)) return value ?? 'null';
    // All rows of a batch usually name the same one.
    if (value !== instant) [instant, instantText] = [value, value.toISOString()];
    return instantText;
  };
  return `{${values.map(textOf).join()}}`;
}
