/**
 * A message that an operator requeues names its former position in a header: later messages must not be undone by it.
 */

const HEADER = 'Vigie-Requeued';

/** `stream`: its number in the intake position. */
export function requeuedHeader(stream: number, sequence: number): Readonly<Record<string, string>> {
  return { [HEADER]: `${stream}/${sequence}` };
}

/** Its former sequence, if it was in the stream of this number. */
export function requeuedFrom(
  headers: Readonly<Record<string, string>>,
  stream: number,
): { readonly requeuedFrom?: number } {
  const [number, sequence] = (headers[HEADER] ?? '').split('/').map(Number);
  return number === stream && Number.isSafeInteger(sequence) ? { requeuedFrom: sequence as number } : {};
}
