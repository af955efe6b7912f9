/** Property documents at the time of a change, so that a retry five hours later sends the same bytes. */

import type { Uuid } from '../domain/ids.ts';
import { arrayLiteral, joinedJson, jsonTexts } from './array-literal.ts';
import type { Queryable, Statement } from './database.ts';
import { statementShares } from './statement-share.ts';

export interface Snapshot {
  readonly id: Uuid;
  /** JSON text. */
  readonly document: string;
}

export function insertSnapshots(snapshots: readonly Snapshot[]): readonly Statement[] {
  return statementShares(snapshots, ({ document }) => document.length).map((share) => ({
    name: 'insert-snapshots',
    text: `
      insert into snapshots (id, document)
      select * from unnest($1::uuid[], ${jsonTexts('$2')})`,
    values: [arrayLiteral(share.map(({ id }) => id)), joinedJson(share.map(({ document }) => document))],
  }));
}

/** Served by the primary key. */
export async function readDocuments(client: Queryable, ids: readonly Uuid[]): Promise<readonly Snapshot[]> {
  const { rows } = await client.query<Snapshot>({
    name: 'read-documents',
    text: 'select id, document from snapshots where id = any($1::uuid[])',
    values: [ids],
  });
  return rows;
}
