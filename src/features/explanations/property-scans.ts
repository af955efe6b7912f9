/**
 * Reads the summaries of live properties that satisfy a search or nearly do. PostgreSQL selects by location and
 * excludes properties that fail too many of the criteria that have columns. It may return too many properties, never
 * too few: `examination.ts` evaluates them. Scans except `scanChanged` follow the sample order, so their first portions
 * are a fair sample. That order is a circle of hashes. Every hour, scans begin elsewhere, to sample other properties.
 */

import { hasAreas, NOWHERE_CODE } from '../../engine/domain/areas.ts';
import { allExpressions, type Criteria } from '../../engine/domain/criteria.ts';
import type { CriterionName } from '../../engine/domain/criterion-table.ts';
import type { Uuid } from '../../engine/domain/ids.ts';
import { lookupKey } from '../../engine/domain/property-summary.ts';
import { PACKED_TEXTS } from '../../engine/domain/stored-property.ts';
import { bitOfCriterion } from '../../engine/domain/unknown-criteria.ts';
import { arrayLiteral } from '../../engine/store/array-literal.ts';
import type { Queryable } from '../../engine/store/database.ts';
import { type Box, boxesOf } from './area-boxes.ts';

export interface ScannedProperty {
  readonly uuid: Uuid;
  /** See `readSummary`. */
  readonly facts: string;
}

export interface ScannedPortion {
  readonly properties: readonly ScannedProperty[];
  /** Number of properties that each property read so far, in any portion, represents; 1 if all were read. */
  readonly weight: number;
}

/** Reads to the end, or until `take` resolves with false. */
export type Scan = (take: (portion: ScannedPortion) => Promise<boolean>) => Promise<void>;

export interface SampledDatabase {
  readonly database: Queryable;
  /** The sample key to start from (`sampleStartAt`). */
  readonly sampleStart: number;
}

export interface CandidateScan {
  readonly scan: Scan;
  /** True if every candidate is read, not a sample. */
  readonly isWhole: boolean;
}

/** Up to this number of candidates, all are evaluated (decisions, section 7). */
const WHOLE_MAX = 20_000;
/** Above `WHOLE_MAX`, this many are evaluated: a sample, or the most recently changed. */
const PART_MAX = 10_000;
/** Limits of polygon corners and words compared for one search: some seconds of work. */
const CORNERS_COMPARED_MAX = 20_000_000;
const WORDS_COMPARED_MAX = 4_000_000;
/** Number of keys whose summaries are passed to `take` together. */
const PORTION_ROWS = 500;

const EVENTS_AT_ONCE = 1_000;
/** Maximum number of events read to find changed properties, because a few properties may change all the time. */
const EVENTS_MAX = 100_000;
/** The largest bigint of PostgreSQL. */
const LAST_EVENT_ID = String(2n ** 63n - 1n);

/**
 * Number of candidates to evaluate. It depends only on the search: a busy machine answers later, with the same result.
 */
function boundsOf(criteria: Criteria): {
  readonly wholeMax: number;
  readonly partMax: number;
} {
  const polygons = [criteria, ...criteria.alternatives].flatMap(({ areas }) => areas.polygons);
  const rings = [...polygons, ...criteria.excludedAreas.polygons].flat();
  const corners = rings.reduce((sum, { length }) => sum + length, 0);
  const words = allExpressions(criteria).reduce((sum, { length }) => sum + length, 0);
  const most = Math.min(CORNERS_COMPARED_MAX / (corners + 1), WORDS_COMPARED_MAX / (words + 1));
  const wholeMax = Math.max(1, Math.min(WHOLE_MAX, Math.floor(most)));
  return { wholeMax, partMax: Math.min(PART_MAX, wholeMax) };
}

class Parameters {
  readonly values: unknown[] = [];

  add(value: unknown, type: string): string {
    this.values.push(value);
    return `$${this.values.length}::${type}`;
  }
}

interface KeyRow {
  /** Position on the circle. */
  readonly key: number;
  readonly uuid: Uuid;
}

/**
 * True if the search names areas that contain everything that it finds: its own, or those of its alternatives, if each
 * names some.
 */
export function namesAreas({ areas, alternatives }: Criteria): boolean {
  return hasAreas(areas) || (alternatives.length > 0 && alternatives.every(namesAreas));
}

/**
 * Candidates in the areas (`namesAreas`) that may fail at most `failuresMax` criteria, or a sample if there are very
 * many. Only keys are sorted. Summaries are fetched by portion, because they are wide and many are never needed. An
 * expression as sort key keeps PostgreSQL from scanning all properties in sample order. Served by
 * property_summaries_keys (communes, departments, zip codes) and property_summaries_location (circles, polygons).
 */
