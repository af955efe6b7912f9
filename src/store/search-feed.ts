/**
 * What the matcher polls to know every search. A poll answers the rows written since the last one and a new horizon:
 * the oldest transaction that was still running in the poll's own snapshot. A write that commits late carries a
 * revision at or above that horizon, so the next poll finds it; some rows are answered twice, none is skipped.
 */

import type { SearchNumber } from '../domain/ids.ts';
import type { SearchMembers } from '../domain/search.ts';
import { type Database, type Queryable, transaction } from './database.ts';
import { membersOfStored, type StoredMembers } from './searches.ts';

export interface SearchChange {
  readonly number: SearchNumber;
  /** Null: deleted. */
  readonly members: SearchMembers | null;
}

/** Opaque: hand it to the next poll. Null asks for everything. */
export type SearchHorizon = string;

/** Who takes a change in may ask for time before the next one: searches as large as they may be take milliseconds each. */
export type OnSearch = (change: SearchChange) => Promise<void> | undefined;

/** As many searches as large as they may be take seconds to be taken in, and a hundred megabytes. */
const PAGE_ROWS = 250;
/** PostgreSQL has nothing to do for the reader meanwhile; he locks no rows. */
const IDLE_MAX_MS = 60_000;

interface FeedRow {
  readonly number: SearchNumber;
  readonly members: StoredMembers | null;
}

/**
 * Calls `onSearch` for every search written since `horizon`, in bounded memory. All pages and the new horizon are one
 * snapshot. What `onSearch` throws ends the poll; the old horizon then still holds.
 */
export async function changedSince(
  database: Database,
  horizon: SearchHorizon | null,
  onSearch: OnSearch,
): Promise<SearchHorizon> {
  return transaction(database, async (connection) => {
    await connection.query(
      `set transaction isolation level repeatable read, read only;
       set local idle_in_transaction_session_timeout = ${IDLE_MAX_MS}`,
    );
    const { rows: taken } = await connection.query<{ horizon: string }>(
      'select pg_snapshot_xmin(pg_current_snapshot())::text as horizon',
    );
    // Everything: one sequential scan of the live rows. Since a horizon: served by searches_revision.
    await connection.query({
      text: `declare feed no scroll cursor for
        select number, case when deleted_at is null then members end as members from searches
        where ${horizon === null ? 'deleted_at is null' : `revision >= '${xid8(horizon)}'`}`,
    });
    for await (const rows of pagesOfFeed(connection)) {
      for (const { number, members } of rows) {
        const pause = onSearch({ number, members: members === null ? null : membersOfStored(members) });
        if (pause !== undefined) await pause;
      }
    }
    return (taken[0] as { horizon: string }).horizon;
  });
}

/** Whether `horizon` is of an older database than `former`: it was restored meanwhile, and transactions count anew. */
export function isSetBack(horizon: SearchHorizon, former: SearchHorizon | null): boolean {
  return former !== null && BigInt(horizon) < BigInt(former);
}

/**
 * A database that was restored from a dump holds the transactions of the old cluster as revisions: each poll would find
 * all that lie ahead of the new cluster's. They become this transaction. Resolves with their number. Served by
 * searches_revision.
 */
export async function renumberRestored(database: Queryable): Promise<number> {
  const { rowCount } = await database.query(
    `update searches set revision = pg_current_xact_id()
     where revision >= pg_snapshot_xmax(pg_current_snapshot())`,
  );
  return rowCount ?? 0;
}

/** PostgreSQL reads the next page while this process takes in the last one. */
async function* pagesOfFeed(connection: Queryable): AsyncGenerator<readonly FeedRow[]> {
  const fetch = () => connection.query<FeedRow>(`fetch ${PAGE_ROWS} from feed`);
  let ahead = fetch();
  try {
    for (;;) {
      const { rows } = await ahead;
      if (rows.length === 0) return;
      ahead = fetch();
      yield rows;
    }
  } finally {
    // The consumer may have thrown; what becomes of a page that nobody reads is no error of its own.
    await ahead.catch(() => undefined);
  }
}

/** DECLARE takes no parameters: only digits may get into its text. */
function xid8(horizon: SearchHorizon): string {
  if (!/^\d{1,20}$/.test(horizon)) throw new TypeError(`not a search horizon: ${JSON.stringify(horizon)}`);
  return horizon;
}
