/**
 * The trace of an advert (W3C Trace Context): each resulting webhook carries the trace that the crawler sent. Vigie
 * only forwards it, and adds no spans.
 */

/** Version 00. Of a later version, only the fields of version 00 are read. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;
/** Members separated by commas and optional whitespace; each has a key and a value of printable characters. */
const TRACESTATE = /^[a-z0-9][\w\-*/@]*=[ -+\--<>-~]+(?:,[\t ]*[a-z0-9][\w\-*/@]*=[ -+\--<>-~]+)*$/;
const STATE_LENGTH_MAX = 512;

/**
 * Reads the trace from a message's headers, ignoring the case of their names; null when absent or malformed. A
 * `tracestate` is appended after a space, unless it is malformed or longer than 512 characters.
 */
export function traceparentOf(headers: Readonly<Record<string, string>>): string | null {
  const valueOf = (name: string) => Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1] ?? '';
  const [, ids, flags = ''] = TRACEPARENT.exec(valueOf('traceparent')) ?? [];
  if (ids === undefined) return null;
  // Keeps only the flag `sampled`: the others belong to later versions.
  const traceparent = `00-${ids}-0${Number.parseInt(flags, 16) & 1}`;
  const state = valueOf('tracestate');
  return state.length <= STATE_LENGTH_MAX && TRACESTATE.test(state) ? `${traceparent} ${state}` : traceparent;
}

/** Headers for the request; empty when there is no trace. */
export function traceHeaders(stored: string | null): { readonly traceparent?: string; readonly tracestate?: string } {
  const [traceparent, tracestate] = stored?.split(/ (.*)/) ?? [];
  if (traceparent === undefined) return {};
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}
