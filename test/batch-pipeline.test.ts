/** Batches fail at random, at any step: nothing is lost or written twice, and the items of one key keep their order. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createRandom, type Random } from '../bench/adverts/seeded-random.ts';
import { spawn } from '../src/engine/actor/actor.ts';
import { createSupervisor } from '../src/engine/actor/supervisor.ts';
import { BatchPipeline, type RecordOptions, type Rest } from '../src/engine/intake/batch-pipeline.ts';
import { createGate } from './support/gate.ts';

interface Item {
  readonly key: number;
  readonly number: number;
  /** True if a bug makes every recording of this item fail. */
  readonly isBad: boolean;
}

const KEYS = 30;

/**
 * Treats a failure of the server as having an unknown cause: the batch is halved, and each item is retried many times.
 */
const supervisor = createSupervisor({
  isOperational: () => false,
  retryPausesMs: Array.from({ length: 8 }, () => 1),
  onFailure: () => undefined,
  nowMs: () => 0,
});

async function someTurns(random: Random): Promise<void> {
  for (let left = random.integer(0, 3); left > 0; left--) await turn();
}

/** Keys whose state is large. */
const isLarge = ({ key }: Pick<Item, 'key'>): boolean => key % 5 === 0;

/** Fails at random before and after evaluating a batch, and defers some items. */
function createStore(random: Random, failures: number) {
  const written: Item[] = [];
  let together = 0;
  let mostTogether = 0;
  const mayFail = (): void => {
    if (random.chance(failures)) throw new Error(`the server is away: ${random.uniform()}`);
  };
  return {
    written,
    get mostTogether() {
      return mostTogether;
    },
    async record(items: readonly Item[], { onEvaluated, leavesLarge = false }: RecordOptions<Item>) {
      together += 1;
      mostTogether = Math.max(mostTogether, together);
      try {
        await someTurns(random);
        mayFail();
        const length = random.chance(0.2) ? Math.ceil(items.length / 2) : items.length;
        const evaluated = leavesLarge ? items.slice(0, length).filter(isLarge) : [];
        // Some keys need their large state: the first message is decided without it, and all later ones need it.
        const needing = new Set(evaluated.filter(() => random.chance(0.6)).map(({ key }) => key));
        const decided = new Set(
          evaluated.filter(({ key }, at) => at === evaluated.findIndex((item) => item.key === key)),
        );
        const needsState = (item: Item): boolean => needing.has(item.key) && !decided.has(item);
        const taken = items.slice(0, length).filter((item) => !needsState(item));
        const rest = {
          deferred: items.slice(length).filter((item) => !needsState(item)),
          stateless: items.filter(needsState),
        };
        onEvaluated?.(rest);
        await someTurns(random);
        mayFail();
        if (taken.some(({ isBad }) => isBad)) throw new Error('a bug');
        written.push(...taken);
        return { rest };
      } finally {
        together -= 1;
      }
    },
  };
}

async function run(seed: number, failures: number, badShare: number) {
  const random = createRandom(seed);
  const store = createStore(random, failures);
  const handedOn: number[] = [];
  const pipeline = new BatchPipeline<Item, { rest: Rest<Item> }>({
    record: store.record,
    handOn: async () => void handedOn.push(store.written.length),
    keyOf: ({ key }) => key,
  });
  const deadLettered: Item[] = [];
  const recorder = spawn<Item>({
    name: 'recorder',
    mailboxMax: 8,
    batchMax: 8,
    supervisor,
    keyOf: ({ key }) => key,
    receive: (messages) => pipeline.receive(messages),
    settle: (arrival) => pipeline.settle(arrival),
    async deadLetter(item) {
      await pipeline.replace(item, { ...item, isBad: false });
      deadLettered.push(item);
    },
  });
  const items = Array.from({ length: 200 }, (_, number) => {
    return { key: random.integer(0, KEYS), number, isBad: random.chance(badShare) };
  });
  for (const item of items) {
    await recorder.tell(item);
    if (random.chance(0.1)) await someTurns(random);
  }
  await recorder.drain();
  return { items, store, handedOn, deadLettered };
}

