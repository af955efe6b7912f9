/** Signs as in Standard Webhooks 1.0 (symmetric, `v1`), so that receivers can use a library for their language. */

import { createHmac } from 'node:crypto';

const TOKEN_PREFIX = 'whsec_';

/**
 * The three headers of an attempt. `webhook-timestamp` is in whole seconds and differs between attempts; `webhook-id`
 * is that of the delivery. The signed content is `id.timestamp.body` (Standard Webhooks 1.0, "Signature scheme"). There
 * is one signature for each of `tokens`, in the same order. Throws `TypeError` if one of them has no key.
 */
export function signatureHeaders(
  id: string,
  attemptedAt: Date,
  body: string | Buffer,
  ...tokens: readonly string[]
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const timestamp = String(Math.floor(attemptedAt.getTime() / 1_000));
  const signatures = tokens.map((token) => {
    const mac = createHmac('sha256', keyOf(token)).update(`${id}.${timestamp}.`).update(body);
    return `v1,${mac.digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

function keyOf(token: string): Buffer {
  const key = Buffer.from(token.startsWith(TOKEN_PREFIX) ? token.slice(TOKEN_PREFIX.length) : token, 'base64');
  if (key.length === 0) throw new TypeError('the signing token has no key');
  return key;
}
