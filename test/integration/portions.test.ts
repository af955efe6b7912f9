/** Answers of many rows come whole, a portion at a time, and as far as they are wanted. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type pg from 'pg';
import { createCourtesy } from '../../src/actor/precedence.ts';
import { openDatabase, transaction } from '../../src/store/database.ts';
import { isStatementTimeout } from '../../src/store/outage.ts';
import { readInPortions } from '../../src/store/portions.ts';
import { startTestPostgres } from '../support/servers.ts';

const postgres = await startTestPostgres({ after });
// One that is not given back is missed at once.
const database = openDatabase({ url: postgres.url, connectionsMax: 1, onConnectionLost: () => undefined });
after(() => database.end());

const ROWS = 200;

type Rows = readonly pg.QueryResultRow[];

function readAll(text: string, values: readonly unknown[], take: (rows: Rows) => Promise<boolean>): Promise<void> {
  return transaction(database, (connection) =>
    readInPortions(connection, { text, values, rowsMax: ROWS }, createCourtesy(0), take),
  );
}

async function read(count: number, wantedPortions = Infinity): Promise<readonly (readonly number[])[]> {
  const portions: number[][] = [];
  await readAll('select n from generate_series(1, $1::integer) n order by n', [count], async (rows) => {
    portions.push(rows.map(({ n }) => n));
    return portions.length < wantedPortions;
  });
  return portions;
}

for (const count of [0, 1, ROWS - 1, ROWS, ROWS + 1, 3 * ROWS]) {
  test(`${count} rows are read, each once, and the last portion is a short one`, async () => {
    const portions = await read(count);
    assert.deepEqual(
      portions.flat(),
      Array.from({ length: count }, (_, i) => i + 1),
    );
    assert.ok(portions.slice(0, -1).every(({ length }) => length === ROWS));
    assert.ok((portions.at(-1)?.length ?? 0) < ROWS);
  });
}

test('what is not wanted any more is not read, and the connection is free again', async () => {
  assert.equal((await read(10 * ROWS, 2)).length, 2);
  const failing = readAll('select 1', [], () => Promise.reject(new Error('enough')));
  await assert.rejects(failing, /enough/);
  await assert.rejects(
    readAll('select 1 / (5 - n) from generate_series(1, 9) n', [], async () => true),
    /division by zero/,
  );
  assert.equal((await read(3)).flat().length, 3);
});

test('a query that takes too long in all is given up, though each of its portions is quick', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => (nowMs += 300));
  let portions = 0;
  const reading = readAll('select n from generate_series(1, 10000) n', [], async () => {
    portions += 1;
    return true;
  });
  await assert.rejects(reading, isStatementTimeout);
  assert.ok(portions > 1 && portions < 10_000 / ROWS, String(portions));
});