export async function scanAreas(
  { database, sampleStart }: SampledDatabase,
  criteria: Criteria,
  failuresMax: 0 | 1,
): Promise<CandidateScan> {
  const parameters = new Parameters();
  const named = hasAreas(criteria.areas) ? [criteria] : criteria.alternatives;
  const places = named.flatMap((one) => [...keysIn(one, parameters), ...boxesIn(boxesOf(one.areas), parameters)]);
  if (places.length === 0) return { scan: async () => undefined, isWhole: true };
  const { wholeMax, partMax } = boundsOf(criteria);
  const { rows } = await database.query<KeyRow>(
    `select ${positionFrom(sampleStart)} as key, property_uuid as uuid from property_summaries
     where is_live and (${places.join(' or ')}) and ${fitting(criteria, failuresMax, parameters)}
     order by 1 limit ${wholeMax + 1}`,
    parameters.values,
  );
  const isWhole = rows.length <= wholeMax;
  return { scan: scanKeys(database, isWhole ? rows : rows.slice(0, partMax), isWhole, criteria, failuresMax), isWhole };
}

/**
 * Candidates anywhere that may fail at most `failuresMax` criteria other than the areas, or a sample if there are very
 * many. Served by property_summaries_sample.
 */
export async function scanAnywhere(
  { database, sampleStart }: SampledDatabase,
  criteria: Criteria,
  failuresMax: 0 | 1,
): Promise<CandidateScan> {
  const { wholeMax, partMax } = boundsOf(criteria);
  const { rowCount } = await database.query(
    `select from property_summaries where is_live order by sample_key offset ${wholeMax} limit 1`,
  );
  const isWhole = rowCount === 0;
  const max = isWhole ? wholeMax : partMax;
  const rows: KeyRow[] = [];
  // First the keys from the start upwards, then those below the start.
  for (const side of ['>=', '<'] as const) {
    const { rows: half } = await database.query<KeyRow>(
      `select ${positionFrom(sampleStart)} as key, property_uuid as uuid from property_summaries
       where is_live and sample_key ${side} $1::integer order by sample_key limit $2`,
      [sampleStart, max - rows.length],
    );
    rows.push(...half);
  }
  return { scan: scanKeys(database, rows, isWhole, criteria, failuresMax), isWhole };
}

function scanKeys(
  database: Queryable,
  found: readonly KeyRow[],
  isWhole: boolean,
  criteria: Criteria,
  failuresMax: 0 | 1,
): Scan {
  return async (take) => {
    for (let read = 0; read < found.length; ) {
      const portion = found.slice(read, read + PORTION_ROWS);
      read += portion.length;
      const parameters = new Parameters();
      const uuids = parameters.add(arrayLiteral(portion.map(({ uuid }) => uuid)), 'uuid[]');
      const condition = fitting(criteria, failuresMax, parameters);
      const properties = await readSummaries(database, `any(${uuids}) and ${condition}`, parameters.values);
      const weight = isWhole ? found.length / read : weightOf((portion.at(-1) as KeyRow).key);
      if (!(await take({ properties, weight }))) return;
    }
  };
}

/** The live properties of the newest events, most recently changed first, up to the number that is evaluated. */
export function scanChanged({ database }: SampledDatabase, criteria: Criteria): Scan {
  const { partMax } = boundsOf(criteria);
  return async (take) => {
    let count = 0;
    for await (const uuids of readChanged(database)) {
      const summaries = new Map(
        (await readSummaries(database, 'any($1::uuid[])', [arrayLiteral(uuids)])).map((summary) => [
          summary.uuid,
          summary,
        ]),
      );
      const properties = uuids.flatMap((uuid) => summaries.get(uuid) ?? []).slice(0, partMax - count);
      count += properties.length;
      if (!(await take({ properties, weight: 1 })) || count === partMax) return;
    }
  };
}

/** Reads events backwards and returns each property once. Served by the primary key. */
async function* readChanged(database: Queryable): AsyncGenerator<readonly Uuid[]> {
  const known = new Set<Uuid>();
  let before = LAST_EVENT_ID;
  for (let read = 0; read < EVENTS_MAX; read += EVENTS_AT_ONCE) {
    const { rows } = await database.query<{ id: string; uuid: Uuid }>(
      'select id, property_uuid as uuid from events where id < $1::bigint order by id desc limit $2',
      [before, EVENTS_AT_ONCE],
    );
    const fresh = new Set(rows.map(({ uuid }) => uuid).filter((uuid) => !known.has(uuid)));
    for (const uuid of fresh) known.add(uuid);
    yield [...fresh];
    if (rows.length < EVENTS_AT_ONCE) return;
    before = (rows.at(-1) as { readonly id: string }).id;
  }
}

/** The first `count` live properties in sample order. Served by property_summaries_sample. */
export async function readSample(database: Queryable, count: number): Promise<readonly ScannedProperty[]> {
  const { rows } = await database.query<ScannedProperty>(
    `select property_uuid as uuid, facts from property_summaries where is_live order by sample_key limit $1`,
    [count],
  );
  return rows;
}

