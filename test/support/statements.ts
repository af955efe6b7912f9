/** Runs statements that are otherwise the last of a recording transaction. */

import type { Queryable, Statement } from '../../src/engine/store/database.ts';

export async function runStatements(client: Queryable, statements: readonly Statement[]): Promise<void> {
  for (const { values, ...statement } of statements) await client.query({ ...statement, values: [...values] });
}
