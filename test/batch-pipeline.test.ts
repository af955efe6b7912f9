/** Batches fail at random, at any step: nothing is lost or written twice, and the items of one key keep their order. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createRandom, type Random } from '../bench/adverts/seeded-random.ts';
import { spawn } from '../src/engine/actor/actor.ts';
import { createSupervisor } from '../src/engine/actor/supervisor.ts';
import { BatchPipeline } from '../src/engine/intake/batch-pipeline.ts';

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
    async record(items: readonly Item[], onEvaluated: (deferred: readonly Item[]) => void) {
      together += 1;
      mostTogether = Math.max(mostTogether, together);
      try {
        await someTurns(random);
        mayFail();
        const taken = random.chance(0.2) ? items.slice(0, Math.ceil(items.length / 2)) : items;
        const deferred = items.slice(taken.length);
        onEvaluated(deferred);
        await someTurns(random);
        mayFail();
        if (taken.some(({ isBad }) => isBad)) throw new Error('a bug');
        written.push(...taken);
        return { deferred };
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
  const pipeline = new BatchPipeline<Item, { deferred: readonly Item[] }>({
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

test('everything is written once, in the order of its key, and passed on', async () => {
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
  assert.equal(mostTogether, 2, 'one is written while another is evaluated');
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
