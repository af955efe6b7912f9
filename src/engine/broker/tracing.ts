/**
 * The trace of an advert, from the header that its crawler sent to the header that a webhook carries (W3C Trace
 * Context). Spans are made through the OpenTelemetry API: without an SDK they cost nothing and the crawler's context
 * passes through unchanged; with one, each attempt is a span of its own.
 */

import { context, type SpanContext, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { AttemptOutcome } from '../domain/delivery.ts';
import type { Uuid } from '../domain/ids.ts';

/** Version 00; a later version is read as far as this one goes. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;

const tracer = trace.getTracer('vigie');

/** From a message's headers, in upper or lower case; null when absent or malformed. */
export function traceparentOf(headers: Readonly<Record<string, string>>): string | null {
  const name = Object.keys(headers).find((key) => key.toLowerCase() === 'traceparent');
  const value = name === undefined ? undefined : headers[name];
  const context = value === undefined ? null : spanContextOf(value);
  return context === null ? null : format(context);
}

export interface TracedAttempt {
  /** For the request; empty when there is no trace. */
  readonly headers: { readonly traceparent?: string };
  end(outcome: AttemptOutcome): void;
}

/** An attempt at a delivery; `attemptCount` has it counted. */
export interface Attempted {
  readonly id: Uuid;
  readonly attemptCount: number;
  readonly traceparent: string | null;
}

export function traceAttempt(delivery: Attempted): TracedAttempt {
  const parent = delivery.traceparent === null ? null : spanContextOf(delivery.traceparent);
  const span = tracer.startSpan(
    'webhook attempt',
    {
      kind: SpanKind.CLIENT,
      attributes: { 'vigie.delivery.id': delivery.id, 'vigie.delivery.attempt': delivery.attemptCount },
    },
    parent === null ? context.active() : trace.setSpanContext(context.active(), parent),
  );
  const spanContext = span.spanContext();
  return {
    headers: trace.isSpanContextValid(spanContext) ? { traceparent: format(spanContext) } : {},
    end({ statusCode, error }) {
      if (statusCode !== null) span.setAttribute('http.response.status_code', statusCode);
      if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
      span.end();
    },
  };
}

function spanContextOf(traceparent: string): SpanContext | null {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 0x01, isRemote: true };
}

function format({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
