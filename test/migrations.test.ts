/** Migrations only add, or say that they do not: older versions work beside newer ones (src/store/schema.ts). */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const DIRECTORY = new URL('../src/store/migrations/', import.meta.url);
/** What a version that knows nothing of it would stumble over. */
const TAKES_AWAY =
  /\b(?:drop|truncate|rename|alter column|set not null|add constraint|add check|add unique|create unique index)\b|\badd column \w+ [^,;]*\bnot null\b(?![^,;]*\bdefault\b)/i;

/** The words of it; null when it only adds. What a migration makes of its own tables, nobody has seen before. */
function takenBy(text: string): string | null {
  const sql = text.replace(/--.*$/gm, '');
  const created = [...sql.matchAll(/\bcreate (?:unlogged )?table (\w+)/gi)].map(([, table]) => table);
  const concernsOthers = sql.replace(/\bcreate unique index \w+ on (\w+)[^;]*/gi, (statement, table: string) =>
    created.includes(table) ? '' : statement,
  );
  return TAKES_AWAY.exec(concernsOthers)?.[0] ?? null;
}

const names = readdirSync(fileURLToPath(DIRECTORY)).sort();

test('every migration has a number of its own, of four digits', () => {
  const numbers = names.map((name) => /^(\d{4})_[a-z-]+\.sql$/.exec(name)?.[1] ?? name);
  assert.deepEqual([...new Set(numbers)], numbers);
  assert.ok(
    numbers.every((number) => /^\d{4}$/.test(number)),
    numbers.join(),
  );
});

test('a migration that takes something away keeps older versions out, by its own number', () => {
  const [, ...later] = names;
  for (const name of later) {
    const sql = readFileSync(new URL(name, DIRECTORY), 'utf8');
    const taken = takenBy(sql);
    const says = sql.includes(`require_migration(${Number.parseInt(name, 10)})`);
    assert.ok(taken === null || says, `${name}: "${taken}" without select require_migration(…)`);
  }
});

test('what takes away is recognised', () => {
  for (const sql of [
    'alter table searches drop column title',
    'alter table searches rename column title to name',
    'alter table a add column b text not null',
    'create unique index a on b (c)',
  ]) {
    assert.ok(takenBy(sql) !== null, sql);
  }
  for (const sql of [
    'alter table a add column b integer',
    "alter table a add column b text not null default ''",
    'create table a (b integer); create unique index c on a (b)',
    '-- drop table a',
  ]) {
    assert.equal(takenBy(sql), null);
  }
});
