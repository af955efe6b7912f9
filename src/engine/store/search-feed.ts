/**
 * The matcher's poll for changed searches. A poll returns the rows that were written since the last poll, and a new
 * horizon, which is its own snapshot. The next poll finds all revisions that were not visible in that snapshot. No
 * revision is skipped or returned twice, even if a transaction stays open for long and commits late.
 */

import type { SearchNumber } from '../domain/ids.ts';
import type { SearchMembers } from '../domain/search.ts';
import { type Database, type Queryable, transaction } from './database.ts';
import { TIMELINE } from './intake-leader.ts';
import { membersOfStored, type StoredMembers } from './searches.ts';

export interface SearchChange {
  readonly number: SearchNumber;
  /** Null if the search was deleted. */
  readonly members: SearchMembers | null;
  /** True if notifications are enabled. */
  readonly isNotifying: boolean;
}

/** A snapshot (`pg_snapshot`) and the timeline, to be passed to the next poll. Null requests all searches. */
export type SearchHorizon = string;

/** A returned promise delays the next change, because indexing a search of maximum size takes milliseconds. */
export type OnSearch = (change: SearchChange) => Promise<void> | undefined;

/** Searches per page. If all have the maximum size, a page takes seconds and a hundred megabytes of memory. */
const PAGE_ROWS = 250;
/** PostgreSQL waits for the reader up to this time, which is generous, because the transaction locks no rows. */
const IDLE_MAX_MS = 60_000;

const MEMBERS = `case when deleted_at is null then members end as members, notification_enabled as "isNotifying"`;

interface FeedRow {
  readonly number: SearchNumber;
  readonly members: StoredMembers | null;
  readonly isNotifying: boolean;
}

/**
 * Calls `onSearch` for every search that was written since `horizon`, page by page. All pages and the new horizon are
 * from one snapshot. If `onSearch` throws, the poll ends and the old horizon stays valid.
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
      `select concat(pg_current_snapshot(), '@', ${TIMELINE}) as horizon`,
    );
    // Without a horizon, this is a sequential scan of all rows. With a horizon, it is served by searches_revision.
    await connection.query({
      text: `declare feed no scroll cursor for
        select number, ${MEMBERS} from searches where ${horizon === null ? 'deleted_at is null' : unseenCondition(horizon)}`,
    });
    for await (const rows of pagesOfFeed(connection)) {
      for (const { number, members, isNotifying } of rows) {
        const pause = onSearch({ number, members: members === null ? null : membersOfStored(members), isNotifying });
        if (pause !== undefined) await pause;
      }
    }
    return (taken[0] as { horizon: string }).horizon;
  });
}

/**
 * Whether `horizon` cannot follow `former`. Then the database was restored and transaction numbers went back, or a
 * standby was promoted. A promoted standby may lack changes and have used their numbers again.
 */
export function isSetBack(horizon: SearchHorizon, former: SearchHorizon | null): boolean {
  if (former === null) return false;
  const [present, before] = [unseenBy(horizon), unseenBy(former)];
  return present.timeline !== before.timeline || BigInt(present.from) < BigInt(before.from);
}

/** Revisions that were not visible at a horizon: all from `from` on, and `late` ones that were in progress. */
export interface UnseenRevisions {
  readonly from: string;
  readonly late: readonly string[];
}

export function unseenBy(horizon: SearchHorizon): UnseenRevisions & { readonly timeline: string } {
  const [, from, late, timeline] = /^\d{1,20}:(\d{1,20}):([\d,]*)@([0-9A-F]{8})$/.exec(horizon) ?? [];
  if (from === undefined || late === undefined || timeline === undefined)
    throw new TypeError(`not a search horizon: ${JSON.stringify(horizon)}`);
  return { from, late: late === '' ? [] : late.split(','), timeline };
}

/**
 * In a database that was restored from a dump, revisions are transaction numbers of the old cluster. Every poll would
 * return those that the new cluster has not reached, so this function replaces them with the current transaction.
 * Resolves with the number of replaced revisions. Served by searches_revision.
 */
export async function renumberRestored(database: Queryable): Promise<number> {
  const { rowCount } = await database.query(
    `update searches set revision = pg_current_xact_id()
     where revision >= pg_snapshot_xmax(pg_current_snapshot())`,
  );
  return rowCount ?? 0;
}

/** PostgreSQL reads the next page while this process handles the current one. */
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
    // If the consumer has thrown, its error must be reported instead of a failure to read the next page.
    await ahead.catch(() => undefined);
  }
}

/** DECLARE accepts no parameters, so `unseenBy` reduces the horizon to digits before it is put into the text. */
function unseenCondition(horizon: SearchHorizon): string {
  const { from, late } = unseenBy(horizon);
  return `(revision >= '${from}' or revision = any('{${late.join()}}'::xid8[]))`;
}
