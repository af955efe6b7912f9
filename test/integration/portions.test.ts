/** Answers of many rows come whole, a portion at a time, and as far as they are wanted. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openDatabase } from '../../src/store/database.ts';
import { PORTION_ROWS, readInPortions } from '../../src/store/portions.ts';
import { startTestPostgres } from '../support/servers.ts';

const postgres = await startTestPostgres({ after });
// One that is not given back is missed at once.
const database = openDatabase({ url: postgres.url, connectionsMax: 1, onConnectionLost: () => undefined });
after(() => database.end());

async function read(count: number, wantedPortions = Infinity): Promise<readonly (readonly number[])[]> {
  const portions: number[][] = [];
  await readInPortions(
    database,
    'select n from generate_series(1, $1::integer) n order by n',
    [count],
    async (rows) => {
      portions.push(rows.map(({ n }) => n));
      return portions.length < wantedPortions;
    },
  );
  return portions;
}

for (const count of [0, 1, PORTION_ROWS - 1, PORTION_ROWS, PORTION_ROWS + 1, 3 * PORTION_ROWS]) {
  test(`${count} rows are read, each once, and the last portion is a short one`, async () => {
    const portions = await read(count);
    assert.deepEqual(
      portions.flat(),
      Array.from({ length: count }, (_, i) => i + 1),
    );
    assert.ok(portions.slice(0, -1).every(({ length }) => length === PORTION_ROWS));
    assert.ok((portions.at(-1)?.length ?? 0) < PORTION_ROWS);
  });
}

test('what is not wanted any more is not read, and the connection is free again', async () => {
  assert.equal((await read(10 * PORTION_ROWS, 2)).length, 2);
  const failing = readInPortions(database, 'select 1', [], () => Promise.reject(new Error('enough')));
  await assert.rejects(failing, /enough/);
  await assert.rejects(
    readInPortions(database, 'select 1 / (5 - n) from generate_series(1, 9) n', [], async () => true),
    /division by zero/,
  );
  assert.equal((await read(3)).flat().length, 3);
});

test('who has a portion asks on over the connection that reads', async () => {
  const answers: number[] = [];
  await readInPortions(database, 'select 1 as one', [], async (_, connection) => {
    const { rows } = await connection.query<{ two: number }>('select 2 as two');
    answers.push(...rows.map(({ two }) => two));
    return true;
  });
  assert.deepEqual(answers, [2]);
});
