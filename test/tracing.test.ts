/** The trace headers of a crawler's message, as they are read and passed on (W3C Trace Context). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { traceHeaders, traceparentOf } from '../src/engine/broker/tracing.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test('a well-formed traceparent is accepted, with a header name in any case', () => {
  assert.equal(traceparentOf({ Traceparent: `00-${TRACE}-${SPAN}-01` }), `00-${TRACE}-${SPAN}-01`);
  assert.equal(traceparentOf({ traceparent: `00-${TRACE}-${SPAN}-00` }), `00-${TRACE}-${SPAN}-00`);
});

test('only the fields of this version are read from a later version', () => {
  assert.equal(
    traceparentOf({ traceparent: `cc-${TRACE}-${SPAN}-09-what-the-future-brings` }),
    `00-${TRACE}-${SPAN}-01`,
  );
});

test('any other value is not a trace', () => {
  const wrong = [
    '',
    'nonsense',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01\r\nx-injected: 1`,
  ];
  for (const traceparent of wrong) assert.equal(traceparentOf({ traceparent }), null, traceparent);
  assert.equal(traceparentOf({}), null);
});

test('a valid trace state of up to 512 characters is passed on, but not without a trace', () => {
  const traceparent = `00-${TRACE}-${SPAN}-01`;
  const passedOn = (headers: Record<string, string>) => traceHeaders(traceparentOf(headers));
  for (const tracestate of [
    'agency=t61rcWkgMzE,rojo=00f067aa0ba902b7',
    'a=${TRACE}',
    't@v=a b',
    'a=b, c=d',
    `a=${'x'.repeat(510)}`,
  ])
    assert.deepEqual(passedOn({ traceparent, Tracestate: tracestate }), { traceparent, tracestate });
  for (const wrong of [
    '',
    `a=${'x'.repeat(511)}`,
    'nonsense\r\nx-injected: 1',
    'a=b\r\nx-injected: 1',
    'a=b,',
    'a=b,c',
    'a=é',
  ])
    assert.deepEqual(passedOn({ traceparent, tracestate: wrong }), { traceparent }, wrong);
  assert.equal(traceparentOf({ tracestate: 'a=b' }), null);
});
