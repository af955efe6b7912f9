/**
 * An untuned PostgreSQL of a distribution, whose defaults include JIT compilation. Compiling takes a hundred times as
 * long as executing, so the daemon's session settings turn JIT compilation off.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApiKey, startDaemon } from '../support/daemon.ts';
import { queryOnce } from '../support/database.ts';
import { findExternalPostgres, startExternalPostgres } from '../support/external-postgres.ts';
import { openPriceStory, STORY_SETTINGS } from '../support/price-story.ts';
import { lastFirst, startTestNats } from '../support/servers.ts';

interface Counted {
  readonly query: string;
  readonly calls: number;
  readonly meanMs: number;
  readonly compiled: number;
}

test('no statement of a daemon is compiled on a PostgreSQL with its defaults', async (t) => {
  const missing = await findExternalPostgres().then(
    () => null,
    (error: Error) => error.message,
  );
  if (missing !== null) return t.skip(`no PostgreSQL of a distribution here: ${missing}`);
  const cleanup = lastFirst(t);
  const postgres = await startExternalPostgres(cleanup, { shared_preload_libraries: 'pg_stat_statements' });
  assert.deepEqual(await queryOnce(postgres.url, 'show jit'), [{ jit: 'on' }], 'the distribution enables JIT');
  await queryOnce(postgres.superuserUrl, 'create extension pg_stat_statements');
  const servers = { postgres, nats: await startTestNats(cleanup) };
  const daemon = await startDaemon(cleanup, servers, STORY_SETTINGS);
  const story = await openPriceStory(cleanup, [servers.nats.url]);
  await story.begin(daemon, await createApiKey(servers));
  await story.tell(5);
  await story.audit(postgres.url);
  const methods = await queryOnce(
    postgres.url,
    'select distinct pg_column_compression(document) as method from snapshots where length(document) > 1000',
  );
  assert.deepEqual(methods, [{ method: 'lz4' }], 'this server supports lz4');
  const counted = (await queryOnce(
    postgres.superuserUrl,
    `select regexp_replace(query, '\\s+', ' ', 'g') as query, calls::int, mean_exec_time as "meanMs", jit_functions::int as compiled
     from pg_stat_statements where userid = 'vigie'::regrole order by total_exec_time desc`,
  )) as readonly Counted[];
  assert.ok(counted.length > 10, 'the statements of the daemon are counted');
  const line = ({ query, calls, meanMs }: Counted): string =>
    `${meanMs.toFixed(2)} ms, ${calls}: ${query.slice(0, 70)}`;
  for (const each of counted.slice(0, 5)) t.diagnostic(line(each));
  assert.deepEqual(counted.filter(({ compiled }) => compiled > 0).map(line), []);
});
