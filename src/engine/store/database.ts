/** The PostgreSQL connection pool, transactions and migrations. */

import pg from 'pg';
import { databaseServers, databaseUnreachable } from './database-servers.ts';
import { noteSession, watchedClients } from './dead-connections.ts';
import { migrate as migrateOver, type SchemaState, type UpgradeOptions } from './schema.ts';
import { beginSession, PLANS } from './session-settings.ts';

/** A pool or one of its connections: runs single statements. */
export type Queryable = Pick<pg.PoolClient, 'query'>;

export interface Database extends Queryable {
  /** One connection for several statements; call its `release`. */
  connect(): Promise<pg.PoolClient>;
}

/** A value that is sent without further computation, which could fail. */
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

/** The connection broke before the answer to a commit: the commit may or may not have happened. */
export class CommitUnknownError extends Error {
  readonly code = 'COMMIT_UNKNOWN';
}

/** The client library could not write a statement: a bug, and the connection is unusable. */
class UnsentError extends Error {
  readonly code = 'STATEMENT_UNSENT';
}

/** The owner of the pool opens, measures and ends it. */
export type DatabasePool = pg.Pool;

export interface DatabaseOptions {
  readonly url: string;
  readonly connectionsMax: number;
  /** The planner settings of its statements; default `requests`. */
  readonly plans?: keyof typeof PLANS;
  /** The time after which PostgreSQL cancels a statement; default never. */
  readonly statementTimeoutMs?: number;
  /** Called when an idle connection has broken; the pool then opens another one on demand. */
  readonly onConnectionLost: (error: Error) => void;
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
    // Statements that do not wait for each other's answers are sent together and run in order.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    onConnect: async (client) => noteSession(client, await beginSession(client, settings)),
  });
  pool.on('error', (error) => {
    // While the pool ends, it does not wait for answers, and the server may close the connection first.
    if (pool.ending) return;
    // The pool attaches the whole connection to the error: five kilobytes of log line, including the cancel key.
    Reflect.deleteProperty(error, 'client');
    options.onConnectionLost(error);
  });
  // An idle connection has no listener between two uses, and an unhandled error event ends the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Throws `DatabaseUnreachableError` when PostgreSQL refuses or does not answer. */
export async function assertReachable(url: string): Promise<void> {
  const client = await connectOnce(url);
  await client.end();
}

/**
 * Brings the schema up to date. Throws `DatabaseUnreachableError` when PostgreSQL refuses or does not answer,
 * `SchemaError` when this version may not work on it.
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
  // A broken connection is reported by the statement that fails.
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
 * Runs `work` in one transaction: committed when it resolves, rolled back when it rejects. Throws the error of `work`,
 * or the error that broke the connection between two statements; `CommitUnknownError` when the result is unknown.
 */
export async function transaction<T>(database: Database, work: (client: Queryable) => Promise<T>): Promise<T> {
  const { result } = await pipelinedTransaction(database, async (client) => ({ last: [], result: await work(client) }));
  return result;
}

/**
 * The same, with the last statements and the commit sent together. Such a commit commits every statement of the
 * transaction that has reached PostgreSQL. So `work` returns the last statements instead of sending them: they are
 * complete before the first is sent, a `work` that rejects is rolled back, and a settled `work` cannot send more.
 */
export async function pipelinedTransaction<T>(
  database: Database,
  work: (client: Queryable) => Promise<LastStatements<T>>,
): Promise<Committed<T>> {
  const client = await database.connect();
  let broken: Error | undefined;
  let isCommitting = false;
  // A connection that breaks between two statements emits an event, which would end the process. The first event has
  // the reason.
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
    // The rollback is answered after every earlier statement, so none is running when the connection is returned.
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

/** Statements sent after `work` has settled would run outside the transaction, or in that of another caller. */
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

/** Writes dates as text: the client library skips a statement whose values it cannot write, and sends the next ones. */
function withTexts({ name, text, values }: Statement): pg.QueryConfig {
  return { name, text, values: values.map((value) => (value instanceof Date ? value.toISOString() : value)) };
}

/** Throws when a statement could not be sent: no later statement, and above all no commit, may follow it. */
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

/** PostgreSQL answers the commit of a failed transaction with `ROLLBACK`, not with an error. */
function assertCommitted({ command }: pg.QueryResult): void {
  if (command !== 'COMMIT')
    throw new Error('the transaction was rolled back: a statement before its commit has failed');
}
