/**
 * Reads the digests of live properties that satisfy a search or fail by little. PostgreSQL finds the place and leaves out
 * what fails twice by the criteria that it has columns for; what it answers is judged by `domain/criteria`, so it may
 * answer too much and never too little. Answers are in the order of a sample: a part of one is a fair sample of all.
 */

import { type Box, boxesOf } from '../domain/area-boxes.ts';
import type { Areas, Criteria, Range } from '../domain/criteria.ts';
import type { Uuid } from '../domain/ids.ts';
import { lookupKey } from '../domain/lookup-keys.ts';
import { arrayLiteral } from './array-literal.ts';
import type { Database, Queryable } from './database.ts';
import { PORTION_ROWS, readInPortions } from './portions.ts';

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

/** Reads until there are no more, or `take` resolves with false. The connection is the one that reads. */
export type Scan = (take: (portion: ScannedPortion, connection: Queryable) => Promise<boolean>) => Promise<void>;

export interface SampleScan {
  readonly scan: Scan;
  /** The sample has every property. */
  readonly isWhole: boolean;
}

/** Digests of a sample of everything. */
const SAMPLE_MAX = 10_000;
/** Digests that one question looks at. */
const SCANNED_MAX = 20_000;

/** Parameters of a statement in the making. */
class Parameters {
  readonly values: unknown[] = [];

  add(value: unknown, type: string): string {
    this.values.push(value);
    return `$${this.values.length}::${type}`;
  }
}

interface FoundRow extends ScannedProperty {
  readonly total: number;
}

/**
 * Those in the areas that may fail `failuresMax` criteria, `SCANNED_MAX` of them at most. Served by property_digests_keys
 * (communes, departments, zip codes) and property_digests_location (circles, polygons).
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

/** Keys alone are sorted, and each row is fetched by its own when its turn comes: rows are wide, and many stay unread. */
function scanPlaces(
  database: Database,
  criteria: Criteria,
  failuresMax: 0 | 1,
  places: readonly string[],
  parameters: Parameters,
): Scan {
  if (places.length === 0) return async () => undefined;
  const text = `
    select property_uuid as uuid, total, facts from (
      select property_uuid, sample_key, count(*) over ()::integer as total from property_digests
      where is_live and (${places.join(' or ')}) and ${failuresIn(criteria, parameters)} <= ${failuresMax}
      order by sample_key limit ${SCANNED_MAX}
    ) found cross join lateral (
      select facts from property_digests one where one.property_uuid = found.property_uuid offset 0
    ) digest order by sample_key`;
  return (take) => {
    let [count, total] = [0, 0];
    return readInPortions<FoundRow>(database, text, parameters.values, (properties, connection) => {
      count += properties.length;
      total = properties[0]?.total ?? total;
      return take({ properties, weight: count === 0 ? 1 : total / count }, connection);
    });
  };
}

/** Sample keys are signed 32-bit integers. */
const KEYS = 2 ** 32;
const KEY_MIN = -(2 ** 31);

interface SampledRow extends ScannedProperty {
  readonly key: number;
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
    select property_uuid as uuid, sample_key as key, facts from property_digests
    where is_live and ${within} and ${failuresIn(criteria, parameters)} <= ${failuresMax} order by sample_key`;
  const scan: Scan = (take) =>
    readInPortions<SampledRow>(database, text, parameters.values, (properties, connection) => {
      // The share of the keys that was read is the share of the properties.
      const isLast = properties.length < PORTION_ROWS;
      const read = isLast ? end : (properties.at(-1)?.key ?? 0) + 1;
      return take({ properties, weight: read === null ? 1 : KEYS / (read - KEY_MIN) }, connection);
    });
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

/** What is read in JavaScript; of a larger state PostgreSQL picks the texts. */
const LIGHT_BYTES = 256 * 1_024;

/** UUID, title and description that the advert states for the property, its own. Nulls are kept. */
export type AdvertTexts = readonly [
  uuid: Uuid,
  title: string | null,
  description: string | null,
  ownTitle: string | null,
  ownDescription: string | null,
];

interface TextRow {
  readonly uuid: Uuid;
  readonly state: {
    readonly adverts: readonly {
      readonly uuid: Uuid;
      readonly property: { readonly title: string | null; readonly description: string | null };
      readonly content: { readonly title: string | null; readonly description: string | null };
    }[];
  } | null;
  readonly texts: readonly AdvertTexts[] | null;
}

/** Of every advert of the properties that are still there. Served by the primary key. */
export async function readTexts(
  database: Queryable,
  uuids: readonly Uuid[],
): Promise<ReadonlyMap<Uuid, readonly AdvertTexts[]>> {
  const { rows } = await database.query<TextRow>(
    `select uuid, case when is_light then state end as state, case when not is_light then (
       select json_agg(json_build_array(advert ->> 'uuid', advert #>> '{property,title}',
         advert #>> '{property,description}', advert #>> '{content,title}', advert #>> '{content,description}'))
       from json_array_elements(state -> 'adverts') advert) end as texts
     from (
       select uuid, state, coalesce(state_bytes, octet_length(state::text)) <= ${LIGHT_BYTES} as is_light
       from properties where uuid = any($1::uuid[])
     ) sized`,
    [uuids],
  );
  return new Map(
    rows.map(({ uuid, state, texts }) => [
      uuid,
      texts ??
        (state?.adverts ?? []).map(({ uuid: advert, property, content }) => [
          advert,
          property.title,
          property.description,
          content.title,
          content.description,
        ]),
    ]),
  );
}

/** Times of crawls by advert. Served by the primary key. */
export async function readCrawls(
  database: Queryable,
  uuids: readonly Uuid[],
): Promise<ReadonlyMap<Uuid, Readonly<Record<Uuid, string>>>> {
  const { rows } = await database.query<{ uuid: Uuid; crawls: Readonly<Record<Uuid, string>> }>(
    'select uuid, crawls from properties where uuid = any($1::uuid[])',
    [uuids],
  );
  return new Map(rows.map(({ uuid, crawls }) => [uuid, crawls]));
}
