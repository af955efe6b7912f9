/** The pool of connections where PostgreSQL breaks them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase, transaction } from '../../src/store/database.ts';
import { startTestPostgres } from '../support/servers.ts';

test('a connection that breaks while it is handed from one user to the next does not end the process', async (t) => {
  const server = await startTestPostgres(t);
  const database = openDatabase({ url: server.url, connectionsMax: 1, onConnectionLost: () => undefined });
  t.after(() => database.end());
  let users = 0;
  database.on('acquire', (client) => {
    users += 1;
    // The end of one answer and PostgreSQL's farewell may come in one packet, before the next user listens.
    if (users === 2) queueMicrotask(() => client.emit('error', new Error('terminating connection')));
  });
  const ask = () => database.query('select 1 as one');
  const answers = await Promise.all([ask(), transaction(database, (client) => client.query('select 1 as one')), ask()]);
  assert.deepEqual(
    answers.map(({ rows }) => rows),
    Array.from({ length: 3 }, () => [{ one: 1 }]),
  );
});