/** Summaries of the live properties among `uuids`, in any order. Served by the primary key. */
async function readSummaries(
  database: Queryable,
  uuids: string,
  values: readonly unknown[],
): Promise<readonly ScannedProperty[]> {
  const { rows } = await database.query<ScannedProperty>(
    `select property_uuid as uuid, facts from property_summaries where is_live and property_uuid = ${uuids}`,
    [...values],
  );
  return rows;
}

/** Number of sample keys, which are signed 32-bit integers. */
const KEYS = 2 ** 32;

const HOUR_MS = 3_600_000;
/** 2³² / the golden ratio: consecutive hours start far apart. Odd: no start repeats within 2³² hours (Knuth, 6.4). */
const HOUR_STEP = 2_654_435_769;

/** Sample key at which the samples of an hour start. */
export function sampleStartAt(now: Date): number {
  return Math.imul(Math.floor(now.getTime() / HOUR_MS), HOUR_STEP);
}

/** Position of a row on the circle, counted from `start`: 0 to 2³² - 1. */
function positionFrom(start: number): string {
  return `((sample_key::bigint - (${start}) + ${KEYS}) % ${KEYS})::float8`;
}

/** How many properties each read property represents if the circle was read up to `position`. */
function weightOf(position: number): number {
  return KEYS / (position + 1);
}

function keysIn({ areas, orMissing }: Criteria, parameters: Parameters): readonly string[] {
  const { inseeCodes, departmentCodes, zipcodes } = areas;
  const keys = [
    ...((orMissing & bitOfCriterion('areas')) === 0 ? [] : [lookupKey('insee', NOWHERE_CODE)]),
    ...inseeCodes.map((code) => lookupKey('insee', code)),
    ...departmentCodes.map((code) => lookupKey('department', code)),
    ...zipcodes.map((code) => lookupKey('zipcode', code)),
  ];
  return keys.length === 0 ? [] : [`keys && ${parameters.add(arrayLiteral(keys), 'bigint[]')}`];
}

function boxesIn(boxes: readonly Box[], parameters: Parameters): readonly string[] {
  return boxes.map(({ west, south, east, north }) => {
    return `location <@ ${parameters.add(`((${west},${south}),(${east},${north}))`, 'box')}`;
  });
}

/** Condition: at most `failuresMax` criteria with columns fail. Null (unknown) fails unless the search accepts it. */
function fitting(criteria: Criteria, failuresMax: 0 | 1, parameters: Parameters): string {
  const failures: string[] = [];
  const count = (name: CriterionName, condition: string): void => {
    const acceptsUnknown = (criteria.orMissing & bitOfCriterion(name)) !== 0;
    failures.push(`((${condition}) is ${acceptsUnknown ? 'false' : 'not true'})::integer`);
  };
  const { transactionType: transaction, propertyTypes, furnished } = criteria;
  if (transaction !== null) count('transactionType', `transaction_type = ${parameters.add(transaction, 'smallint')}`);
  if (propertyTypes.length > 0)
    count('propertyTypes', `property_type = any(${parameters.add(propertyTypes, 'smallint[]')})`);
  if (furnished !== null) count('furnished', `furnished = ${parameters.add(furnished, 'boolean')}`);
  for (const [name, column] of RANGE_COLUMNS) {
    const { min, max } = criteria[name];
    const bounds = [
      ...(min === null ? [] : [`${column} >= ${parameters.add(min, 'float8')}`]),
      ...(max === null ? [] : [`${column} <= ${parameters.add(max, 'float8')}`]),
    ];
    if (bounds.length > 0) count(name, bounds.join(' and '));
  }
  return failures.length === 0 ? 'true' : `${failures.join(' + ')} <= ${failuresMax}`;
}

const RANGE_COLUMNS = [
  ['budget', 'price'],
  ['pricePerMeter', 'price_per_meter'],
  ['surface', 'surface'],
  ['landSurface', 'land_surface'],
  ['room', 'room'],
  ['bedroom', 'bedroom'],
] as const;

/** UUID; title and description of the property; title and description of the advert. Null if absent. */
export type AdvertTexts = readonly [
  uuid: Uuid,
  title: string | null,
  description: string | null,
  ownTitle: string | null,
  ownDescription: string | null,
];

const PICKED = PACKED_TEXTS.map((path) => `advert #>> '${path}'`).join();

/** The texts of all adverts of existing properties, without their complete states. Served by the primary key. */
export async function readTexts(
  database: Queryable,
  uuids: readonly Uuid[],
): Promise<ReadonlyMap<Uuid, readonly AdvertTexts[]>> {
  const { rows } = await database.query<{ uuid: Uuid; texts: readonly AdvertTexts[] | null }>(
    `select uuid, (
       select json_agg(json_build_array(advert ->> 0, ${PICKED}))
       from json_array_elements(state::json -> 1) advert) as texts
     from properties where uuid = any($1::uuid[])`,
    [arrayLiteral(uuids)],
  );
  return new Map(rows.map(({ uuid, texts }) => [uuid, texts ?? []]));
}
