/**
 * Reads the digests of live properties that satisfy a search or fail by little. PostgreSQL finds the place and leaves out
 * what fails twice by the criteria that it has columns for; what it answers is judged by `domain/criteria`, so it may
 * answer too much and never too little. Answers are in the order of a sample: a part of one is a fair sample of all.
 */

import type { Courtesy } from '../actor/precedence.ts';
import { createWorkSlices, sortedInSlices } from '../actor/work-slices.ts';
import { type Box, boxesOf } from '../domain/area-boxes.ts';
import type { Areas } from '../domain/areas.ts';
import type { Criteria } from '../domain/criteria.ts';
import type { Range } from '../domain/criterion-kinds.ts';
import type { Uuid } from '../domain/ids.ts';
import { lookupKey } from '../domain/lookup-keys.ts';
import { arrayLiteral } from './array-literal.ts';
import { type Database, type Queryable, transaction } from './database.ts';
import { portionsOf, readAhead, readInPortions } from './portions.ts';

export interface ScannedProperty {
  readonly uuid: Uuid;
  /** See `readDigest`. */
  readonly facts: string;
}

/** The next of them. */
export interface ScannedPortion {
  readonly properties: readonly ScannedProperty[];
  /** How many each property that was read so far, of this portion or before, stands for: 1 when these are all there are. */
  readonly weight: number;
}

/**
 * Reads until there are no more, or `take` resolves with false, and makes way in between. The connection is the one that
 * reads: whoever waits for another one of the same pool might wait for himself.
 */
export type Scan = (
  courtesy: Courtesy,
  take: (portion: ScannedPortion, connection: Queryable) => Promise<boolean>,
) => Promise<void>;

export interface SampleScan {
  readonly scan: Scan;
  /** The sample has every property. */
  readonly isWhole: boolean;
}

/** Digests of a sample of a place, or of everything. */
const SAMPLE_MAX = 10_000;
/** A place that has more digests is answered from a sample. */
const WHOLE_MAX = 20_000;
/** Rows of some hundred bytes. */
const PORTION_ROWS = 200;
/** Rows of two keys at most. */
const KEYS_PER_PORTION = 1_000;

/** Parameters of a statement in the making. */
class Parameters {
  readonly values: unknown[] = [];

  add(value: unknown, type: string): string {
    this.values.push(value);
    return `$${this.values.length}::${type}`;
  }
}

interface KeyRow {
  readonly key: number;
  /** Null when it fails by too much. */
  readonly uuid: Uuid | null;
}

/**
 * Those in the areas that may fail `failuresMax` criteria; a sample where there are very many. Served by
 * property_digests_keys (communes, departments, zip codes) and property_digests_location (circles, polygons).
 */
export function scanAreas(database: Database, criteria: Criteria, failuresMax: 0 | 1): Scan {
  const parameters = new Parameters();
  const places = [...keysIn(criteria.areas, parameters), ...boxesIn(boxesOf(criteria.areas), parameters)];
  return scanPlaces(database, criteria, failuresMax, places, parameters);
}

/** Those in `boxes`, wherever the search looks. Served by property_digests_location. */
export function scanBoxes(database: Database, criteria: Criteria, failuresMax: 0 | 1, boxes: readonly Box[]): Scan {
  const parameters = new Parameters();
  return scanPlaces(database, criteria, failuresMax, boxesIn(boxes, parameters), parameters);
}

/** Keys alone are sorted, and digests fetched as their turn comes: they are wide, and many stay unread. */
function scanPlaces(
  database: Database,
  criteria: Criteria,
  failuresMax: 0 | 1,
  places: readonly string[],
  parameters: Parameters,
): Scan {
  if (places.length === 0) return async () => undefined;
  const text = `
    select sample_key as key, case when ${failuresIn(criteria, parameters)} <= ${failuresMax} then property_uuid end as uuid
    from property_digests where is_live and (${places.join(' or ')})`;
  const keys = { text, values: parameters.values, rowsMax: KEYS_PER_PORTION };
  return (courtesy, take) =>
    transaction(database, async (connection) => {
      const sample = new Sample(courtesy);
      await readInPortions(connection, keys, courtesy, async (rows) => {
        await sample.add(rows as readonly KeyRow[]);
        return true;
      });
      let count = 0;
      await readAhead(
        portionsOf(await sample.first(), PORTION_ROWS),
        async (portion) => {
          await courtesy.stepAside();
          return readFacts(connection, portion);
        },
        (properties, portion) => {
          count += portion.length;
          return take({ properties, weight: sample.total / count }, connection);
        },
      );
    });
}

interface Found {
  readonly key: number;
  readonly uuid: Uuid;
}

/** Of what comes in any order, all or the first `SAMPLE_MAX` by key. */
class Sample {
  /** As many as there are, first or not. */
  total = 0;
  #found: Found[] = [];
  /** No later one is among the first. */
  #last = Infinity;
  readonly #courtesy: Courtesy;

