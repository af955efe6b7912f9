/** A mailbox is bounded: senders wait in line, nothing is lost, and closing it tells everyone. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { Mailbox } from '../src/engine/actor/mailbox.ts';

const CLOSED = new Error('closed');

/** Notes in `order` when the promise ends. */
function note(order: string[], name: string, promise: Promise<unknown>): void {
  promise.then(
    () => order.push(name),
    (error: Error) => order.push(`${name} ${error.message}`),
  );
}

/** As an actor does. */
async function take<T>(mailbox: Mailbox<T>, max: number): Promise<readonly T[]> {
  await mailbox.arrival();
  return mailbox.takeAdmitted(max);
}

test('senders beyond the bound wait until there is room, in their order', async () => {
  const mailbox = new Mailbox<number>(2);
  const order: string[] = [];
  for (const message of [1, 2, 3, 4, 5]) note(order, `put ${message}`, mailbox.put(message));
  await turn();
  assert.deepEqual(order, ['put 1', 'put 2']);
  assert.equal(mailbox.depth, 2);
  assert.deepEqual(await take(mailbox, 1), [1]);
  await turn();
  assert.deepEqual(order, ['put 1', 'put 2', 'put 3']);
  assert.deepEqual(await take(mailbox, 10), [2, 3]);
  assert.deepEqual(await take(mailbox, 10), [4, 5]);
});

test('a new sender does not overtake one that waits', async () => {
  const mailbox = new Mailbox<string>(1);
  void mailbox.put('first');
  void mailbox.put('waiting');
  assert.deepEqual(await take(mailbox, 1), ['first']);
  void mailbox.put('late');
  assert.deepEqual(await take(mailbox, 1), ['waiting']);
  assert.deepEqual(await take(mailbox, 1), ['late']);
});

test('an empty mailbox makes the receiver wait for the next message', async () => {
  const mailbox = new Mailbox<number>(1);
  const order: string[] = [];
  note(order, 'taken', take(mailbox, 1));
  await turn();
  assert.deepEqual(order, []);
  await mailbox.put(1);
  await turn();
  assert.deepEqual(order, ['taken']);
});

test('closing rejects the senders that wait and the ones that come, never the admitted messages', async () => {
  const mailbox = new Mailbox<number>(2);
  const order: string[] = [];
  for (const message of [1, 2, 3, 4]) note(order, `put ${message}`, mailbox.put(message));
  mailbox.close(CLOSED);
  mailbox.close(new Error('closed again'));
  note(order, 'put 5', mailbox.put(5));
  await turn();
  assert.deepEqual(order.sort(), ['put 1', 'put 2', 'put 3 closed', 'put 4 closed', 'put 5 closed']);
  assert.deepEqual(await take(mailbox, 1), [1]);
  assert.deepEqual(await take(mailbox, 9), [2]);
  assert.deepEqual(await take(mailbox, 9), []);
});

test('closing wakes a receiver that waits', async () => {
  const mailbox = new Mailbox<number>(1);
  const taken = take(mailbox, 1);
  mailbox.close(CLOSED);
  assert.deepEqual(await taken, []);
});

test('it agrees with a plain queue: bounded, first in first out, nothing lost, nothing twice', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('put' as const), sender: fc.nat({ max: 3 }) }),
    fc.record({ do: fc.constant('take' as const), max: fc.integer({ min: 1, max: 4 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 4 }), async (steps, max) => {
      const mailbox = new Mailbox<string>(max);
      const expected: string[] = [];
      const admitted: string[] = [];
      const rejected: string[] = [];
      let sent = 0;
      for (const action of steps) {
        if (action.do === 'put') {
          const message = `${action.sender}/${sent++}`;
          expected.push(message);
          mailbox.put(message).then(
            () => admitted.push(message),
            () => rejected.push(message),
          );
        } else if (expected.length > 0) {
          const taken = await take(mailbox, action.max);
          assert.deepEqual(taken, expected.splice(0, Math.min(action.max, max)));
        }
        await turn();
        assert.equal(mailbox.depth, Math.min(expected.length, max));
        assert.equal(admitted.length, sent - Math.max(0, expected.length - max));
      }
      mailbox.close(CLOSED);
      await turn();
      assert.deepEqual(rejected, expected.slice(max));
      assert.deepEqual([...admitted, ...rejected].length, sent);
    }),
    { numRuns: 100 },
  );
});
