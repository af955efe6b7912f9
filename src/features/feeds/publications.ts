/**
 * Stores the last publications in the feature's only table. It has a row for each advert of a source. A row without a
 * reference has the results of the source's last snapshot. Any machine can continue from these rows.
 */

import { storable } from '../../engine/domain/text.ts';
import type { Database, Queryable } from '../../engine/store/database.ts';
import type { OtherKeys } from './feed-row.ts';
import type { DecimalHabits } from './numbers.ts';
import type { Planned } from './spool.ts';
import type { SnapshotOutcome } from './tally.ts';

/** One advert of a source, in memory while a snapshot is read. A hundred thousand take twenty megabytes. */
export interface Publication {
  /** Null if its first publication may not have arrived. */
  readonly hash: string | null;
  readonly publishedAtMs: number;
  /** The reference from which its ids were derived, if it has changed since; otherwise null. */
  readonly first: string | null;
  readonly keys: OtherKeys;
  /** Names of its members, separated by spaces. */
  readonly members: string;
  readonly price: number | null;
}

/** An advert with its current and its first known reference; `before`: its reference in the previous snapshot. */
export interface Carried {
  readonly reference: string;
  readonly first: string;
  readonly before?: string;
}

export function firstReference(reference: string, stored: ReadonlyMap<string, Publication>): string {
  return stored.get(reference)?.first ?? reference;
}

/** The results of a source's last snapshot: shown to operators, and used by the next check. */
export interface SourceReport extends Partial<Omit<SnapshotOutcome, 'gone'>> {
  /** When its address was requested or its file read; `gaveAt`: when it gave a new file or confirmed the last one. */
  readonly lookedAt?: string;
  readonly gaveAt?: string;
  /** When its last snapshot was read. */
  readonly readAt?: string;
  /** Path or address of the file; `version`: its version. */
  readonly from?: string;
  readonly version?: string | undefined;
  /** Decimal signs learned from the source's numbers. */
  readonly decimals?: DecimalHabits;
  /** Why the last snapshot was refused; null if it was accepted. */
  readonly refusal?: string | null;
  /** When an operator requested a snapshot; null once that request was carried out. */
  readonly requestedAt?: string | null;
}

export interface Source {
  readonly name: string;
  readonly adverts: number;
  /** Time of the last published snapshot; null if there is none. */
  readonly crawledAt: Date | null;
  /** Hash of a snapshot whose publication is running or was interrupted. */
  readonly openHash: string | null;
  readonly report: SourceReport;
  /** Start of the current reading and the bytes received; null if the source is not being read. */
  readonly reading: { readonly since: string; readonly bytes: number } | null;
}

/** Another instance or command is reading the source. */
export class SourceBusyError extends Error {
  readonly code = 'SOURCE_BUSY';
}

/**
 * Runs `work` while no other process reads the source. The lock belongs to the session, so it ends with the process,
 * and no transaction stays open. The signal that `work` gets is aborted with `stopping`, or if the session has ended.
 * Another process may then read a newer file, which this one must not overwrite.
 */
export async function withSource<T>(
  database: Database,
  source: string,
  stopping: AbortSignal,
  work: (stopping: AbortSignal) => Promise<T>,
): Promise<T> {
  const client = await database.connect();
  const ending = new AbortController();
  const stop = (): void => ending.abort(stopping.reason);
  const lose = (): void => ending.abort(new Error(`The connection that locks ${source} has ended.`));
  stopping.addEventListener('abort', stop);
  if (stopping.aborted) stop();
  client.once('end', lose);
  const lock = (call: string) =>
    client.query<{ isHeld: boolean }>(`select ${call}(hashtextextended('vigie feed ' || $1, 0)) as "isHeld"`, [source]);
  let isFree = false;
  try {
    const { rows } = await lock('pg_try_advisory_lock');
    if (rows[0]?.isHeld !== true) throw new SourceBusyError(`Another process is reading ${source}. Try again later.`);
    try {
      return await work(ending.signal);
    } finally {
      await lock('pg_advisory_unlock');
      isFree = true;
    }
  } finally {
    stopping.removeEventListener('abort', stop);
    client.off('end', lose);
    // If the lock was not released, end the session, which certainly releases it.
    client.release(!isFree);
  }
}

const PAGE_ROWS = 10_000;

interface PublicationRow extends OtherKeys, Pick<Publication, 'hash' | 'first' | 'members' | 'price'> {
  readonly reference: string;
  readonly publishedAt: Date;
}

/** The publications of a source by reference, read in pages. Served by the primary key. */
export async function readPublications(client: Queryable, source: string): Promise<Map<string, Publication>> {
  const found = new Map<string, Publication>();
  // Most adverts have the same members as others: keep one copy of each text.
  const texts = new Map<string, string>();
  const shared = (text: string): string => texts.get(text) ?? (texts.set(text, text) && text);
  for (let after = ''; ; ) {
    const { rows } = await client.query<PublicationRow>(
      `select reference, hash, published_at as "publishedAt", first_reference as first, coalesce(own_reference, '') as own,
         coalesce(technical_id, '') as technical, coalesce(members, '') as members, price
       from feed_publications
       where source = $1 and reference > $2 order by reference limit ${PAGE_ROWS}`,
      [source, after],
    );
    for (const { reference, publishedAt, own, technical, members, ...rest } of rows) {
      const keys = { own, technical };
      found.set(reference, { ...rest, publishedAtMs: publishedAt.getTime(), keys, members: shared(members) });
    }
    if (rows.length < PAGE_ROWS) return found;
    after = (rows.at(-1) as { reference: string }).reference;
  }
}

