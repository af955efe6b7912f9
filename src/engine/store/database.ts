/** The PostgreSQL connection pool, transactions and migrations. */

import pg from 'pg';
import { databaseServers, databaseUnreachable } from './database-servers.ts';
import { noteSession, watchedClients } from './dead-connections.ts';
import { migrate as migrateOver, type SchemaState, type UpgradeOptions } from './schema.ts';
import { beginSession, PLANS } from './session-settings.ts';

/** A pool or one of its connections, which runs single statements. */
export type Queryable = Pick<pg.PoolClient, 'query'>;

export interface Database extends Queryable {
  /** Resolves with one connection for several statements. The caller must call its `release`. */
  connect(): Promise<pg.PoolClient>;
}

/** The type of a parameter that the client library can write. Converting values of other types could fail. */
export type Parameter = string | number | boolean | Date | Buffer | null;

/** A statement with all its parameters, ready to be sent. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly Parameter[];
}

/** The last statements of a transaction, and its result. */
export interface LastStatements<T> {
  readonly last: readonly Statement[];
  readonly result: T;
}

export interface Committed<T> {
  readonly result: T;
  /** The answers to the last statements, in their order. */
  readonly answers: readonly pg.QueryResult[];
}

/** The connection broke before the commit was answered, so it is unknown whether the transaction was committed. */
export class CommitUnknownError extends Error {
  readonly code = 'COMMIT_UNKNOWN';
}

/** The client library could not write a statement. This is a bug, and the connection is unusable. */
class UnsentError extends Error {
  readonly code = 'STATEMENT_UNSENT';
}

/** The pool itself, for the code that opens, measures and ends it. */
export type DatabasePool = pg.Pool;

export interface DatabaseOptions {
  readonly url: string;
  readonly connectionsMax: number;
  /** The planner settings for the statements of the pool; `requests` by default. */
  readonly plans?: keyof typeof PLANS;
  /** The time after which PostgreSQL cancels a statement; never by default. */
  readonly statementTimeoutMs?: number;
  /** Called when an idle connection has broken. The pool opens another connection on demand. */
  readonly onConnectionLost?: (error: Error) => void;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** Idle time before the kernel probes a connection. */
const KEEP_ALIVE_MS = 10_000;

export function openDatabase(options: DatabaseOptions): DatabasePool {
  const servers = databaseServers(options.url);
  const { plans = 'requests', statementTimeoutMs = 0 } = options;
  const settings = { ...PLANS[plans], statement_timeout: statementTimeoutMs };
  const pool = new pg.Pool({
    connectionString: servers.url,
    Client: watchedClients(servers),
    max: options.connectionsMax,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'vigie',
    // A statement may be sent before the previous one is answered. The statements still run in order.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    onConnect: async (client) => noteSession(client, await beginSession(client, settings)),
  });
  pool.on('error', (error) => {
    // A pool that is ending does not wait for answers, so the server may close a connection first.
    if (pool.ending) return;
    // The pool attaches the whole connection to the error. It would fill five kilobytes of log and show the cancel key.
    Reflect.deleteProperty(error, 'client');
    options.onConnectionLost?.(error);
  });
  // The pool listens only to idle connections, and an unhandled error event ends the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Throws `DatabaseUnreachableError` if PostgreSQL refuses the connection or does not answer. */
export async function assertReachable(url: string): Promise<void> {
  const client = await connectOnce(url);
  await client.end();
}

/**
 * Upgrades the schema to this version. Throws `DatabaseUnreachableError` if PostgreSQL refuses the connection or does
 * not answer, and `SchemaError` if this version must not work on the database or cannot lock a table.
 */
export async function migrate(url: string, options: UpgradeOptions = {}): Promise<SchemaState> {
  const client = await connectOnce(url);
  try {
    return await migrateOver(client, options);
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
  // The statement that fails reports a broken connection.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await beginSession(client, {});
    return client;
  } catch (cause) {
    void client.end();
    throw databaseUnreachable(url, cause as Error);
  }
}

/**
 * Runs `work` in one transaction, which is committed if `work` resolves and rolled back if it rejects. Throws the error
 * of `work`, the error that broke the connection, or `CommitUnknownError` if the result of the commit is unknown.
 */
export async function transaction<T>(database: Database, work: (client: Queryable) => Promise<T>): Promise<T> {
  const { result } = await pipelinedTransaction(database, async (client) => ({ last: [], result: await work(client) }));
  return result;
}

/**
 * Like `transaction`, but sends the last statements together with the commit. Such a commit includes every statement of
 * the transaction that has reached PostgreSQL. Therefore `work` returns the last statements instead of sending them.
 * All are complete before the first one is sent, and `work` can send no more after it has settled.
 */
export async function pipelinedTransaction<T>(
  database: Database,
  work: (client: Queryable) => Promise<LastStatements<T>>,
): Promise<Committed<T>> {
  const client = await database.connect();
  let broken: Error | undefined;
  let isCommitting = false;
  // A connection that breaks between two statements emits events, of which the first has the cause.
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
    // The rollback is answered last, so no statement is running when the connection returns to the pool.
    await client.query('rollback').catch((cause: Error) => {
      broken ??= cause;
    });
    // The client library considers the statement prepared, but PostgreSQL has not received it.
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

/** Refuses statements after `work` has settled: they would run in another transaction or in none. */
async function withinWork<T>(client: pg.PoolClient, work: (client: Queryable) => Promise<T>): Promise<T> {
  let hasEnded = false;
  const query = (...statement: Parameters<typeof client.query>) =>
    hasEnded ? Promise.reject(new Error('the transaction has ended, so nothing was sent')) : client.query(...statement);
  try {
    return await work({ query: query as Queryable['query'] });
  } finally {
    hasEnded = true;
  }
}

/** Converts dates to text. Throws for an invalid date, so all statements must be converted before the first is sent. */
function withTexts({ name, text, values }: Statement): pg.QueryConfig {
  return { name, text, values: values.map((value) => (value instanceof Date ? value.toISOString() : value)) };
}

/** Throws if the client library could not write a statement. The library itself would go on with the commit. */
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
    // A rejection is handled by the code that awaits it, or reported by the error thrown below.
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

/** PostgreSQL answers the commit of a failed transaction with `ROLLBACK` instead of an error. */
function assertCommitted({ command }: pg.QueryResult): void {
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back: an earlier statement has failed');
}
