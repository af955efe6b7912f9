/** The PostgreSQL connection pool, transactions and migrations. */

import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { databaseServers } from './database-servers.ts';
import { watchedClients } from './silence.ts';

/** A pool or one connection of it: whatever runs a single statement. */
export type Queryable = Pick<pg.PoolClient, 'query'>;

export interface Database extends Queryable {
  /** One connection for several statements; its `release` must be called. */
  connect(): Promise<pg.PoolClient>;
}

/** One that is under way. */
export interface Transaction extends Queryable {
  /**
   * Sends the commit along with the statements before it: when one of them fails, PostgreSQL answers with a rollback, and
   * this rejects as well.
   */
  commit(): Promise<void>;
}

/** Its owner opens, measures and ends it. */
export type DatabasePool = pg.Pool;

export interface DatabaseOptions {
  readonly url: string;
  readonly connectionsMax: number;
  /** What its statements are planned for; `requests` unless said. */
  readonly plans?: keyof typeof PLANS;
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
  const pool = new pg.Pool({
    connectionString: servers.url,
    Client: watchedClients(servers),
    max: options.connectionsMax,
    connectionTimeoutMillis: 10_000,
    idle_in_transaction_session_timeout: TRANSACTION_IDLE_MAX_MS,
    application_name: 'vigie',
    // Statements that do not wait for each other's answers are sent together, and run in their order.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    options: optionsOf({ ...LIVENESS, ...PLANS[options.plans ?? 'requests'] }),
  });
  pool.on('error', (error) => {
    // The pool hangs the whole connection on the error: five kilobytes of a log line, with the key that cancels.
    Reflect.deleteProperty(error, 'client');
    options.onConnectionLost(error);
  });
  // From one user to the next a connection has the listener of neither, and a break that nobody hears ends the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

function optionsOf(settings: Readonly<Record<string, string | number>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

const MIGRATIONS = fileURLToPath(new URL('migrations', import.meta.url));

/** Brings the schema up to date; instances that start together wait for each other. */
export async function migrate(url: string): Promise<void> {
  const servers = databaseServers(url);
  await runner({
    databaseUrl: { connectionString: servers.url, stream: servers.openSocket },
    dir: MIGRATIONS,
    direction: 'up',
    migrationsTable: 'schema_migrations',
    advisoryLockMode: 'wait',
    checkOrder: true,
    log: () => undefined,
  });
}

/**
 * Runs `work` in one transaction: committed when it resolves, unless it has committed itself, rolled back when it throws.
 * Throws what `work` threw, or what broke the connection between two statements.
 */
export async function transaction<T>(database: Database, work: (client: Transaction) => Promise<T>): Promise<T> {
  const client = await database.connect();
  let broken: Error | undefined;
  // A connection that breaks between two statements says so in an event, which would end the process unheard. The
  // first says why.
  const onBroken = (error: Error): void => {
    broken ??= error;
  };
  client.on('error', onBroken);
  try {
    await client.query('begin');
    let committed: Promise<void> | undefined;
    const commit = (): Promise<void> => {
      committed ??= client.query('commit').then(assertCommitted);
      return committed;
    };
    const result = await work({ query: client.query.bind(client), commit });
    await commit();
    return result;
  } catch (error) {
    const reason = broken ?? error;
    await client.query('rollback').catch((cause: Error) => {
      broken = cause;
    });
    throw reason;
  } finally {
    client.off('error', onBroken);
    client.release(broken);
  }
}

/** The answer to the commit of a transaction in which a statement has failed is no error. */
function assertCommitted({ command }: pg.QueryResult): void {
  if (command !== 'COMMIT')
    throw new Error('the transaction was rolled back: a statement before its commit has failed');
}
