/** The PostgreSQL connection pool, transactions and migrations. */

import pg from 'pg';
import { databaseServers } from './database-servers.ts';
import { noteSession, watchedClients } from './dead-connections.ts';
import { bringUp, type SchemaState, type UpgradeOptions } from './schema.ts';
import { databaseUnreachable } from './unreachable.ts';

/** A pool or one connection of it: whatever runs a single statement. */
export type Queryable = Pick<pg.PoolClient, 'query'>;

export interface Database extends Queryable {
  /** One connection for several statements; its `release` must be called. */
  connect(): Promise<pg.PoolClient>;
}

/** A value that needs no more work, and cannot fail any more, when it is sent. */
export type Parameter = string | number | boolean | Date | Buffer | null;

/** A statement that is ready to be sent: every parameter of it exists. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly Parameter[];
}

/** What a transaction does last, and what it came to. */
export interface Ending<T> {
  readonly last: readonly Statement[];
  readonly result: T;
}

export interface Committed<T> {
  readonly result: T;
  /** To the last statements, in their order. */
  readonly answers: readonly pg.QueryResult[];
}

/** The connection broke before the answer to a commit came: what it should have committed is there, or is not. */
export class CommitUnknownError extends Error {
  readonly code = 'COMMIT_UNKNOWN';
}

/** The client library could not write a statement: a bug, and the connection is of no use any more. */
class UnsentError extends Error {
  readonly code = 'STATEMENT_UNSENT';
}

/** Its owner opens, measures and ends it. */
export type DatabasePool = pg.Pool;

export interface DatabaseOptions {
  readonly url: string;
  readonly connectionsMax: number;
  /** What its statements are planned for; `requests` unless said. */
  readonly plans?: keyof typeof PLANS;
  /** After which PostgreSQL gives a statement up; never unless said. */
  readonly statementTimeoutMs?: number;
  /** Told of an idle connection that broke; the pool has dropped it and opens another when asked. */
  readonly onConnectionLost: (error: Error) => void;
}

const PLANS = {
  /**
   * Any statement, each time for its parameters. A plan kept from when a table was empty goes on to read all of it: a
   * minute's deliveries made claims ten times as dear.
   */
  requests: { plan_cache_mode: 'force_custom_plan' },
  /**
   * The few statements of the pipeline, each planned once a connection, which takes as long as to run one. All are
   * served by indexes, so the plan must use them, however small a table is at that moment.
   */
  pipeline: {
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
  },
} as const;

/** What every server plans and runs our statements with, whatever its own settings say. */
const PLANNING = {
  // A plan with a forced scan looks dear, and compiling it takes a hundred times as long as running it.
  jit: 'off',
  // Solid state assumed; the default of 4 is for spinning disks.
  random_page_cost: '1.1',
  work_mem: '16MB',
  // They would take the matcher's core, and a container's /dev/shm of 64 MB.
  max_parallel_workers_per_gather: '0',
} as const;

const CONNECT_TIMEOUT_MS = 10_000;
/** Before the kernel asks whether the other side of an idle connection is still there. */
const KEEP_ALIVE_MS = 10_000;

/** PostgreSQL's side: locks and statements of a process that has gone without a word are let go within half a minute. */
const LIVENESS = {
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 25_000,
  client_connection_check_interval: 10_000,
} as const;

/** A process that is frozen or cut off within a transaction holds its row locks no longer than this. */
export const TRANSACTION_IDLE_MAX_MS = 10_000;

