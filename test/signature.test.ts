/** The signature of a webhook, against the reference library and the example of its specification. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { signatureHeaders } from '../src/engine/delivery/signature.ts';

test('a receiver verifies the signature of any body with the reference library', () => {
  fc.assert(
    fc.property(
      fc.uuid(),
      fc.string({ unit: 'grapheme' }),
      fc.uint8Array({ minLength: 1, maxLength: 64 }),
      (id, text, key) => {
        const token = `whsec_${Buffer.from(key).toString('base64')}`;
        const body = JSON.stringify({ text });
        const now = new Date();
        const headers = signatureHeaders(id, now, body, token);
        assert.deepEqual(new Webhook(token).verify(body, headers), { text });
        assert.deepEqual(signatureHeaders(id, now, Buffer.from(body), token), headers);
      },
    ),
  );
});

test('the example of the Standard Webhooks specification is reproduced', () => {
  const headers = signatureHeaders(
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    new Date(1_614_265_330_000),
    '{"test": 2432232314}',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  );
  assert.deepEqual(headers, {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('a token without a key is refused', () => {
  assert.throws(() => signatureHeaders('id', new Date(), '{}', 'whsec_'), TypeError);
});
