/** The pool of connections: where PostgreSQL breaks them, what a commit answers, and how statements are planned. */

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { randomUuid, searchNumberOf, type Uuid } from '../../src/engine/domain/ids.ts';
import { readingOf } from '../../src/engine/domain/property-document.ts';
import { recordAttempts } from '../../src/engine/store/attempts.ts';
import {
  type CommitUnknownError,
  type DatabasePool,
  migrate,
  openDatabase,
  pipelinedTransaction,
  type Queryable,
  type Statement,
  transaction,
} from '../../src/engine/store/database.ts';
import { CorkedSocket } from '../../src/engine/store/database-servers.ts';
import { letInAged, readDue, readDueLanes } from '../../src/engine/store/deliveries.ts';
import { claimDeliveries, giveBack } from '../../src/engine/store/delivery-claims.ts';
import { beginMatches, readMatches, updateMatches } from '../../src/engine/store/matches.ts';
import { lockProperties, updateCrawls, updateProperties } from '../../src/engine/store/properties.ts';
import { updateSummaries } from '../../src/engine/store/property-summaries.ts';
import { readOverdueRetries, releaseRetries } from '../../src/engine/store/retries.ts';
import { readRoutes } from '../../src/engine/store/search-routes.ts';
import { readDocuments } from '../../src/engine/store/snapshots.ts';
import { heldAfter, upsertAt } from '../support/adverts.ts';
import { type Cleanup, startTestPostgres } from '../support/servers.ts';
import { runStatements } from '../support/statements.ts';

async function openTested(t: Cleanup, plans?: 'pipeline'): Promise<DatabasePool> {
  const { url } = await startTestPostgres(t);
  await migrate(url);
  const database = openDatabase({
    url,
    connectionsMax: 1,
    onConnectionLost: () => undefined,
    ...(plans === undefined ? {} : { plans }),
  });
  t.after(() => database.end());
  return database;
}

