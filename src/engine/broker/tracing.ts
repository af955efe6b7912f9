/**
 * The trace of an advert (W3C Trace Context): each webhook that follows carries what its crawler sent, as a service that
 * takes part in no trace forwards it.
 */

/** Version 00; a later version is read as far as this one goes. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;
/** Members by commas and perhaps blanks: a key, and printable characters. */
const TRACESTATE = /^[a-z0-9][\w\-*/@]*=[ -+\--<>-~]+(?:,[\t ]*[a-z0-9][\w\-*/@]*=[ -+\--<>-~]+)*$/;
const STATE_LENGTH_MAX = 512;

/**
 * From a message's headers, in upper or lower case; null when absent or malformed. A `tracestate` follows after a
 * blank; a malformed one, and one of more than 512 characters, is left out.
 */
export function traceparentOf(headers: Readonly<Record<string, string>>): string | null {
  const valueOf = (name: string) => Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1] ?? '';
  const [, ids, flags = ''] = TRACEPARENT.exec(valueOf('traceparent')) ?? [];
  if (ids === undefined) return null;
  // The other flags are a later version's.
  const traceparent = `00-${ids}-0${Number.parseInt(flags, 16) & 1}`;
  const state = valueOf('tracestate');
  return state.length <= STATE_LENGTH_MAX && TRACESTATE.test(state) ? `${traceparent} ${state}` : traceparent;
}

/** For the request; empty when there is no trace. */
export function traceHeaders(stored: string | null): { readonly traceparent?: string; readonly tracestate?: string } {
  const [traceparent, tracestate] = stored?.split(/ (.*)/) ?? [];
  if (traceparent === undefined) return {};
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}