export function openDatabase(options: DatabaseOptions): DatabasePool {
  const servers = databaseServers(options.url);
  const settings = {
    idle_in_transaction_session_timeout: TRANSACTION_IDLE_MAX_MS,
    ...LIVENESS,
    ...PLANNING,
    ...PLANS[options.plans ?? 'requests'],
    ...(options.statementTimeoutMs === undefined ? {} : { statement_timeout: options.statementTimeoutMs }),
  };
  const pool = new pg.Pool({
    connectionString: servers.url,
    Client: watchedClients(servers),
    max: options.connectionsMax,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'vigie',
    // Statements that do not wait for each other's answers are sent together, and run in their order.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    onConnect: (client) => beginSession(client, settings),
  });
  pool.on('error', (error) => {
    // It says goodbye without waiting for an answer, and the server may end first.
    if (pool.ending) return;
    // The pool hangs the whole connection on the error: five kilobytes of a log line, with the key that cancels.
    Reflect.deleteProperty(error, 'client');
    options.onConnectionLost(error);
  });
  // From one user to the next a connection has the listener of neither, and a break that nobody hears ends the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** By a statement: a pooler refuses settings with which a connection begins, and names another process than PostgreSQL. */
async function beginSession(client: pg.ClientBase, settings: Readonly<Record<string, string | number>>): Promise<void> {
  const { rows } = await client.query<{ pid: number }>(
    `select pg_backend_pid() as pid, count(set_config(name, value, false))
     from unnest($1::text[], $2::text[]) as setting(name, value)`,
    [Object.keys(settings), Object.values(settings).map(String)],
  );
  noteSession(client, (rows[0] as { pid: number }).pid);
}

/** Throws `DatabaseUnreachableError` when PostgreSQL does not let us in. */
export async function assertReachable(url: string): Promise<void> {
  const client = await connectOnce(url);
  await client.end();
}

/**
 * Brings the schema up to date. Throws `DatabaseUnreachableError` when PostgreSQL does not let us in, `SchemaError` when
 * this version may not work there.
 */
export async function migrate(url: string, options: UpgradeOptions = {}): Promise<SchemaState> {
  const client = await connectOnce(url);
  try {
    return await bringUp(client, options);
  } finally {
    await client.end();
  }
}

async function connectOnce(url: string): Promise<pg.Client> {
  const servers = databaseServers(url);
  const client = new pg.Client({
    connectionString: servers.url,
    stream: servers.openSocket,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // A break is reported by the statement that it stops.
  client.on('error', () => undefined);
  await client.connect().catch((cause: Error) => {
    throw databaseUnreachable(url, cause);
  });
  return client;
}

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it rejects. Throws what `work` threw, or
 * what broke the connection between two statements; `CommitUnknownError` when nobody can know.
 */
export async function transaction<T>(database: Database, work: (client: Queryable) => Promise<T>): Promise<T> {
  const { result } = await pipelinedTransaction(database, async (client) => ({ last: [], result: await work(client) }));
  return result;
}

/**
 * Likewise, with the last statements and the commit sent together. A commit sent along commits whatever of a transaction
 * has reached PostgreSQL, so it is not for `work` to send: its last statements are whole before the first of them is
 * sent, a `work` that rejects is rolled back however far it came, and once it has settled it can send nothing more.
 */
export async function pipelinedTransaction<T>(
  database: Database,
  work: (client: Queryable) => Promise<Ending<T>>,
): Promise<Committed<T>> {
  const client = await database.connect();
  let broken: Error | undefined;
  let isCommitting = false;
  // A connection that breaks between two statements says so in an event, which would end the process. The
  // first says why.
  const onBroken = (error: Error): void => {
    broken ??= error;
  };
  client.on('error', onBroken);
  try {
    await client.query('begin');
    const { last, result } = await withinWork(client, work);
    const answers = sendAll(client, last);
    isCommitting = true;
    const [committed, ...answered] = await Promise.all([client.query('commit'), ...answers]);
    assertCommitted(committed);
    return { result, answers: answered };
  } catch (error) {
    const reason = broken ?? error;
    // Answered after every statement before it: none of them is under way when the connection is given back.
    await client.query('rollback').catch((cause: Error) => {
      broken ??= cause;
    });
    // The client library takes the statement for prepared, and PostgreSQL knows nothing of it.
    if (error instanceof UnsentError) broken ??= error;
    if (isCommitting && broken !== undefined) {
      throw new CommitUnknownError('the connection broke before the commit was answered', { cause: reason });
    }
    throw reason;
  } finally {
    client.off('error', onBroken);
    client.release(broken);
  }
}

/** What `work` goes on to send after it has settled would run outside the transaction, or in somebody else's. */
async function withinWork<T>(client: pg.PoolClient, work: (client: Queryable) => Promise<T>): Promise<T> {
  let hasEnded = false;
  const query = (...statement: Parameters<typeof client.query>) =>
    hasEnded ? Promise.reject(new Error('the transaction has ended')) : client.query(...statement);
  try {
    return await work({ query: query as Queryable['query'] });
  } finally {
    hasEnded = true;
  }
}

/** The client library leaves out a statement whose values it cannot write, and sends what follows it. */
function withTexts({ name, text, values }: Statement): pg.QueryConfig {
  return { name, text, values: values.map((value) => (value instanceof Date ? value.toISOString() : value)) };
}

/** Throws when one could not be sent: nothing may follow it then, least of all a commit. */
function sendAll(client: pg.PoolClient, statements: readonly Statement[]): readonly Promise<pg.QueryResult>[] {
  let unsent: Error | null = null;
  const send = (statement: pg.QueryConfig): Promise<pg.QueryResult> => {
    const answer = new Promise<pg.QueryResult>((resolve, reject) => {
      let isSending = true;
      const settle = (error: Error | null, result?: pg.QueryResult): void => {
        if (isSending) unsent = error;
        if (error) reject(error);
        else resolve(result as pg.QueryResult);
      };
      try {
        client.query(statement, settle);
      } catch (error) {
        settle(error as Error);
      }
      isSending = false;
    });
    // Handled by the awaiting code, or reported by the throw.
    answer.catch(() => undefined);
    return answer;
  };
  const answers: Promise<pg.QueryResult>[] = [];
  for (const statement of statements.map(withTexts)) {
    answers.push(send(statement));
    if (unsent !== null) throw new UnsentError('a statement could not be written', { cause: unsent });
  }
  return answers;
}

/** The answer to the commit of a transaction in which a statement has failed is no error. */
function assertCommitted({ command }: pg.QueryResult): void {
  if (command !== 'COMMIT')
    throw new Error('the transaction was rolled back: a statement before its commit has failed');
}
