/** The promises of src/engine/actor: admission, order, draining, and the treatment of failed work. */

import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { type ActorOptions, ActorStoppedError, DRAIN_MAX_MS, spawn, startGrace } from '../src/engine/actor/actor.ts';
import { type ActorFailure, createSupervisor } from '../src/engine/actor/supervisor.ts';
import { RETRY_PAUSES_MS } from './support/supervisor.ts';

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
afterEach(() => mock.timers.reset());

class AwayError extends Error {
  readonly code = 'ECONNREFUSED';
}

const away = new AwayError('server away');

function spawnFor<M>(options: Partial<ActorOptions<M>> & Pick<ActorOptions<M>, 'receive'>) {
  const failures: ActorFailure[] = [];
  let nowMs = 0;
  const supervisor = createSupervisor({
    retryPausesMs: RETRY_PAUSES_MS,
    isOperational: (error) => error instanceof AwayError,
    onFailure: (failure) => failures.push(failure),
    nowMs: () => nowMs,
  });
  const deadLetter = (_: M, error: Error): Promise<void> => Promise.reject(error);
  const actor = spawn<M>({ name: 'tested', mailboxMax: 2, supervisor, deadLetter, ...options });
  const tick = async (ms: number): Promise<void> => {
    nowMs += ms;
    mock.timers.tick(ms);
    await turn();
  };
  return { actor, failures, supervisor, tick };
}

/** A receiver that finishes a batch only when the test requests it. */
function gated<M>() {
  const received: (readonly M[])[] = [];
  const gates: { readonly open: () => void; readonly fail: (error: unknown) => void }[] = [];
  return {
    received,
    receive(messages: readonly M[]): Promise<void> {
      received.push(messages);
      return new Promise((open, fail) => gates.push({ open, fail }));
    },
    async open() {
      gates.shift()?.open();
      await turn();
    },
    async fail(error: unknown) {
      gates.shift()?.fail(error);
      await turn();
    },
  };
}

async function hasSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = (): void => {
    settled = true;
  };
  promise.then(settle, settle);
  await turn();
  return settled;
}

test('tell resolves on admission, before the message is handled, and waits while the mailbox is full', async () => {
  const gate = gated<number>();
  const { actor } = spawnFor({ mailboxMax: 1, receive: gate.receive });
  await actor.tell(1);
  await turn();
  await actor.tell(2);
  const third = actor.tell(3);
  assert.equal(await hasSettled(third), false);
  assert.equal(actor.depth, 1);
  await gate.open();
  assert.equal(await hasSettled(third), true);
  assert.deepEqual(gate.received, [[1], [2]]);
});

test('the messages of each sender are handled in order, for any mailbox and batch sizes', async () => {
  const bounds = [
    fc.integer({ min: 1, max: 4 }),
    fc.integer({ min: 1, max: 5 }),
    fc.integer({ min: 1, max: 6 }),
  ] as const;
  await fc.assert(
    fc.asyncProperty(...bounds, async (mailboxMax, batchMax, senders) => {
      const handled: { sender: number; count: number }[] = [];
      let isBusy = false;
      const { actor } = spawnFor<{ sender: number; count: number }>({
        mailboxMax,
        batchMax,
        async receive(messages) {
          assert.ok(!isBusy && messages.length > 0 && messages.length <= batchMax);
          isBusy = true;
          await turn();
          handled.push(...messages);
          isBusy = false;
        },
      });
      const send = async (sender: number): Promise<void> => {
        for (let count = 0; count < 5; count++) {
          await actor.tell({ sender, count });
          assert.ok(actor.depth <= mailboxMax);
        }
      };
      await Promise.all(Array.from({ length: senders }, (_, sender) => send(sender)));
      await actor.drain();
      for (let sender = 0; sender < senders; sender++) {
        const counts = handled.filter((message) => message.sender === sender).map(({ count }) => count);
        assert.deepEqual(counts, [0, 1, 2, 3, 4]);
      }
    }),
    { numRuns: 40 },
  );
});

