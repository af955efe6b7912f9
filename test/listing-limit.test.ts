import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Uuid, uuidOf } from '../src/engine/domain/ids.ts';
import { createListingLimit } from '../src/rest/client-listings.ts';
import { Problem } from '../src/rest/problem.ts';

interface Work {
  readonly done: Promise<string>;
  end(result: string | Error): void;
}

const ADMITTED = 8;
const CLIENT = uuidOf('00000000-0000-4000-8000-00000000000a');
const OTHER = uuidOf('00000000-0000-4000-8000-00000000000b');

/** Works that end when they are told, and the order in which they began. */
function openScene(): { readonly began: number[]; start(client: Uuid): Work } {
  const oneByOne = createListingLimit();
  const began: number[] = [];
  let count = 0;
  return {
    began,
    start(client) {
      const number = count++;
      let end: Work['end'] = () => undefined;
      const ended = new Promise<string>((resolve, reject) => {
        end = (result) => (typeof result === 'string' ? resolve(result) : reject(result));
      });
      const done = oneByOne(client, () => {
        began.push(number);
        return ended;
      });
      return { done, end };
    },
  };
}

test('lists of a client are made one after the other, and one that fails stops no other', async () => {
  const { began, start } = openScene();
  const [first, second, third] = [start(CLIENT), start(CLIENT), start(CLIENT)];
  const neighbour = start(OTHER);
  neighbour.end('neighbour');
  assert.equal(await neighbour.done, 'neighbour');
  assert.deepEqual(began, [0, 3]);
  first.end(new Error('lost'));
  await assert.rejects(first.done, /lost/);
  second.end('second');
  assert.equal(await second.done, 'second');
  third.end('third');
  assert.equal(await third.done, 'third');
  assert.deepEqual(began, [0, 3, 1, 2]);
});

test('who asks for more lists than may wait is told to come again, and the neighbour is not', async () => {
  const { start } = openScene();
  const works = Array.from({ length: ADMITTED }, () => start(CLIENT));
  await assert.rejects(start(CLIENT).done, (error) => error instanceof Problem && error.status === 429);
  const neighbour = start(OTHER);
  neighbour.end('neighbour');
  assert.equal(await neighbour.done, 'neighbour');
  for (const work of works) work.end('done');
  await Promise.all(works.map(({ done }) => done));
  const again = start(CLIENT);
  again.end('again');
  assert.equal(await again.done, 'again');
});
