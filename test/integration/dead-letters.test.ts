/** Dead letters as the recorder writes them: many in one statement, each with its own values. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DeadLetter, insertDeadLetters } from '../../src/engine/store/dead-letters.ts';
import { connectDatabase } from '../support/database.ts';
import { tuplesOf } from '../support/lists.ts';
import { ownDatabase } from '../support/own-database.ts';
import { runStatements } from '../support/statements.ts';

const MEGABYTE = 1_024 * 1_024;

function letter(sequence: number, bytes: Uint8Array, members: Partial<DeadLetter> = {}): DeadLetter {
  return {
    stream: 'ADVERTS',
    sequence,
    subject: 'adverts.x',
    headers: {},
    bytes,
    reason: 'r',
    failedKey: null,
    ...members,
  };
}

test('dead letters that are written together keep their own bytes, headers and reasons', async (t) => {
  const database = connectDatabase(t, await ownDatabase(t));
  const letters = [
    letter(1, Buffer.from([0, 255, 92, 39, 34, 10]), {
      headers: { 'Nats-Msg-Id': 'a"\\\0' },
      reason: 'bad \0 "JSON" \ud800',
    }),
    letter(2, Buffer.alloc(0)),
    letter(3, Buffer.from('é€😀'), { failedKey: 'property' }),
    // Together these bodies exceed the size of one statement.
    letter(4, Buffer.alloc(5 * MEGABYTE, 'a')),
    letter(5, Buffer.alloc(MEGABYTE, 'b'), { subject: 'adverts.y' }),
    letter(6, Buffer.from('last')),
  ];
  const statements = insertDeadLetters(letters);
  assert.equal(statements.length, 3);
  await runStatements(database, statements);
  const { rows } = await database.query(
    'select sequence::integer, subject, headers, body, reason, failed_key from dead_letters order by id',
  );
  assert.deepEqual(tuplesOf(rows, 'sequence', 'body'), tuplesOf(letters, 'sequence', 'bytes'));
  assert.deepEqual(rows[0].headers, { 'Nats-Msg-Id': 'a"\\\ufffd' });
  assert.equal(rows[0].reason, 'bad \ufffd "JSON" \ufffd');
  assert.deepEqual([rows[2].failed_key, rows[4].subject, rows[5].failed_key], ['property', 'adverts.y', null]);
});

test('a repeated message is stored once, in the same statement or a later one', async (t) => {
  const database = connectDatabase(t, await ownDatabase(t));
  const one = letter(1, Buffer.from('one'));
  await runStatements(database, insertDeadLetters([one, one, letter(2, Buffer.from('two'))]));
  // The stream was recreated, and its sequence starts again at 1.
  await runStatements(database, insertDeadLetters([one, letter(1, Buffer.from('another'))]));
  const { rows } = await database.query('select sequence::integer, body from dead_letters order by id');
  assert.deepEqual(
    rows.map(({ sequence, body }) => [sequence, String(body)]),
    [
      [1, 'one'],
      [2, 'two'],
      [1, 'another'],
    ],
  );
});