test('every item is written once, in the order of its key, and then handed on', async () => {
  let mostTogether = 0;
  for (let seed = 1; seed <= 200; seed++) {
    const { items, store, handedOn } = await run(seed, 0.1, 0);
    const { written } = store;
    assert.deepEqual(
      written.map(({ number }) => number).toSorted((a, b) => a - b),
      items.map(({ number }) => number),
      `seed ${seed}`,
    );
    for (let key = 0; key <= KEYS; key++) {
      const ofKey = (list: readonly Item[]) => list.filter((item) => item.key === key).map(({ number }) => number);
      assert.deepEqual(ofKey(written), ofKey(items), `seed ${seed}`);
    }
    assert.equal(handedOn.at(-1), items.length);
    mostTogether = Math.max(mostTogether, store.mostTogether);
  }
  assert.equal(mostTogether, 3, 'one is written while another is evaluated, and one is recorded apart');
});

test('only the message that cannot be recorded because of a bug is dead-lettered', async () => {
  for (let seed = 1; seed <= 50; seed++) {
    const { items, store, deadLettered } = await run(seed, 0.05, 0.03);
    const bad = items.filter(({ isBad }) => isBad).map(({ number }) => number);
    assert.deepEqual(
      deadLettered.map(({ number }) => number).toSorted((a, b) => a - b),
      bad,
      `seed ${seed}`,
    );
    assert.equal(new Set(store.written.map(({ number }) => number)).size, items.length);
    assert.equal(store.written.length, items.length);
  }
});

test('while a large state is recorded, all items of other keys are recorded, and the items of its key wait in order', async () => {
  const written: number[] = [];
  const [small, large] = [createGate(), createGate()];
  const pipeline = new BatchPipeline<Item, { rest: Rest<Item> }>({
    async record(items, { onEvaluated, leavesLarge = false }) {
      const rest = { deferred: [], stateless: leavesLarge ? items.filter(isLarge) : [] };
      onEvaluated?.(rest);
      const taken = leavesLarge ? items.filter((item) => !isLarge(item)) : items;
      if (taken.some(isLarge)) await large.gate;
      written.push(...taken.map(({ number }) => number));
      if (written.length === 200) small.open();
      return { rest };
    },
    handOn: async () => undefined,
    keyOf: ({ key }) => key,
  });
  const receive = (messages: readonly Item[]) => pipeline.receive(messages);
  const settle = (arrival: Promise<void>) => pipeline.settle(arrival);
  const deadLetter = ({ number }: Item) => assert.fail(`${number} is dead-lettered`);
  const recorder = spawn<Item>({
    name: 'recorder',
    mailboxMax: 8,
    batchMax: 8,
    supervisor,
    receive,
    settle,
    deadLetter,
  });
  const items = Array.from({ length: 400 }, (_, number) => ({ key: number % 2 === 0 ? 5 : 7, number, isBad: false }));
  for (const item of items) await recorder.tell(item);
  await small.gate;
  large.open();
  await recorder.drain();
  const numbers = (key: number) => items.filter((item) => item.key === key).map(({ number }) => number);
  assert.deepEqual(written, [...numbers(7), ...numbers(5)]);
});

test('no further items are taken while too many wait for a large state', async () => {
  const large = createGate();
  const pipeline = new BatchPipeline<Item, { rest: Rest<Item> }>({
    async record(items, { leavesLarge = false }) {
      if (!leavesLarge) await large.gate;
      return { rest: { deferred: [], stateless: leavesLarge ? items : [] } };
    },
    handOn: async () => undefined,
    keyOf: ({ key }) => key,
  });
  const item = { key: 5, number: 0, isBad: false };
  await pipeline.receive([item]);
  await pipeline.receive(Array.from({ length: 256 }, () => item));
  let isReceived = false;
  const next = pipeline.receive([{ ...item, key: 7 }]).then(() => {
    isReceived = true;
  });
  for (let turns = 0; turns < 10; turns++) await turn();
  assert.equal(isReceived, false);
  large.open();
  await next;
});
