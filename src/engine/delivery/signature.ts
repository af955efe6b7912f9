/** Signs by Standard Webhooks 1.0 (symmetric, `v1`), so that receivers can verify with a library of their language. */

import { createHmac } from 'node:crypto';

const TOKEN_PREFIX = 'whsec_';

/**
 * The three headers of one attempt: `webhook-timestamp` is in whole seconds and changes with the attempt, `webhook-id`
 * does not. The signed content is `id.timestamp.body` (Standard Webhooks 1.0, "Signature scheme"). There is one
 * signature for each of `tokens`, in their order. Throws `TypeError` when one of them has no key.
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
  if (key.length === 0) throw new TypeError('the signing token holds no key');
  return key;
}