test('drain refuses new and waiting messages, and ends when the admitted ones are handled', async () => {
  const gate = gated<number>();
  const { actor } = spawnFor({ receive: gate.receive });
  void actor.tell(1);
  await turn();
  void actor.tell(2);
  void actor.tell(3);
  const waiting = assert.rejects(actor.tell(4), ActorStoppedError);
  const drained = actor.drain();
  await waiting;
  await assert.rejects(actor.tell(5), { name: 'Error', code: 'ACTOR_STOPPED', message: /tested is draining/ });
  assert.equal(await hasSettled(drained), false);
  await gate.open();
  await gate.open();
  assert.equal(await hasSettled(drained), false);
  await gate.open();
  assert.equal(await hasSettled(drained), true);
  assert.deepEqual(gate.received, [[1], [2], [3]]);
  await actor.drain();
});

test('after a transient error the same batch is tried again with growing pauses, before the next batch', async () => {
  const gate = gated<number>();
  const { actor, failures, tick } = spawnFor({ mailboxMax: 5, batchMax: 2, receive: gate.receive });
  for (const message of [1, 2, 3]) void actor.tell(message);
  await turn();
  const first = gate.received[0];
  for (const pauseMs of [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]) {
    const before = gate.received.length;
    await gate.fail(away);
    const failure = { actor: 'tested', error: away, isBug: false, isFinal: false, retryInMs: pauseMs };
    assert.deepEqual(failures.at(-1), failure);
    await tick(pauseMs - 1);
    assert.equal(gate.received.length, before);
    await tick(1);
    assert.equal(gate.received.length, before + 1);
    assert.equal(gate.received.at(-1), first);
  }
  await gate.open();
  assert.notEqual(gate.received.at(-1), first);
  await gate.fail(away);
  assert.equal(failures.at(-1)?.retryInMs, 100, 'a new batch starts with the first pause');
});

test('after a failure that no known server fault explains, a message is tried again, and messages with its key wait in order', async () => {
  const keys = 4;
  const bounds = [
    fc.array(fc.nat({ max: 3 }), { minLength: 12, maxLength: 12 }),
    fc.integer({ min: 1, max: 12 }),
  ] as const;
  await fc.assert(
    fc.asyncProperty(...bounds, async (hiccups, batchMax) => {
      const left = [...hiccups];
      const done: number[] = [];
      const { actor, failures, tick } = spawnFor<number>({
        mailboxMax: 12,
        batchMax,
        keyOf: (message) => message % keys,
        async receive(messages) {
          const bad = messages.find((message) => (left[message] ?? 0) > 0);
          if (bad !== undefined && messages.length === 1) left[bad] = (left[bad] ?? 0) - 1;
          if (bad !== undefined) throw new TypeError('a hiccup');
          done.push(...messages);
        },
        deadLetter: (message) => assert.fail(`${message} is dead-lettered`),
      });
      for (const message of hiccups.keys()) void actor.tell(message);
      for (let waits = 0; done.length < hiccups.length; waits++) {
        assert.ok(waits < 200);
        await tick(2_000);
      }
      for (let key = 0; key < keys; key++) {
        const ofKey = done.filter((message) => message % keys === key);
        assert.deepEqual(ofKey, [key, key + keys, key + 2 * keys]);
      }
      assert.ok(failures.every(({ isBug }) => !isBug));
      await actor.drain();
    }),
    { numRuns: 60 },
  );
});

test('a message that waits for its next try delays only its own key, and once it is given up, later messages of its key are dead-lettered at once', async () => {
  const done: string[] = [];
  const aside: string[] = [];
  const { actor, tick } = spawnFor<string>({
    mailboxMax: 12,
    batchMax: 12,
    keyOf: (message) => message[0],
    async receive(messages) {
      if (messages.some((message) => message.startsWith('a'))) throw new TypeError('a bug');
      done.push(...messages);
    },
    deadLetter: async (message) => void aside.push(message),
  });
  for (const message of ['a1', 'b1', 'a2', 'b2']) await actor.tell(message);
  await tick(0);
  assert.deepEqual(done, ['b1', 'b2']);
  await tick(2_000);
  await tick(8_000);
  await actor.tell('b3');
  await tick(0);
  assert.deepEqual([done, aside], [['b1', 'b2', 'b3'], []]);
  await tick(20_000);
  await tick(0);
  assert.deepEqual(aside, ['a1', 'a2']);
  await actor.tell('a3');
  await tick(0);
  assert.deepEqual(aside, ['a1', 'a2', 'a3']);
  await actor.drain();
});

