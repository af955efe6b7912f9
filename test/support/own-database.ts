/**
 * Databases for tests that do not affect the server. All files of a process share one PostgreSQL, and each test has a
 * copy of a migrated database. Files whose tests kill, stop or configure a server start their own
 * (`startTestPostgres`).
 */

import { after } from 'node:test';
import { migrate } from '../../src/engine/store/database.ts';
import { queryOnce } from './database.ts';
import { type Cleanup, startTestPostgres, type TestPostgres } from './servers.ts';

const TEMPLATE = 'migrated';

let shared: Promise<TestPostgres> | null = null;
let count = 0;
/** Copies are made one at a time, because PostgreSQL copies a database only while there are no connections to it. */
let copying: Promise<unknown> = Promise.resolve();

let closeShared: () => Promise<void> = () => Promise.resolve();

/** Ends the server; the next call of `ownDatabase` starts another. */
export async function endSharedServer(): Promise<void> {
  shared = null;
  await closeShared();
}
// Ends the server after all tests of the process.
after(endSharedServer);

/** Returns the URL. The database is dropped with the test, even if connections are open. */
export async function ownDatabase(cleanup: Cleanup): Promise<string> {
  shared ??= startWithTemplate();
  const server = await shared;
  const name = `test_${(count += 1)}`;
  copying = copying.then(() =>
    queryOnce(server.superuserUrl, `create database ${name} template ${TEMPLATE} owner vigie`),
  );
  await copying;
  cleanup.after(async () => {
    if (shared !== null) await queryOnce(server.superuserUrl, `drop database ${name} with (force)`);
  });
  return urlOf(server.url, name);
}

async function startWithTemplate(): Promise<TestPostgres> {
  const server = await startTestPostgres({
    after(stop) {
      closeShared = stop;
    },
  });
  await queryOnce(server.superuserUrl, `create database ${TEMPLATE} owner vigie`);
  await migrate(urlOf(server.url, TEMPLATE));
  return server;
}

function urlOf(url: string, database: string): string {
  return Object.assign(new URL(url), { pathname: `/${database}` }).href;
}