test('a connection that breaks while it is handed from one user to the next does not end the process', async (t) => {
  const database = await openTested(t);
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

test('a lost connection is told with the reason, and without the connection itself', async (t) => {
  const { url } = await startTestPostgres(t);
  const lost = new EventEmitter<{ connection: [Error] }>();
  const idle = openDatabase({ url, connectionsMax: 1, onConnectionLost: (error) => lost.emit('connection', error) });
  const other = openDatabase({ url, connectionsMax: 1, onConnectionLost: () => undefined });
  t.after(() => Promise.all([idle.end(), other.end()]));
  const { rows } = await idle.query<{ pid: number }>('select pg_backend_pid() as pid');
  const told = once(lost, 'connection');
  await other.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
  const [error] = await told;
  assert.match(error.message, /terminating connection due to administrator command/);
  assert.doesNotMatch(inspect(error), /secretKey/);
});

const keep = (value: number): Statement => ({
  name: 'keep',
  text: 'insert into kept values ($1)',
  values: [value],
});

async function openKept(
  t: Cleanup,
): Promise<{ readonly database: DatabasePool; readonly kept: () => Promise<number[]> }> {
  const database = await openTested(t);
  await database.query('create table kept (value integer unique)');
  return {
    database,
    async kept() {
      const { rows } = await database.query<{ value: number }>('select value from kept order by value');
      return rows.map(({ value }) => value);
    },
  };
}

test('a commit sent along with the last statements commits them all, or none when one of them fails', async (t) => {
  const { database, kept } = await openKept(t);
  const keepAll = (...values: readonly number[]) =>
    pipelinedTransaction(database, async () => ({ last: values.map(keep), result: null }));
  const { answers } = await keepAll(1, 2);
  assert.deepEqual(
    answers.map(({ rowCount }) => rowCount),
    [1, 1],
  );
  await assert.rejects(keepAll(3, 1, 4), { code: '23505' });
  await keepAll(5);
  assert.deepEqual(await kept(), [1, 2, 5]);
});

test('work that throws between its statements leaves nothing behind, whatever it had sent', async (t) => {
  const { database, kept } = await openKept(t);
  const insert = (client: Queryable, value: number) => client.query('insert into kept values ($1)', [value]);
  const fail = async () => Promise.reject(new RangeError('Invalid string length'));
  const half = (client: Queryable) => Promise.all([insert(client, 1), fail(), insert(client, 2)]);
  await assert.rejects(transaction(database, half), RangeError);
  await assert.rejects(
    pipelinedTransaction(database, async (client) => {
      await half(client);
      return { last: [keep(3)], result: null };
    }),
    RangeError,
  );
  assert.deepEqual(await kept(), []);
});

test('work that goes on after the transaction has ended can send nothing more', async (t) => {
  const { database, kept } = await openKept(t);
  const late = new EventEmitter<{ sent: [Promise<unknown>] }>();
  const told = once(late, 'sent');
  const slowly = async (client: Queryable): Promise<void> => {
    await client.query('select pg_sleep(0.05)');
    const sent = client.query('insert into kept values (1)');
    late.emit('sent', sent);
    await sent;
  };
  await assert.rejects(
    transaction(database, (client) => Promise.all([slowly(client), Promise.reject(new Error('early'))])),
    /early/,
  );
  const [sent] = await told;
  await assert.rejects(sent, /the transaction has ended/);
  assert.deepEqual(await kept(), []);
});

test('a last statement that the client library cannot write takes the others and the commit with it', async (t) => {
  const { database, kept } = await openKept(t);
  const unwritable = { toPostgres: () => assert.fail('no text') } as unknown as Date;
  const last = [keep(1), { ...keep(2), values: [unwritable] }, keep(3)];
  await assert.rejects(
    pipelinedTransaction(database, async () => ({ last, result: null })),
    { code: 'STATEMENT_UNSENT' },
  );
  assert.deepEqual(await kept(), []);
  await pipelinedTransaction(database, async () => ({ last: [keep(4)], result: null }));
  assert.deepEqual(await kept(), [4]);
});

test('a transaction whose failure nobody told of is not taken for committed', async (t) => {
  const database = await openTested(t);
  const hidden = transaction(database, async (client) => {
    client.query('select 1 / 0').catch(() => undefined);
  });
  await assert.rejects(hidden, /rolled back/);
});

test('a connection that breaks under the commit says that nobody knows, and why', async (t) => {
  const { database, kept } = await openKept(t);
  const cut = { name: 'cut', text: 'select pg_terminate_backend(pg_backend_pid())', values: [] };
  const ending = pipelinedTransaction(database, async () => ({ last: [keep(1), cut], result: null }));
  await assert.rejects(ending, (error: CommitUnknownError) => {
    assert.equal(error.code, 'COMMIT_UNKNOWN');
    return (error.cause as { readonly code?: string }).code === '57P01';
  });
  assert.deepEqual(await kept(), []);
});

test('the statements of the pipeline go through indexes, however full the queue was when they were planned', async (t) => {
  const database = await openTested(t, 'pipeline');
  await database.query('vacuum analyze');
  const ids = [randomUuid()];
  const [id] = ids as [Uuid];
  const held = heldAfter(upsertAt(0, { propertyUuid: id }));
  const priced = { departmentCode: null, transactionType: null } as unknown as Parameters<
    typeof updateProperties
  >[0][number]['priced'];
  const now = new Date();
  const outcome = { startedAt: now, durationMs: 1, statusCode: 200, error: null, reason: null, responseHead: null };
  await lockProperties(database, ids);
  await runStatements(database, updateProperties([{ held, priced, expiredAt: null }]));
  await runStatements(database, updateCrawls([held]));
  const reading = readingOf(held.state, held.crawls, () => null);
  await runStatements(database, updateSummaries([{ reading, crawls: held.crawls }]));
  await readRoutes(database, { numbers: [searchNumberOf(1)], horizon: null, withMail: true });
  await readMatches(database, ids);
  const match = {
    ...{ id, searchNumber: searchNumberOf(1), propertyUuid: id, hasBegun: true, createdAt: now, updatedAt: now },
    ...{ lastSequence: 1, lastDeliveryId: id, cause: { searchVersion: 1, channel: 'match', events: [] } as const },
  };
  await runStatements(database, [...updateMatches([match]), ...beginMatches([match])]);
  await claimDeliveries(database, 1, ids, now);
  await giveBack(database, 1, ids);
  await readDue(database, [{ endpointKey: 'none', lane: 'first', place: id, count: 1 }]);
  await readDueLanes(database);
  await letInAged(database, id, id, 1);
  await releaseRetries(database, [{ id, endpointKey: 'none', attemptCount: 1 }]);
  await readOverdueRetries(database, 0, null, 1);
  await readDocuments(database, ids);
  await recordAttempts(database, [
    {
      ...{
        id,
        searchNumber: searchNumberOf(1),
        matchId: id,
        endpointKey: 'none',
        attemptCount: 1,
        outcome,
        retryInMs: 0,
      },
      ...{ lane: 'first', holder: 1 },
      after: { state: 'delivered' },
    } as Parameters<typeof recordAttempts>[1][number],
  ]);
  const { rows } = await database.query<{ name: string; statement: string; generic: string }>(
    `select name, statement, generic_plans as generic from pg_prepared_statements where name <> ''`,
  );
  // One takes a lock and reads no table.
  const planned = rows.filter(({ name }) => name !== 'pass-fence');
  assert.equal(planned.length, 20, planned.map(({ name }) => name).join());
  for (const { name, generic } of planned) assert.equal(Number(generic), 1, name);
  // A queue that is empty, that has been emptied, and that is filled: the planner knows of it what was there a while ago.
  const queues = ['analyze', 'delete from', 'analyze', 'vacuum analyze'].map((words) => `${words} open_deliveries`);
  for (const step of [...queues, QUEUE_UP, ...queues, QUEUE_UP, 'analyze open_deliveries']) {
    await database.query(step);
    for (const { name, statement } of planned) {
      const plan = await database.query<{ 'QUERY PLAN': string }>(`explain (generic_plan) ${statement}`);
      const text = `${name} after ${step}\n${plan.rows.map((row) => row['QUERY PLAN']).join('\n')}`;
      assert.match(text, /Index|Bitmap/, text);
      assert.doesNotMatch(text, /Seq Scan|Merge Join/, text);
      assert.deepEqual(wholeIndexesIn(text), [], text);
    }
  }
});

/** Of ten endpoints. */
const QUEUE_UP = `
  insert into open_deliveries (id, match_id, search_number, generation, lane, follows, endpoint_key)
  select gen_random_uuid(), gen_random_uuid(), i, 0, (array[0, -1, 2, 1, 1, 1, 1, 1])[1 + i % 8], true, 'endpoint' || i % 10
  from generate_series(1, 5000) as i`;

/** Small for ever: what an operator pauses, and resends during an attempt. */
const SMALL_INDEXES = ['endpoints_paused', 'open_resent'];
/** The column that each index leads with is what its scans have a condition on; a primary key has one that is compared. */
const LEADING: Readonly<Record<string, string>> = { open_undecided: 'match_id', open_endpoint: 'endpoint_key' };

/** The indexes that a plan reads from end to end, and not for their first row alone. */
function wholeIndexesIn(plan: string): readonly string[] {
  const lines = plan.split('\n');
  return lines.flatMap((line, at) => {
    const [, index] =
      /Index (?:Only )?Scan (?:Backward )?using (\w+)|Bitmap Index Scan on (\w+)/.exec(line)?.filter(Boolean) ?? [];
    if (index === undefined || SMALL_INDEXES.includes(index) || /-> +Limit /.test(lines[at - 1] ?? '')) return [];
    const [, condition] = /^ *Index Cond: (.*)/.exec(lines[at + 1] ?? '') ?? [];
    return condition?.includes(LEADING[index] ?? '') === true ? [] : [index];
  });
}

test('what one turn writes to PostgreSQL goes out together and in order', async (t) => {
  const server = createServer();
  const received = new Promise<string>((resolve) => {
    server.once('connection', (socket: Socket) => {
      let text = '';
      socket.on('data', (bytes) => {
        text += bytes.toString();
      });
      socket.on('end', () => {
        socket.end();
        resolve(text);
      });
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.after(() => server.close());
  const socket = new CorkedSocket();
  await new Promise<void>((connected) => {
    socket.connect((server.address() as { readonly port: number }).port, '127.0.0.1', connected);
  });
  const expected = 'first sync second sync third sync commit';
  for (const statement of ['first', 'second', 'third']) {
    socket.cork();
    socket.write(`${statement} `);
    socket.write('sync ');
    socket.uncork();
  }
  socket.write('commit');
  assert.equal(socket.writableLength, expected.length);
  socket.end();
  assert.equal(await received, expected);
});