test('a message that fails alone is dead-lettered, and the others continue in their order', async () => {
  const bounds = [fc.uniqueArray(fc.integer({ min: 0, max: 11 })), fc.integer({ min: 1, max: 12 })] as const;
  await fc.assert(
    fc.asyncProperty(...bounds, async (bad, batchMax) => {
      const done: number[] = [];
      const aside: number[] = [];
      const { actor, failures, tick } = spawnFor<number>({
        mailboxMax: 12,
        batchMax,
        async receive(messages) {
          if (messages.some((message) => bad.includes(message))) throw new TypeError('a bug');
          done.push(...messages);
        },
        deadLetter: async (message) => void aside.push(message),
      });
      const messages = Array.from({ length: 12 }, (_, message) => message);
      for (const message of messages) await actor.tell(message);
      for (let waits = 0; done.length + aside.length < messages.length; waits++) {
        assert.ok(waits < 200);
        await tick(2_000);
      }
      await actor.drain();
      assert.deepEqual(
        done,
        messages.filter((message) => !bad.includes(message)),
      );
      assert.deepEqual(
        aside,
        [...bad].sort((a, b) => a - b),
      );
      assert.equal(failures.filter(({ isBug }) => isBug).length, bad.length);
    }),
    { numRuns: 60 },
  );
});

test('dead-lettering is retried after a transient error like any other work, and a bug in it stops the actor', async () => {
  const bug = new TypeError('another bug');
  const outcomes = [away, null, bug, bug, bug, bug];
  const { actor, failures, tick } = spawnFor<number>({
    receive: async () => Promise.reject(new TypeError('a bug')),
    deadLetter: () => {
      const error = outcomes.shift() ?? null;
      return error === null ? Promise.resolve() : Promise.reject(error);
    },
  });
  await actor.tell(1);
  await tick(0);
  for (const pauseMs of RETRY_PAUSES_MS) await tick(pauseMs);
  await tick(100);
  assert.equal(outcomes.length, 4);
  await actor.tell(2);
  await tick(0);
  for (const pauseMs of [...RETRY_PAUSES_MS, ...RETRY_PAUSES_MS]) await tick(pauseMs);
  assert.deepEqual(failures.at(-1), { actor: 'tested', error: bug, isBug: true, isFinal: true, retryInMs: null });
  assert.equal(failures.filter(({ isFinal }) => isFinal).length, 1);
  await assert.rejects(actor.tell(3), { code: 'ACTOR_STOPPED', cause: bug });
});

test('neither the mailbox nor a batch exceeds its weight, except for one message that is heavier', async () => {
  const gate = gated<number>();
  const weighing = { weigh: (message: number) => message, weightMax: 10 };
  const { actor } = spawnFor({ mailboxMax: 100, batchMax: 100, weighing, receive: gate.receive });
  await actor.tell(4);
  await turn();
  await actor.tell(6);
  await actor.tell(3);
  const heavy = actor.tell(30);
  const behind = actor.tell(1);
  void actor.tell(9);
  assert.equal(await hasSettled(heavy), false);
  await gate.open();
  assert.equal(await hasSettled(heavy), true);
  assert.equal(await hasSettled(behind), false, 'a light message does not overtake a heavy one');
  await gate.open();
  await gate.open();
  assert.deepEqual(gate.received, [[4], [6, 3], [30], [1, 9]]);
});

test('a failure is reported with its latest cause and its whole duration, until the actor works again or is drained', async () => {
  const gate = gated<number>();
  const { actor, supervisor, tick } = spawnFor({ receive: gate.receive });
  void actor.tell(1);
  await turn();
  await gate.fail(away);
  assert.deepEqual(supervisor.failing(1), []);
  await tick(10_000);
  await gate.fail(new AwayError('still away'));
  assert.deepEqual(supervisor.failing(10_000), [{ actor: 'tested', reason: 'still away', failingForMs: 10_000 }]);
  await tick(200);
  await gate.open();
  assert.deepEqual(supervisor.failing(0), []);
  void actor.tell(2);
  await turn();
  await gate.fail(away);
  assert.equal(supervisor.failing(0).length, 1);
  const drained = actor.drain();
  await turn();
  await gate.open();
  await drained;
  assert.deepEqual(supervisor.failing(0), []);
});

