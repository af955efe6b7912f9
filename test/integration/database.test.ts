/** The pool of connections: broken connections, uncertain commits, and the plans of statements. */

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { LANES } from '../../src/engine/domain/delivery.ts';
import { randomUuid, searchNumberOf, type Uuid } from '../../src/engine/domain/ids.ts';
import { readingOf } from '../../src/engine/domain/property-document.ts';
import { recordAttempts } from '../../src/engine/store/attempts.ts';
import { writeHeartbeat } from '../../src/engine/store/couriers.ts';
import {
  type CommitUnknownError,
  type DatabasePool,
  openDatabase,
  type Parameter,
  pipelinedTransaction,
  type Queryable,
  type Statement,
  transaction,
} from '../../src/engine/store/database.ts';
import { CorkedSocket } from '../../src/engine/store/database-servers.ts';
import { readDue, readDueLanes, releaseExpiredHolds } from '../../src/engine/store/deliveries.ts';
import { claimDeliveries, giveBack } from '../../src/engine/store/delivery-claims.ts';
import { beginMatches, readMatches, updateMatches } from '../../src/engine/store/matches.ts';
import { lockProperties, updateCrawls, updateProperties } from '../../src/engine/store/properties.ts';
import { updateSummaries } from '../../src/engine/store/property-summaries.ts';
import { readOverdueRetries, releaseRetries } from '../../src/engine/store/retries.ts';
import { readRoutes } from '../../src/engine/store/search-routes.ts';
import { readDocuments } from '../../src/engine/store/snapshots.ts';
import { readAbandonedMails, readMailTurns } from '../../src/features/mail/mail-claims.ts';
import { heldAfter, upsertAt } from '../support/adverts.ts';
import { openTestDatabase } from '../support/database.ts';
import { assertNone, valuesOf } from '../support/lists.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { ownDatabase } from '../support/own-database.ts';
import { registerHolder } from '../support/seeded-deliveries.ts';
import { type Cleanup, startTestPostgres } from '../support/servers.ts';
import { runStatements } from '../support/statements.ts';

async function openTested(t: Cleanup, plans?: 'pipeline'): Promise<DatabasePool> {
  return openTestDatabase(t, await ownDatabase(t), 1, plans);
}

test('a connection that breaks between two users does not end the process', async (t) => {
  const database = await openTested(t);
  let users = 0;
  database.on('acquire', (client) => {
    users += 1;
    // The end of an answer and PostgreSQL's last message may arrive in one packet, before the next user adds its
    // listener.
    if (users === 2) queueMicrotask(() => client.emit('error', new Error('terminating connection')));
  });
  const ask = () => database.query('select 1 as one');
  const answers = await Promise.all([ask(), transaction(database, (client) => client.query('select 1 as one')), ask()]);
  assert.deepEqual(
    valuesOf(answers, 'rows'),
    Array.from({ length: 3 }, () => [{ one: 1 }]),
  );
});

