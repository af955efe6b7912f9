/**
 * The matcher's poll for searches. A poll returns the rows written since the last one, and a new horizon: its own
 * snapshot. The next poll finds the revisions that were not visible in it, including those that commit late. No
 * revision is skipped, and none is returned twice, even if a transaction stays open for long.
 */

import type { SearchNumber } from '../domain/ids.ts';
import type { SearchMembers } from '../domain/search.ts';
import { type Database, type Queryable, transaction } from './database.ts';
import { membersOfStored, type StoredMembers } from './searches.ts';

export interface SearchChange {
  readonly number: SearchNumber;
  /** Null if the search was deleted. */
  readonly members: SearchMembers | null;
  /** True if the search has notifications. */
  readonly isNotifying: boolean;
}

/** A snapshot (`pg_snapshot`), to pass to the next poll. Null requests everything. */
export type SearchHorizon = string;

/** The consumer may delay the next change by returning a promise: searches of maximum size take milliseconds each. */
export type OnSearch = (change: SearchChange) => Promise<void> | undefined;

/** Maximum searches per page: as many of maximum size take seconds to process, and a hundred megabytes of memory. */
const PAGE_ROWS = 250;
/** How long PostgreSQL waits for the reader, whose transaction locks no rows. */
const IDLE_MAX_MS = 60_000;

const MEMBERS = `case when deleted_at is null then members end as members, notification_enabled as "isNotifying"`;

interface FeedRow {
  readonly number: SearchNumber;
  readonly members: StoredMembers | null;
  readonly isNotifying: boolean;
}

/**
 * Calls `onSearch` for every search written since `horizon`, in bounded memory. All pages and the new horizon come from
 * one snapshot. An error of `onSearch` ends the poll; the old horizon then stays valid.
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
      'select pg_current_snapshot()::text as horizon',
    );
    // Without a horizon: one sequential scan of the live rows. With one: served by searches_revision.
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

/** Whether the database was restored between `former` and `horizon`, so that its transaction numbers went back. */
export function isSetBack(horizon: SearchHorizon, former: SearchHorizon | null): boolean {
  return former !== null && BigInt(unseenBy(horizon).from) < BigInt(unseenBy(former).from);
}

/** Revisions that were not visible at a horizon: those from `from` on, and `late` ones, which were in progress. */
export interface UnseenRevisions {
  readonly from: string;
  readonly late: readonly string[];
}

export function unseenBy(horizon: SearchHorizon): UnseenRevisions {
  const [, from, late] = /^\d{1,20}:(\d{1,20}):([\d,]*)$/.exec(horizon) ?? [];
  if (from === undefined || late === undefined) throw new TypeError(`not a search horizon: ${JSON.stringify(horizon)}`);
  return { from, late: late === '' ? [] : late.split(',') };
}

/**
 * In a database that was restored from a dump, revisions are transactions of the old cluster, and each poll would
 * return all that are ahead of the new cluster's counter. This replaces them with the current transaction. Resolves
 * with their number. Served by searches_revision.
 */
export async function renumberRestored(database: Queryable): Promise<number> {
  const { rowCount } = await database.query(
    `update searches set revision = pg_current_xact_id()
     where revision >= pg_snapshot_xmax(pg_current_snapshot())`,
  );
  return rowCount ?? 0;
}

/** PostgreSQL reads the next page while this process handles the last one. */
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
    // If the consumer has thrown, its error is reported, not a failure to read the next page.
    await ahead.catch(() => undefined);
  }
}

/** DECLARE takes no parameters, so the horizon is reduced to digits before it enters the text. */
function unseenCondition(horizon: SearchHorizon): string {
  const { from, late } = unseenBy(horizon);
  return `(revision >= '${from}' or revision = any('{${late.join()}}'::xid8[]))`;
}
