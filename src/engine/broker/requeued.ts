/** A message that an operator sends again says in a header where it was before: what came after it must not be undone. */

const HEADER = 'Vigie-Requeued';

/** `stream`: its number, as the position of the intake counts streams. */
export function requeuedHeader(stream: number, sequence: number): Readonly<Record<string, string>> {
  return { [HEADER]: `${stream}/${sequence}` };
}

/** Its sequence in the stream of this number, if that is where it was. */
export function requeuedFrom(
  headers: Readonly<Record<string, string>>,
  stream: number,
): { readonly requeuedFrom?: number } {
  const [number, sequence] = (headers[HEADER] ?? '').split('/').map(Number);
  return number === stream && Number.isSafeInteger(sequence) ? { requeuedFrom: sequence as number } : {};
}
