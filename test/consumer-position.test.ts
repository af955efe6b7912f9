/** The position of a consumer, derived from what its server reports. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acknowledgedUpTo } from '../src/engine/broker/stream-position.ts';

const at = (sequence: number) => ({ consumer_seq: sequence, stream_seq: sequence, last_active: 0 });

test('a replicated consumer without pending messages counts as having acknowledged only up to its floor', () => {
  const info = { delivered: at(12), ack_floor: at(7), num_ack_pending: 0 };
  assert.equal(acknowledgedUpTo(info, { num_replicas: 3 }), 7);
  // On one server, the messages above the floor are ones that the stream has dropped.
  assert.equal(acknowledgedUpTo(info, { num_replicas: 1 }), 12);
  assert.equal(acknowledgedUpTo({ ...info, num_ack_pending: 3 }, { num_replicas: 1 }), 7);
});
