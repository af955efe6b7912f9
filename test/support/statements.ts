/** Statements that a recording transaction ends with, run by themselves. */

import type { Queryable, Statement } from '../../src/engine/store/database.ts';

export async function runStatements(client: Queryable, statements: readonly Statement[]): Promise<void> {
  for (const { values, ...statement } of statements) await client.query({ ...statement, values: [...values] });
}
