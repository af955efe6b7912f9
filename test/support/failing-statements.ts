/**
 * Loaded into a daemon before its own code (`--import`). While the file named by `FAULTS_FILE` exists, PostgreSQL
 * refuses every fifth run of a statement, once with each SQLSTATE. Each refusal adds a line to the file.
 */

import { appendFileSync, existsSync } from 'node:fs';
import pg from 'pg';

/** SQLSTATEs of five transient classes, and two that only a bug should cause. */
const SQLSTATES = ['08006', '40001', '53100', '57014', '58030', 'XX000', '42P01'] as const;

const file = process.env.FAULTS_FILE;
const runs = new Map<string, number>();
const prototype = pg.Client.prototype as unknown as { query: (...statement: unknown[]) => unknown };
const { query } = prototype;

function keyOf(statement: unknown): string {
  const { name, text = statement } = (typeof statement === 'object' ? statement : {}) as {
    name?: string;
    text?: unknown;
  };
  return name ?? String(text).trim().replaceAll(/\s+/g, ' ').slice(0, 40);
}

if (file !== undefined) {
  prototype.query = function failing(this: unknown, ...statement: unknown[]): unknown {
    const key = keyOf(statement[0]);
    if (key === 'rollback' || !existsSync(file)) return query.apply(this, statement);
    const run = (runs.get(key) ?? 0) + 1;
    runs.set(key, run);
    const state = run % 5 === 0 ? SQLSTATES[run / 5 - 1] : undefined;
    if (state === undefined) return query.apply(this, statement);
    appendFileSync(file, `${state} ${key}\n`);
    const refused = `do $$ begin raise exception 'injected into %', '${key.replaceAll("'", "''")}' using errcode = '${state}'; end $$`;
    return query.call(this, refused, ...statement.filter((each) => typeof each === 'function'));
  };
}
