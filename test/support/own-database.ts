/**
 * Databases for tests that leave the server alone: one PostgreSQL for all files of a process, and for each test a copy of
 * a migrated database. A file has a server of its own where it kills, stops or sets it (`startTestPostgres`).
 */

import { after } from 'node:test';
import { migrate } from '../../src/engine/store/database.ts';
import { queryOnce } from './database.ts';
import { type Cleanup, startTestPostgres, type TestPostgres } from './servers.ts';

const TEMPLATE = 'migrated';

let shared: Promise<TestPostgres> | null = null;
let count = 0;
/** PostgreSQL copies a database that nobody is connected to. */
let copying: Promise<unknown> = Promise.resolve();

let closeShared: () => Promise<void> = () => Promise.resolve();

/** The next one that asks starts another. */
export async function endSharedServer(): Promise<void> {
  shared = null;
  await closeShared();
}
// With the file that loads this module.
after(endSharedServer);

/** Its URL; gone with the test, whoever is connected. */
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