/** Stores adverts before their first publication, so that they are known after a crash. Served by the primary key. */
export async function announcePublications(client: Queryable, source: string, references: readonly string[]) {
  if (references.length === 0) return;
  await client.query(
    `insert into feed_publications (source, reference, published_at)
     select $1, reference, now() from unnest($2::text[]) as new(reference) on conflict do nothing`,
    [source, references],
  );
}

/** Stores publications after their acknowledgement. Served by the primary key. */
export async function recordPublications(
  client: Queryable,
  source: string,
  published: readonly Planned[],
  crawledAt: Date,
): Promise<void> {
  await client.query(
    `insert into feed_publications (source, reference, hash, own_reference, technical_id, members, price, published_at)
     select $1, published.*, $8
     from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::float8[]) as published
     on conflict (source, reference) do update set hash = excluded.hash, own_reference = excluded.own_reference,
       technical_id = excluded.technical_id, members = excluded.members, price = excluded.price,
       published_at = excluded.published_at`,
    [
      source,
      published.map(({ reference }) => reference),
      published.map(({ hash }) => hash),
      published.map(({ keys }) => keys.own),
      published.map(({ keys }) => keys.technical),
      published.map(({ members }) => members),
      published.map(({ price }) => price),
      crawledAt,
    ],
  );
}

/** Stores the current references of adverts, and keeps the first ones. Served by the primary key. */
export async function carryPublications(client: Queryable, source: string, carried: readonly Carried[]) {
  if (carried.length === 0) return;
  await client.query(
    `update feed_publications set reference = carried.reference, first_reference = carried.first
     from unnest($2::text[], $3::text[], $4::text[]) as carried(before, reference, first)
     where source = $1 and feed_publications.reference = carried.before`,
    [
      source,
      carried.map(({ before }) => before),
      carried.map(({ reference }) => reference),
      carried.map(({ first }) => first),
    ],
  );
}

/** Served by the primary key. */
export async function removePublications(client: Queryable, source: string, references: readonly string[]) {
  await client.query('delete from feed_publications where source = $1 and reference = any($2::text[])', [
    source,
    references,
  ]);
}

/**
 * Marks the snapshot that is being published; `openHash` is null once its publication is complete. Served by the
 * primary key.
 */
export async function markSnapshot(client: Queryable, source: string, crawledAt: Date, openHash: string | null) {
  await client.query(
    `insert into feed_publications (source, reference, hash, published_at) values ($1, '', $2, $3)
     on conflict (source, reference) do update set hash = excluded.hash, published_at = excluded.published_at`,
    [source, openHash, crawledAt],
  );
}

/** Members of `report` replace the stored ones; others stay. Served by the primary key. */
export async function writeReport(client: Queryable, source: string, report: SourceReport): Promise<void> {
  await client.query(
    `insert into feed_publications (source, reference, published_at, report) values ($1, '', '-infinity', $2)
     on conflict (source, reference) do update set report = coalesce(feed_publications.report, '{}') || excluded.report`,
    [source, JSON.stringify(report, (_, value: unknown) => (typeof value === 'string' ? storable(value) : value))],
  );
}

/**
 * `reading` is null if the source is no longer being read. Times are from PostgreSQL's clock, because another machine
 * may show them. Served by the primary key.
 */
export async function noteReading(
  client: Queryable,
  source: string,
  reading: { readonly forMs: number; readonly bytes: number } | null,
): Promise<void> {
  await client.query(
    `update feed_publications set report = coalesce(report, '{}') || jsonb_build_object('reading',
       case when $2::float8 is not null then
         jsonb_build_object('since', now() - $2 * interval '1 millisecond', 'bytes', $3::float8, 'at', now()) end)
     where source = $1 and reference = ''`,
    [source, reading?.forMs, reading?.bytes],
  );
}

/** The reading process renews its note every five seconds. Without a renewal for 30 seconds, the process has died. */
const READING = `case when (report #>> '{reading,at}')::timestamptz > now() - interval '30 seconds' then report -> 'reading' end`;

const SOURCES = `
  select source as name, hash as "openHash", coalesce(report, '{}') as report, ${READING} as reading,
    case when published_at = '-infinity' then null else published_at end as "crawledAt",
    (select count(*)::integer from feed_publications advert
     where advert.source = source.source and reference <> '') as adverts
  from feed_publications source where reference = ''`;

/** Null if the source is unknown. Served by the primary key. */
export async function readSource(client: Queryable, name: string): Promise<Source | null> {
  const { rows } = await client.query<Source>(`${SOURCES} and source = $1`, [name]);
  return rows[0] ?? null;
}

/** Ordered by name, one row per source. Served by `feed_publications_sources`. */
export async function listSources(client: Queryable, after: string, limit: number): Promise<readonly Source[]> {
  const { rows } = await client.query<Source>(`${SOURCES} and source > $1 order by source limit $2`, [after, limit]);
  return rows;
}

/** Reports by source. Served by the primary key. */
export async function readReports(
  client: Queryable,
  names: readonly string[],
): Promise<ReadonlyMap<string, SourceReport>> {
  const { rows } = await client.query<{ source: string; report: SourceReport | null }>(
    "select source, report from feed_publications where source = any($1::text[]) and reference = ''",
    [names],
  );
  return new Map(rows.map(({ source, report }) => [source, report ?? {}]));
}
