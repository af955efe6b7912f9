/**
 * The trace of an advert, from the header that its crawler sent to the header that a webhook carries (W3C Trace
 * Context). Spans are made through the OpenTelemetry API: without an SDK they cost nothing and the crawler's context
 * passes through unchanged; with one, each attempt is a span of its own.
 */

import { context, createTraceState, type SpanContext, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { AttemptOutcome } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';

/** Version 00; a later version is read as far as this one goes. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;

const tracer = trace.getTracer('vigie');

const STATE_LENGTH_MAX = 512;

/**
 * From a message's headers, in upper or lower case; null when absent or malformed. A `tracestate` follows after a
 * blank; one of more than 512 characters is left out.
 */
export function traceparentOf(headers: Readonly<Record<string, string>>): string | null {
  const valueOf = (name: string) => Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  const [traceparent, state = ''] = [valueOf('traceparent'), valueOf('tracestate')];
  const context = traceparent === undefined ? null : spanContextOf(traceparent);
  if (context === null) return null;
  const tracestate = state.length > STATE_LENGTH_MAX ? '' : createTraceState(state).serialize();
  return tracestate === '' ? format(context) : `${format(context)} ${tracestate}`;
}

export interface TracedAttempt {
  /** For the request; empty when there is no trace. */
  readonly headers: { readonly traceparent?: string; readonly tracestate?: string };
  end(outcome: AttemptOutcome): void;
}

/** An attempt at a delivery; `attemptCount` has it counted. */
export interface Attempted {
  readonly id: Uuid;
  readonly attemptCount: number;
  readonly traceparent: string | null;
}

export function traceAttempt(delivery: Attempted): TracedAttempt {
  const [traceparent = '', tracestate = ''] = delivery.traceparent?.split(/ (.*)/) ?? [];
  const parent = spanContextOf(traceparent, tracestate);
  const span = tracer.startSpan(
    'webhook attempt',
    {
      kind: SpanKind.CLIENT,
      attributes: { 'vigie.delivery.id': delivery.id, 'vigie.delivery.attempt': delivery.attemptCount },
    },
    parent === null ? context.active() : trace.setSpanContext(context.active(), parent),
  );
  const spanContext = span.spanContext();
  const state = spanContext.traceState?.serialize() ?? '';
  const headers = { traceparent: format(spanContext), ...(state !== '' && { tracestate: state }) };
  return {
    headers: trace.isSpanContextValid(spanContext) ? headers : {},
    end({ statusCode, error }) {
      if (statusCode !== null) span.setAttribute('http.response.status_code', statusCode);
      if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
      span.end();
    },
  };
}

function spanContextOf(traceparent: string, tracestate = ''): SpanContext | null {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  const traceFlags = Number.parseInt(flags, 16) & 0x01;
  return { traceId, spanId, traceFlags, isRemote: true, traceState: createTraceState(tracestate) };
}

function format({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
