/**
 * Measures whether the tables stop growing. The recorder records days of adverts, changes, expiries and deliveries in a
 * PostgreSQL whose clock is moved forward. Retention runs with its default settings every evening. Prints the rows and
 * megabytes of the tables, and how fast retention removes rows.
 */

import { parseArgs } from 'node:util';
import { readConfig } from '../src/config.ts';
import { RETAINED_TABLES, type RetainedTable } from '../src/engine/domain/retention.ts';
import { sweep } from '../src/engine/maintenance/retention.ts';
import { createClient } from '../src/engine/store/clients.ts';
import { type Database, migrate, openDatabase } from '../src/engine/store/database.ts';
import { FEATURES } from '../src/features.ts';
import { startTestPostgres } from '../test/support/servers.ts';
import { simulateClock } from '../test/support/simulated-clock.ts';
import { startSimulatedMarket } from '../test/support/simulated-market.ts';
import { SMOKE, sized } from './smoke.ts';

const { values: options } = parseArgs({
  options: {
    ...SMOKE,
    days: { type: 'string', default: sized('130', '3') },
    /** New properties each day. */
    properties: { type: 'string', default: sized('50', '5') },
    /** Days until an advert expires. */
    listed: { type: 'string', default: sized('10', '1') },
    json: { type: 'boolean', default: false },
  },
});
const SEARCHES = 100;
const PRINT_EVERY_DAYS = 10;
const MB = 1_048_576;
const say = (line: string): void => (options.json ? console.error(line) : console.log(line));

interface Size {
  readonly rows: number;
  readonly bytes: number;
}
type Sizes = Readonly<Record<RetainedTable, Size>>;

/** Vacuums first, as autovacuum would have done within a real day. */
async function sizesOf(database: Database): Promise<Sizes> {
  const sizes: Partial<Record<RetainedTable, Size>> = {};
  for (const table of RETAINED_TABLES) {
    await database.query(`vacuum analyze ${table}`);
    const { rows } = await database.query<Size>(
      `select count(*)::integer as rows, pg_total_relation_size('${table}')::float8 as bytes from ${table}`,
    );
    sizes[table] = rows[0] as Size;
  }
  return sizes as Sizes;
}

function lineOf(day: string, cells: readonly string[]): string {
  return [day.padStart(4), ...cells.map((cell) => cell.padStart(14))].join(' ');
}

function printSizes(day: number, sizes: Sizes): void {
  const cells = SHOWN.map((table) => `${sizes[table].rows} ${(sizes[table].bytes / MB).toFixed(1)}`);
  say(lineOf(String(day), cells));
}

const SHOWN = RETAINED_TABLES.filter((table) => table !== 'endpoints' && table !== 'instances');
const closers: (() => Promise<void>)[] = [];
try {
  const days = Number(options.days);
  const postgres = await startTestPostgres({ after: (work) => void closers.push(work) });
  const clock = await simulateClock(postgres.url);
  await migrate(postgres.url);
  const database = openDatabase({ url: postgres.url, connectionsMax: 4, onConnectionLost: () => undefined });
  closers.push(() => database.end());
  const { id: clientId } = await createClient(database, { name: 'benchmark' });
  const market = await startSimulatedMarket({
    database,
    clock,
    clientId,
    propertiesPerDay: Number(options.properties),
    listedDays: Number(options.listed),
    searches: SEARCHES,
    endpoint: 'https://hooks.example',
    backloggedOnFirstDay: 0,
  });
  closers.push(() => market.stop());
  const { retentionDays } = readConfig({});
  say(`retention in days: ${JSON.stringify(retentionDays)}; each column: rows, and MB with indexes`);
  say(lineOf('day', SHOWN));
  const history: Sizes[] = [];
  let removedRows = 0;
  let sweepMs = 0;
  for (let day = 1; day <= days; day++) {
    await market.live();
    const swept = await sweep({ database, days: retentionDays, features: FEATURES }, { restFactor: 0 });
    removedRows += Object.values(swept.removed).reduce((sum, count) => sum + count, 0);
    sweepMs += swept.durationMs;
    history.push(await sizesOf(database));
    if (day % PRINT_EVERY_DAYS === 0) printSizes(day, history.at(-1) as Sizes);
  }
  const last = history.at(-1) as Sizes;
  const before = history.at(-1 - 2 * PRINT_EVERY_DAYS) ?? last;
  const growth = SHOWN.map((table) => [
    table,
    { rows: last[table].rows - before[table].rows, bytes: last[table].bytes / before[table].bytes - 1 },
  ]) as [RetainedTable, Size][];
  const grown = growth.map(([table, { rows, bytes }]) => `${table} ${rows} rows ${(100 * bytes).toFixed(1)} %`);
  say(`over the last ${2 * PRINT_EVERY_DAYS} days: ${grown.join(', ')}`);
  const removedPerSecond = Math.round((1_000 * removedRows) / Math.max(1, sweepMs));
  say(`removed ${removedRows} rows in ${sweepMs} ms without rests: ${removedPerSecond} rows/s`);
  if (options.json) {
    console.log(
      JSON.stringify({ days, retentionDays, removedRows, removedPerSecond, growth: Object.fromEntries(growth), last }),
    );
  }
} finally {
  for (const close of closers.reverse()) await close();
}
