/**
 * The last publications, the feature's one table: a row for each advert that a source contains, and one without a
 * reference for the source itself, with the results of its last snapshot. Any machine continues from here.
 */

import { storable } from '../../engine/domain/text.ts';
import type { Database, Queryable } from '../../engine/store/database.ts';
import type { OtherKeys } from './feed-row.ts';
import type { DecimalHabits } from './numbers.ts';
import type { Planned } from './spool.ts';
import type { SnapshotOutcome } from './tally.ts';

/** For one source, held while a snapshot is read: a hundred thousand of them take twenty megabytes. */
export interface Publication {
  /** Null: its first publication may not have arrived. */
  readonly hash: string | null;
  readonly publishedAtMs: number;
  /** The reference that its ids are made of, where it has another one since; else null. */
  readonly first: string | null;
  readonly keys: OtherKeys;
  /** The members that it had, joined by blanks. */
  readonly members: string;
  readonly price: number | null;
}

/** An advert by its reference of today, and the first one that is known; `before`: the one that it had until today. */
export interface Carried {
  readonly reference: string;
  readonly first: string;
  readonly before?: string;
}

export function firstReference(reference: string, held: ReadonlyMap<string, Publication>): string {
  return held.get(reference)?.first ?? reference;
}

/** The results of the last snapshot of a source, for operators, and the input of the next check. */
export interface SourceReport extends Partial<Omit<SnapshotOutcome, 'gone'>> {
  /** When the source was last checked, and when it last gave a file. */
  readonly lookedAt?: string;
  readonly gaveAt?: string;
  /** The hash of the last snapshot that was read. */
  readonly readAt?: string;
  /** Its path or address, and its version. */
  readonly from?: string;
  readonly version?: string | undefined;
  /** What the source's numbers have shown. */
  readonly decimals?: DecimalHabits;
  /** Why the last snapshot was refused; null when it was taken. */
  readonly refusal?: string | null;
  /** An operator requests a snapshot now. */
  readonly requestedAt?: string | null;
}

export interface Source {
  readonly name: string;
  readonly adverts: number;
  /** The last snapshot that was published; null: none was. */
  readonly crawledAt: Date | null;
  /** A hash of the bytes of a snapshot that is being published, or was when its process ended. */
  readonly openHash: string | null;
  readonly report: SourceReport;
  /** Since when it is being read, and the bytes received; null: it is not being read. */
  readonly reading: { readonly since: string; readonly bytes: number } | null;
}

/** Another instance, or another command, reads the source. */
export class SourceBusyError extends Error {
  readonly code = 'SOURCE_BUSY';
}

/**
 * Runs `work` while no other process reads the source. The lock is the session's, so it ends with the process; no
 * transaction stays open meanwhile.
 */
export async function withSource<T>(database: Database, source: string, work: () => Promise<T>): Promise<T> {
  const client = await database.connect();
  const lock = (call: string) =>
    client.query<{ isHeld: boolean }>(`select ${call}(hashtextextended('vigie feed ' || $1, 0)) as "isHeld"`, [source]);
  let isFree = false;
  try {
    const { rows } = await lock('pg_try_advisory_lock');
    if (rows[0]?.isHeld !== true) throw new SourceBusyError(`${source} is being read elsewhere: try again later`);
    try {
      return await work();
    } finally {
      await lock('pg_advisory_unlock');
      isFree = true;
    }
  } finally {
    // Only the end of the session certainly releases a lock.
    client.release(!isFree);
  }
}

const PAGE_ROWS = 10_000;

interface PublicationRow extends OtherKeys, Pick<Publication, 'hash' | 'first' | 'members' | 'price'> {
  readonly reference: string;
  readonly publishedAt: Date;
}

/** Served by the primary key, a page at a time. */
export async function readPublications(client: Queryable, source: string): Promise<Map<string, Publication>> {
  const found = new Map<string, Publication>();
  // Most adverts have the members of others: one text for all of these.
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

/** Before their first publication: whatever happens then, they are known. Served by the primary key. */
export async function announcePublications(client: Queryable, source: string, references: readonly string[]) {
  if (references.length === 0) return;
  await client.query(
    `insert into feed_publications (source, reference, published_at)
     select $1, reference, now() from unnest($2::text[]) as new(reference) on conflict do nothing`,
    [source, references],
  );
}

/** After their acknowledgement. Served by the primary key. */
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

/** Gives adverts their references of today; the first ones stay. Served by the primary key. */
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

/** The snapshot that is published from now on; null: its publication is complete. Served by the primary key. */
export async function markSnapshot(client: Queryable, source: string, crawledAt: Date, openHash: string | null) {
  await client.query(
    `insert into feed_publications (source, reference, hash, published_at) values ($1, '', $2, $3)
     on conflict (source, reference) do update set hash = excluded.hash, published_at = excluded.published_at`,
    [source, openHash, crawledAt],
  );
}

/** Members of `report` replace the stored ones. Served by the primary key. */
export async function writeReport(client: Queryable, source: string, report: SourceReport): Promise<void> {
  await client.query(
    `insert into feed_publications (source, reference, published_at, report) values ($1, '', '-infinity', $2)
     on conflict (source, reference) do update set report = coalesce(feed_publications.report, '{}') || excluded.report`,
    [source, JSON.stringify(report, (_, value: unknown) => (typeof value === 'string' ? storable(value) : value))],
  );
}

/**
 * Null: it is no longer being read. By PostgreSQL's clock, because another machine may show it. Served by the primary key.
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

/** The process that reads a source notes it every five seconds: an older note is of a process that has died. */
const READING = `case when (report #>> '{reading,at}')::timestamptz > now() - interval '30 seconds' then report -> 'reading' end`;

const SOURCES = `
  select source as name, hash as "openHash", coalesce(report, '{}') as report, ${READING} as reading,
    case when published_at = '-infinity' then null else published_at end as "crawledAt",
    (select count(*)::integer from feed_publications advert
     where advert.source = source.source and reference <> '') as adverts
  from feed_publications source where reference = ''`;

/** Null: the source is unknown. Served by the primary key. */
export async function readSource(client: Queryable, name: string): Promise<Source | null> {
  const { rows } = await client.query<Source>(`${SOURCES} and source = $1`, [name]);
  return rows[0] ?? null;
}

/** By name, a source a row. Served by `feed_publications_sources`. */
export async function listSources(client: Queryable, after: string, limit: number): Promise<readonly Source[]> {
  const { rows } = await client.query<Source>(`${SOURCES} and source > $1 order by source limit $2`, [after, limit]);
  return rows;
}

/** By source. Served by the primary key. */
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
