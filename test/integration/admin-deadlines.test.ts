/**
 * A call that its client abandons leaves no statement in PostgreSQL. In the first tests another session holds a lock,
 * so that no call succeeds.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type ServiceError, status } from '@grpc/grpc-js';
import { migrate } from '../../src/engine/store/database.ts';
import { startAdmin } from '../support/admin-server.ts';
import { connectDatabase, openTestDatabase } from '../support/database.ts';
import { lastFirst, startTestPostgres } from '../support/servers.ts';
import { until, untilIs } from '../support/until.ts';

type ServerError = ServiceError | null;

const CONNECTIONS_MAX = 4;
const CALLERS = 3 * CONNECTIONS_MAX;
const LETTERS = { pageSize: 0, pageToken: '', filter: undefined };
const cleanup = lastFirst({ after });
const codes: string[] = [];

const { url } = await startTestPostgres(cleanup);
await migrate(url);
const database = openTestDatabase(cleanup, url, CONNECTIONS_MAX);
const outside = connectDatabase(cleanup, url);

/** Starts a server whose own time limits are `usualMs`. */
async function startServer(usualMs: number) {
  const dependencies = { database, onCall: (code: string) => void codes.push(code) };
  return (await startAdmin(cleanup, dependencies, { callTimeouts: { usualMs, longMs: usualMs } })).connect();
}

async function whileLocked(table: string, work: () => Promise<void>): Promise<void> {
  const holder = await outside.connect();
  await holder.query(`begin; lock table ${table} in access exclusive mode`);
  try {
    await work();
  } finally {
    await holder.query('rollback');
    holder.release();
  }
}

/** Counts the server's sessions that execute a statement or are in a transaction. */
async function runningStatements(): Promise<number> {
  const { rows } = await outside.query<{ count: number }>(
    `select count(*)::integer as count from pg_stat_activity
     where application_name = 'vigie' and (state = 'active' or state like 'idle in transaction%')`,
  );
  return rows[0]?.count ?? 0;
}

const isDone = (running: number): boolean => running === 0;

test('the statement is cancelled at the caller’s deadline, even while other callers wait for a connection', async () => {
  const { stub, metadata } = await startServer(60_000);
  await whileLocked('dead_letters', async () => {
    const errors = await Promise.all(
      Array.from(
        { length: CALLERS },
        () =>
          new Promise<ServerError>((resolve) =>
            stub.listDeadLetters(LETTERS, metadata, { deadline: Date.now() + 1_000 }, resolve),
          ),
      ),
    );
    assert.deepEqual(
      errors.map((error) => error?.code),
      Array(CALLERS).fill(status.DEADLINE_EXCEEDED),
    );
    await until(runningStatements, isDone);
  });
  const answered = await new Promise<ServerError>((resolve) => stub.listDeadLetters(LETTERS, metadata, resolve));
  assert.equal(answered, null, 'the pool is whole again');
});

test('a caller that cancels also cancels its statement', async () => {
  const { stub, metadata } = await startServer(60_000);
  await whileLocked('dead_letters', async () => {
    let end: (error: ServerError) => void;
    const ended = new Promise<ServerError>((resolve) => {
      end = resolve;
    });
    const call = stub.listDeadLetters(LETTERS, metadata, (error) => end(error));
    await untilIs(runningStatements, 1);
    call.cancel();
    assert.equal((await ended)?.code, status.CANCELLED);
    await until(runningStatements, isDone);
  });
});

test('a caller without a deadline gets the server’s deadline', async () => {
  const { stub, metadata } = await startServer(300);
  await whileLocked('dead_letters', async () => {
    codes.length = 0;
    const error = await new Promise<ServerError>((resolve) => stub.listDeadLetters(LETTERS, metadata, resolve));
    assert.equal(error?.code, status.DEADLINE_EXCEEDED);
    assert.equal(error?.details, 'The call exceeded its deadline. Set a later one.', 'the message of the server');
    assert.deepEqual(codes, ['DEADLINE_EXCEEDED']);
    await until(runningStatements, isDone);
  });
});

test('an import whose sender stops sending is rolled back at the limit, and its locks are released', async () => {
  const { stub, metadata } = await startServer(300);
  const error = await new Promise<ServerError>((resolve) => {
    const stream = stub.importPointsOfInterest(metadata, resolve);
    stream.write({
      source: 'pointSources/silent',
      points: [{ facility: 'school', lat: 43.12, lon: 5.93, displayName: '', attributes: {} }],
      last: false,
    });
  });
  assert.equal(error?.code, status.DEADLINE_EXCEEDED);
  await until(runningStatements, isDone);
  const { rowCount } = await outside.query('select from points_of_interest_sources');
  assert.equal(rowCount, 0);
});

test('an import whose connection to PostgreSQL breaks between two messages reports it', async () => {
  const { stub, metadata } = await startServer(60_000);
  const points = [{ facility: 'school', lat: 43.12, lon: 5.93, displayName: '', attributes: {} }];
  let end: (error: ServerError) => void;
  const ended = new Promise<ServerError>((resolve) => {
    end = resolve;
  });
  const stream = stub.importPointsOfInterest(metadata, (error) => end(error));
  stream.write({ source: 'pointSources/broken', points, last: false });
  const { rows } = await until(
    () =>
      outside.query<{ pid: number }>(
        `select pid from pg_stat_activity
         where application_name = 'vigie' and state = 'idle in transaction' and query like '%insert into points_of_interest (%'`,
      ),
    ({ rowCount }) => rowCount === 1,
  );
  await outside.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
  await until(runningStatements, isDone);
  stream.write({ source: '', points, last: true });
  assert.equal((await ended)?.code, status.UNAVAILABLE);
});