test('drain immediately tries messages that wait for their next try, and ends when the failed batch is done', async () => {
  const gate = gated<number>();
  const { actor } = spawnFor({ receive: gate.receive });
  void actor.tell(1);
  await turn();
  await gate.fail(away);
  const drained = actor.drain();
  assert.equal(await hasSettled(drained), false);
  assert.deepEqual(gate.received, [[1], [1]]);
  await gate.open();
  assert.equal(await hasSettled(drained), true);
});

test('drain also ends when the server never returns, and when a receiver never ends', async () => {
  const failing = spawnFor<number>({ receive: async () => Promise.reject(away) });
  const hanging = spawnFor<number>({ receive: () => new Promise(() => undefined) });
  for (const { actor, tick } of [failing, hanging]) {
    void actor.tell(1);
    await turn();
    const drained = actor.drain();
    for (let passedMs = 0; passedMs < DRAIN_MAX_MS; passedMs += 100) await tick(100);
    assert.equal(await hasSettled(drained), true);
    assert.equal(await hasSettled(actor.drain()), true);
  }
  assert.equal(failing.failures.at(-1)?.retryInMs, null, 'the last failure is not tried again');
});

test('a failure after the grace of a drain is reported, and does not affect readiness', async () => {
  const gate = gated<number>();
  const { actor, failures, supervisor, tick } = spawnFor({ receive: gate.receive });
  await actor.tell(1);
  await turn();
  const drained = actor.drain();
  await tick(DRAIN_MAX_MS);
  await drained;
  await gate.fail(away);
  assert.equal(failures.at(-1)?.error, away, 'the failure is reported');
  assert.deepEqual(supervisor.failing(0), []);
});

test('actors that are drained in sequence share one grace', async () => {
  const hang = () => new Promise<void>(() => undefined);
  const scenes = [1, 2, 3].map(() => spawnFor<number>({ receive: hang }));
  for (const { actor } of scenes) void actor.tell(1);
  await turn();
  const grace = startGrace();
  const drained = (async () => {
    for (const { actor } of scenes) await actor.drain(grace);
  })();
  mock.timers.tick(DRAIN_MAX_MS - 1);
  assert.equal(await hasSettled(drained), false);
  mock.timers.tick(1);
  assert.equal(await hasSettled(drained), true);
});

test('a thrown value that is not an Error becomes one', async () => {
  const { actor, failures } = spawnFor({ receive: async () => Promise.reject('text') });
  await actor.tell(1);
  await turn();
  assert.equal(failures[0]?.error.message, 'text');
});

test('with gatherMs, a partial batch waits for more messages, and a full one does not', async () => {
  const gate = gated<number>();
  const { actor } = spawnFor({ mailboxMax: 3, batchMax: 3, gatherMs: 20, receive: gate.receive });
  await actor.tell(1);
  await turn();
  await actor.tell(2);
  mock.timers.tick(19);
  await turn();
  assert.deepEqual(gate.received, []);
  mock.timers.tick(1);
  await turn();
  assert.deepEqual(gate.received, [[1, 2]]);
  for (const message of [3, 4, 5]) await actor.tell(message);
  await gate.open();
  assert.deepEqual(gate.received, [
    [1, 2],
    [3, 4, 5],
  ]);
  await gate.open();
});

test('drain waits for messages that are being gathered', async () => {
  const gate = gated<number>();
  const { actor } = spawnFor({ batchMax: 2, gatherMs: 20, receive: gate.receive });
  await actor.tell(1);
  await turn();
  const drained = actor.drain();
  mock.timers.tick(20);
  await turn();
  assert.deepEqual(gate.received, [[1]]);
  await gate.open();
  await drained;
});