test('a lost connection is reported with its reason, and without the connection itself', async (t) => {
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

test('a commit sent with the last statements commits all of them, or none if one fails', async (t) => {
  const { database, kept } = await openKept(t);
  const keepAll = (...values: readonly number[]) =>
    pipelinedTransaction(database, async () => ({ last: values.map(keep), result: null }));
  const { answers } = await keepAll(1, 2);
  assert.deepEqual(valuesOf(answers, 'rowCount'), [1, 1]);
  await assert.rejects(keepAll(3, 1, 4), { code: '23505' });
  await keepAll(5);
  assert.deepEqual(await kept(), [1, 2, 5]);
});

test('work that throws between its statements leaves no trace, even of statements already sent', async (t) => {
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

test('work that continues after its transaction has ended cannot send anything', async (t) => {
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

test('if the client library cannot encode the last statement, the others and the commit are not applied', async (t) => {
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

test('a transaction whose failure was not reported does not count as committed', async (t) => {
  const database = await openTested(t);
  const hidden = transaction(database, async (client) => {
    client.query('select 1 / 0').catch(() => undefined);
  });
  await assert.rejects(hidden, /rolled back/);
});

test('a connection that breaks during the commit reports that the outcome is unknown, and why', async (t) => {
  const { database, kept } = await openKept(t);
  const cut = { name: 'cut', text: 'select pg_terminate_backend(pg_backend_pid())', values: [] };
  const ending = pipelinedTransaction(database, async () => ({ last: [keep(1), cut], result: null }));
  await assert.rejects(ending, (error: CommitUnknownError) => {
    assert.equal(error.code, 'COMMIT_UNKNOWN');
    return (error.cause as { readonly code?: string }).code === '57P01';
  });
  assert.deepEqual(await kept(), []);
});

test('the statements of the pipeline use indexes, however full the queue was when they were planned', async (t) => {
  const database = await openTested(t, 'pipeline');
  await database.query('vacuum analyze');
  const ids = [randomUuid()];
  const [id] = ids as [Uuid];
  const stored = heldAfter(upsertAt(0, { propertyUuid: id }));
  const now = new Date();
  await lockProperties(database, [upsertAt(0, { propertyUuid: id })]);
  await runStatements(database, updateProperties([{ stored, expiredAt: null }]));
  await runStatements(database, updateCrawls(new Map([[id, stored.crawls]])));
  const reading = readingOf(stored.state, stored.crawls, () => null);
  await runStatements(database, updateSummaries([{ reading, crawls: stored.crawls }]));
  await readRoutes(database, { numbers: [searchNumberOf(1)], horizon: null, withMail: true });
  await readMatches(database, ids);
  const match = {
    ...{ id, searchNumber: searchNumberOf(1), propertyUuid: id, hasBegun: true, createdAt: now, updatedAt: now },
    ...{ lastSequence: 1, lastDeliveryId: id, cause: { searchVersion: 1, channel: 'match', events: [] } as const },
  };
  await runStatements(database, [...updateMatches([match]), ...beginMatches([match])]);
  await claimDeliveries(database, 1, ids, now);
  await giveBack(database, 1, ids);
  await readDue(database, [{ endpointKey: 'none', lane: 'first', position: id, count: 1 }]);
  await readDueLanes(database);
  await releaseExpiredHolds(database, id, id, 1);
  await releaseRetries(database, [{ id, endpointKey: 'none', attemptCount: 1, startedAt: now }]);
  await readOverdueRetries(database, 0, null, 1);
  await readDocuments(database, ids);
  await recordAttempts(database, [settledAttempt(id, 'none')]);
  const { rows } = await database.query<{ name: string; statement: string; generic: string }>(
    `select name, statement, generic_plans as generic from pg_prepared_statements where name <> ''`,
  );
  // This statement only takes a lock and reads no table.
  const planned = rows.filter(({ name }) => name !== 'pass-fence');
  assert.equal(planned.length, 20, planned.map(({ name }) => name).join());
  for (const { name, generic } of planned) assert.equal(Number(generic), 1, name);
  // The queue is empty, emptied after use, and full, with statistics of the present or of an earlier state.
  const queues = ['analyze', 'delete from', 'analyze', 'vacuum analyze'].map((words) => `${words} open_deliveries`);
  // The last round forbids nested loops: with statistics of an empty table the planner may prefer another join.
  const withoutLoops = 'set enable_nestloop = off';
  for (const step of [...queues, QUEUE_UP, ...queues, QUEUE_UP, 'analyze open_deliveries', withoutLoops]) {
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

/** Queues deliveries to ten endpoints. */
const QUEUE_UP = `
  insert into open_deliveries (id, match_id, search_number, generation, lane, follows, endpoint_key)
  select gen_random_uuid(), gen_random_uuid(), i, 0, (array[0, -1, 2, 1, 1, 1, 1, 1])[1 + i % 8], true, 'endpoint' || i % 10
  from generate_series(1, 5000) as i`;

/** Indexes that are always small: they have only deliveries that are resent during an attempt. */
const SMALL_INDEXES = ['open_resent'];
/** Scans of these indexes must have a condition on the first column. For other indexes any condition is sufficient. */
const LEADING: Readonly<Record<string, string>> = { open_undecided: 'match_id', open_endpoint: 'endpoint_key' };

/** The indexes that a plan reads from end to end, except those read for their first row alone. */
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

/** About the number of deliveries that an endpoint collects in an hour of outage. */
const SKEWED_ROWS = 300_000;
const FRESH = 40;
/** Healthy endpoints' deliveries have larger ids than the skewed endpoint's; a quarter are overdue retries. */
const skewed = (lane: number, dueIn: string): string => `
  truncate open_deliveries;
  insert into open_deliveries (id, match_id, search_number, generation, lane, follows, endpoint_key, due_at)
  select ${idOf('i')}, gen_random_uuid(), i, 0, ${lane}, true, 'skewed', now() + interval '${dueIn}'
  from generate_series(1, ${SKEWED_ROWS}) as i;
  insert into open_deliveries (id, match_id, search_number, generation, lane, follows, endpoint_key, due_at)
  select ${idOf(`${SKEWED_ROWS} + i`)}, ${idOf('i')}, i, 0, (array[1, 2, 0, -1])[1 + i % 4], true, 'healthy' || i % 8,
    now() - interval '1 minute'
  from generate_series(1, ${FRESH}) as i`;
const idOf = (number: string): string => `lpad(to_hex(${number}), 32, '0')::uuid`;

const WAITING_MAIL = `
  insert into mail_items (id, client_id, search_number, match_id, property_uuid, kind, endpoint, endpoint_key, reason,
    gathers_from, due_at)
  select ${idOf('i')}, ${idOf('i / 100000')}, 1, ${idOf('i')}, ${idOf('i')}, 'property.ad.create', 'mailto:a@b.c', 'key' || i, '{}',
    now(), case when i < 100000 then now() + interval '1 week' else now() end
  from generate_series(1, 100040) as i`;

/** The order matters: the statements of each state are also planned with the statistics of the state before. */
const SKEWED_QUEUES: Readonly<Record<string, string>> = {
  'waiting for their hour': `${skewed(-1, '1 hour')}; ${WAITING_MAIL}; analyze mail_items`,
  'queued again': skewed(2, '-1 second'),
  queued: skewed(1, '-1 second'),
  paused: `${skewed(1, '-1 second')};
    insert into endpoints (key, url, operator_paused_at) select 'paused' || i, 'u', now() from generate_series(1, 5000) as i;
    insert into endpoints (key, url, operator_paused_at) values ('skewed', 'u', now())`,
  resuming: `update endpoints set operator_paused_at = null, is_resuming = true where key = 'skewed'`,
  'behind an earlier one': skewed(0, '-1 second'),
};
/** Of 300,000 rows. */
const ROWS_READ_MAX = 256;
const PAGES_READ_MAX = 768;

test('the statements of the queue read at most 256 rows, however many deliveries wait at one endpoint', async (t) => {
  const database = await openTested(t, 'pipeline');
  const sent = await preparedBy(database, () => useQueue(database));
  for (const [state, fill] of Object.entries(SKEWED_QUEUES)) {
    await database.query(fill);
    for (const statistics of ['former', 'present']) {
      if (statistics === 'present') await database.query('analyze open_deliveries');
      for (const { name, execution } of sent) {
        const plan = await explained(database, execution);
        const { rows, pages } = readBy(plan);
        const about = `${name}, ${state}, ${statistics} statistics: ${rows} rows, ${pages} pages`;
        assert.ok(rows <= ROWS_READ_MAX && pages <= PAGES_READ_MAX, `${about}\n${JSON.stringify(plan, null, 1)}`);
      }
    }
  }
});

const BURST_ROWS = 20_000;
const BURST_SETTLED = 100;
/** Keys as long as real ones make the index open_endpoint one level deeper than the primary key. */
const burstKeyOf = (name: string): string => name.padEnd(32, 'x');
const BURST = `
  insert into open_deliveries (id, match_id, search_number, generation, follows, endpoint_key, claimed_by, attempt_count)
  select ${idOf('i')}, gen_random_uuid(), i, 0, true, rpad((array['skewed', 'healthy' || i % 64])[1 + i % 2], 32, 'x'),
    claim, coalesce(claim, 0)
  from generate_series(1, ${BURST_ROWS}) as i, lateral (select case when i <= ${BURST_SETTLED} then 1 end as claim) as claimed`;

test('after statistics of an empty queue, the statements of the queue read at most 256 rows in a burst', async (t) => {
  const url = await ownDatabase(t);
  const database = openTestDatabase(t, url, 1, 'pipeline');
  const reader = openTestDatabase(t, url, 1);
  const idAt = (number: number): Uuid => number.toString(16).padStart(32, '0') as Uuid;
  const settled = Array.from({ length: BURST_SETTLED }, (_, i) => ({
    ...settledAttempt(idAt(i + 1), burstKeyOf('skewed')),
    after: { state: 'retry_wait', dueAt: new Date() } as const,
  }));
  const sent = await preparedBy(database, async () => {
    await useQueue(database, burstKeyOf);
    await claimDeliveries(database, 1, [idAt(BURST_ROWS)], new Date());
    await recordAttempts(database, settled);
  });
  for (const isSnapshotHeld of [false, true]) {
    await database.query(`truncate open_deliveries; ${BURST}`);
    if (isSnapshotHeld) await reader.query('begin isolation level repeatable read; select pg_current_snapshot()');
    await database.query('delete from open_deliveries');
    await database.query('analyze open_deliveries');
    await database.query(BURST);
    for (const { name, execution } of sent) {
      const plan = await explained(database, execution);
      const { rows } = readBy(plan);
      const about = `${name}, ${isSnapshotHeld ? 'with an open snapshot' : 'alone'}: ${rows} rows`;
      assert.ok(rows <= ROWS_READ_MAX, `${about}\n${JSON.stringify(plan, null, 1)}`);
    }
  }
});

/** Sends the statements of the queue, for the skewed endpoint, healthy endpoints, and one without any delivery. */
async function useQueue(database: DatabasePool, keyOf = (name: string): string => name): Promise<void> {
  const [start, skewedId, freshId] = [0, 1, SKEWED_ROWS + 1].map((n) => n.toString(16).padStart(32, '0')) as [
    Uuid,
    Uuid,
    Uuid,
  ];
  const ids = [skewedId, freshId];
  const ranges = ['skewed', 'healthy1', 'healthy2', 'none'].flatMap((name) =>
    LANES.map((lane) => ({ endpointKey: keyOf(name), lane, position: start, count: 64 })),
  );
  await readDue(database, ranges);
  await readDueLanes(database);
  await releaseExpiredHolds(database, start, freshId, 100);
  await readOverdueRetries(database, 5_000, null, 100);
  await releaseRetries(database, [{ id: freshId, endpointKey: 'healthy1', attemptCount: 0, startedAt: new Date() }]);
  await registerHolder(database, 1);
  await writeHeartbeat(database, 1);
  await claimDeliveries(database, 1, ids, new Date());
  await giveBack(database, 1, ids);
  await recordAttempts(
    database,
    ids.map((id) => settledAttempt(id, 'skewed')),
  );
  await readMailTurns(database, 256);
  await readAbandonedMails(database, 100);
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}

interface Read {
  readonly rows: number;
  readonly pages: number;
}

const sumOf = (reads: readonly Read[]): Read => ({
  rows: reads.reduce((sum, { rows }) => sum + rows, 0),
  pages: reads.reduce((sum, { pages }) => sum + pages, 0),
});
const pagesOf = (node: PlanNode): number => node['Shared Hit Blocks'] + node['Shared Read Blocks'];

/** Counts the rows that scans read and joins discard. Pages of writing nodes are left out. */
function readBy(node: PlanNode): Read {
  const below = node.Plans ?? [];
  const compared = { rows: (node['Rows Removed by Join Filter'] ?? 0) * node['Actual Loops'], pages: 0 };
  const perLoop =
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  const pages = below.reduce((left, each) => left - pagesOf(each), pagesOf(node));
  const own = /Seq Scan|Index/.test(node['Node Type']) ? [{ rows: perLoop * node['Actual Loops'], pages }] : [];
  return sumOf([compared, ...own, ...below.map(readBy)]);
}

/** Explains one execution with the connection's own plan, and rolls it back. */
async function explained(database: DatabasePool, execution: string): Promise<PlanNode> {
  await database.query('begin');
  const { rows } = await database.query(`explain (analyze, buffers, timing off, format json) ${execution}`);
  await database.query('rollback');
  return rows[0]['QUERY PLAN'][0].Plan;
}

/** Resolves with the statements that `work` prepares on the only connection, to be executed with the same values. */
async function preparedBy(
  database: DatabasePool,
  work: () => Promise<void>,
): Promise<readonly { readonly name: string; readonly execution: string }[]> {
  const client = await database.connect();
  const executions = new Map<string, string>();
  const query = client.query.bind(client) as (...of: readonly unknown[]) => unknown;
  const literal = (value: Parameter): string =>
    value === null ? 'null' : client.escapeLiteral(value instanceof Date ? value.toISOString() : value.toString());
  Object.assign(client, {
    query(statement: string | Partial<Statement>, ...more: readonly unknown[]) {
      if (typeof statement === 'object' && statement.name !== undefined) {
        const parameters = (statement.values ?? []).map(literal).join();
        executions.set(statement.name, `execute "${statement.name}" ${parameters === '' ? '' : `(${parameters})`}`);
      }
      return query(statement, ...more);
    },
  });
  client.release();
  await work();
  // This statement only takes a lock and reads no table.
  executions.delete('pass-fence');
  return [...executions].map(([name, execution]) => ({ name, execution }));
}

function settledAttempt(id: Uuid, endpointKey: string): Parameters<typeof recordAttempts>[1][number] {
  return {
    id,
    searchNumber: searchNumberOf(1),
    matchId: id,
    endpointKey,
    lane: 'first',
    holder: 1,
    attemptCount: 1,
    outcome: { startedAt: new Date(), durationMs: 1, statusCode: 200, error: null, reason: null, responseHead: null },
    after: { state: 'delivered', dueAt: null },
    retryInMs: 0,
  };
}

test('conditions on indexed columns do not use times computed within the statement, which an index cannot use', async (t) => {
  const database = await openTested(t);
  const { rows } = await database.query<{ name: string }>(
    `select distinct attname as name from pg_index join pg_attribute on attrelid = indexrelid
     where indrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)`,
  );
  const indexed = new Set(rows.map(({ name }) => name));
  assert.ok(indexed.has('due_at'));
  const files = await readdir('src', { recursive: true });
  const bounds = await Promise.all(
    files
      .filter((file) => file.endsWith('.ts'))
      .map(async (file) => {
        const text = await readFile(`src/${file}`, 'utf8');
        return [...text.matchAll(/(\w+)\)? *[<>]=? *\(?clock_timestamp/g)].map(
          ([, column = '']) => `${column} in ${file}`,
        );
      }),
  );
  assertNone(bounds.flat().filter((bound) => indexed.has(bound.split(' ')[0] ?? '')));
});

test('writes of one turn of the event loop are sent together and in order', async (t) => {
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
  const socket = new CorkedSocket();
  await once(socket.connect(await listenOnLoopback(t, server), '127.0.0.1'), 'connect');
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
