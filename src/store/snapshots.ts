/** Property documents as they were at a change: a retry five hours later sends the same bytes. */

import type { Uuid } from '../domain/ids.ts';
import { arrayLiteral, joinedJson, jsonTexts } from './array-literal.ts';
import type { Queryable, Statement } from './database.ts';

export interface Snapshot {
  readonly id: Uuid;
  /** JSON text. */
  readonly document: string;
}

export function insertSnapshots(snapshots: readonly Snapshot[]): readonly Statement[] {
  if (snapshots.length === 0) return [];
  return [
    {
      name: 'insert-snapshots',
      text: `
      insert into snapshots (id, document)
      select * from unnest($1::uuid[], ${jsonTexts('$2')})`,
      values: [arrayLiteral(snapshots.map(({ id }) => id)), joinedJson(snapshots.map(({ document }) => document))],
    },
  ];
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