  constructor(courtesy: Courtesy) {
    this.#courtesy = courtesy;
  }

  async add(rows: readonly KeyRow[]): Promise<void> {
    for (const { key, uuid } of rows) {
      if (uuid === null) continue;
      this.total += 1;
      if (key <= this.#last) this.#found.push({ key, uuid });
    }
    if (this.#found.length <= WHOLE_MAX) return;
    this.#found = [...(await this.first())];
    this.#last = this.#found.at(-1)?.key ?? Infinity;
  }

  async first(): Promise<readonly Found[]> {
    const slices = createWorkSlices({ courtesy: this.#courtesy });
    const sorted = await sortedInSlices(this.#found, (a, b) => a.key - b.key, slices);
    return this.total > WHOLE_MAX ? sorted.slice(0, SAMPLE_MAX) : sorted;
  }
}

/** Of those that are still live. Served by the primary key. */
async function readFacts(connection: Queryable, found: readonly Found[]): Promise<readonly ScannedProperty[]> {
  const { rows } = await connection.query<ScannedProperty>(
    'select property_uuid as uuid, facts from property_digests where property_uuid = any($1::uuid[]) and is_live',
    [arrayLiteral(found.map(({ uuid }) => uuid))],
  );
  return rows;
}

/** Sample keys are signed 32-bit integers. */
const KEYS = 2 ** 32;
const KEY_MIN = -(2 ** 31);

interface SampledRow {
  readonly uuid: Uuid;
  readonly key: number;
  /** Null when it fails by too much. */
  readonly facts: string | null;
}

/**
 * Those of the first `SAMPLE_MAX` anywhere that may fail `failuresMax` criteria, the areas left out. Served by
 * property_digests_sample.
 */
export async function scanSample(database: Database, criteria: Criteria, failuresMax: 0 | 1): Promise<SampleScan> {
  const parameters = new Parameters();
  const { rows } = await database.query<{ end: number | null }>(
    `select sample_key as end from property_digests where is_live order by sample_key offset ${SAMPLE_MAX} limit 1`,
  );
  const end = rows[0]?.end ?? null;
  const within = end === null ? 'true' : `sample_key < ${parameters.add(end, 'integer')}`;
  const text = `
    select property_uuid as uuid, sample_key as key,
      case when ${failuresIn(criteria, parameters)} <= ${failuresMax} then facts end as facts
    from property_digests where is_live and ${within} order by sample_key`;
  const sample = { text, values: parameters.values, rowsMax: PORTION_ROWS };
  const scan: Scan = (courtesy, take) =>
    transaction(database, (connection) =>
      readInPortions(connection, sample, courtesy, (rows) => {
        const sampled = rows as readonly SampledRow[];
        // The share of the keys that was read is the share of the properties.
        const isLast = sampled.length < PORTION_ROWS;
        const read = isLast ? end : (sampled.at(-1)?.key ?? 0) + 1;
        const properties = sampled.flatMap(({ uuid, facts }) => (facts === null ? [] : [{ uuid, facts }]));
        return take({ properties, weight: read === null ? 1 : KEYS / (read - KEY_MIN) }, connection);
      }),
    );
  return { scan, isWhole: end === null };
}

function keysIn({ inseeCodes, departmentCodes, zipcodes }: Areas, parameters: Parameters): readonly string[] {
  const keys = [
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

/** How many of the criteria that have columns fail; unknown is a failure. */
function failuresIn(criteria: Criteria, parameters: Parameters): string {
  const conditions: string[] = [];
  const { transactionType, propertyTypes, furnished } = criteria;
  if (transactionType !== null) conditions.push(`transaction_type = ${parameters.add(transactionType, 'smallint')}`);
  if (propertyTypes.length > 0) conditions.push(`property_type = any(${parameters.add(propertyTypes, 'smallint[]')})`);
  if (furnished !== null) conditions.push(`furnished = ${parameters.add(furnished, 'boolean')}`);
  for (const [column, range] of Object.entries(rangesOf(criteria))) {
    const bounds = [
      ...(range.min === null ? [] : [`${column} >= ${parameters.add(range.min, 'float8')}`]),
      ...(range.max === null ? [] : [`${column} <= ${parameters.add(range.max, 'float8')}`]),
    ];
    if (bounds.length > 0) conditions.push(bounds.join(' and '));
  }
  if (conditions.length === 0) return '0';
  return `(${conditions.map((condition) => `(case when ${condition} then 0 else 1 end)`).join(' + ')})`;
}

function rangesOf({ budget, pricePerMeter, surface, landSurface, room, bedroom }: Criteria): Record<string, Range> {
  return { price: budget, price_per_meter: pricePerMeter, surface, land_surface: landSurface, room, bedroom };
}
