/**
 * Stores the summaries of properties (domain/property-summary.ts), and finds properties by them. The recorder writes a
 * summary together with the state, while it has the lock on the property. It does not rewrite unchanged summaries.
 */

import type { StoredProperty } from '../domain/change.ts';
import type { Uuid } from '../domain/ids.ts';
import { type Crawls, lastLiveCrawl, representativeAdvert } from '../domain/property.ts';
import type { PropertyReading } from '../domain/property-document.ts';
import {
  type LookupKey,
  lookupKey,
  lookupKeys,
  pageOf,
  sampleKeyOf,
  summaryOf,
  summaryText,
} from '../domain/property-summary.ts';
import { arrayLiteral, joinedJson, jsonTexts, memberArrays } from './array-literal.ts';
import type { Queryable, Statement } from './database.ts';
import { readProperty } from './properties.ts';

/** The reading of a property's state, and the crawls of its adverts. */
export interface SummarizedProperty {
  readonly reading: PropertyReading;
  readonly crawls: Crawls;
}

const WRITTEN = `(
  select uuid, string_to_array(keys, ':')::bigint[] as keys, case when lat is not null then point(lon, lat) end as location,
    sample_key, is_live, department_code, insee_code, transaction_type, property_type, price, price_per_meter, surface,
    land_surface, room, bedroom, furnished, facts
  from unnest($1::uuid[], $2::text[], $3::float8[], $4::float8[], $5::integer[], $6::boolean[], $7::text[],
    $8::text[], $9::smallint[], $10::smallint[], $11::float8[], $12::float8[], $13::float8[], $14::float8[],
    $15::float8[], $16::float8[], $17::boolean[], ${jsonTexts('$18')})
  as given(uuid, keys, lat, lon, sample_key, is_live, department_code, insee_code, transaction_type, property_type, price,
    price_per_meter, surface, land_surface, room, bedroom, furnished, facts)) as written`;
const FACTS = `is_live, department_code, insee_code, transaction_type, property_type, price, price_per_meter, surface,
  land_surface, room, bedroom, furnished, facts`;
function columnsOf(properties: readonly SummarizedProperty[]): readonly string[] {
  const summaries = properties.map(({ reading, crawls }) => summaryOf(reading, crawls));
  const facts = summaries.map((summary) => summary.facts);
  const states = properties.map(({ reading }) => reading.state);
  return [
    ...memberArrays(states, 'uuid'),
    arrayLiteral(states.map((state, i) => lookupKeys(state, facts[i] as (typeof facts)[number]).join(':'))),
    ...memberArrays(facts, 'lat', 'lon'),
    arrayLiteral(states.map(({ uuid }) => sampleKeyOf(uuid))),
    arrayLiteral(summaries.map(({ adverts }) => adverts.length > 0)),
    ...memberArrays(facts, 'departmentCode'),
    arrayLiteral(facts.map(({ inseeCodes }) => inseeCodes[0] ?? null)),
    ...memberArrays(facts, 'transactionType', 'propertyType', 'price', 'pricePerMeter', 'surface', 'landSurface'),
    ...memberArrays(facts, 'room', 'bedroom', 'furnished'),
    joinedJson(summaries.map(summaryText)),
  ];
}

/** Inserts or updates the summaries of properties that may be new. */
export function insertSummaries(properties: readonly SummarizedProperty[]): readonly Statement[] {
  if (properties.length === 0) return [];
  return [
    {
      name: 'insert-summaries',
      text: `
        insert into property_summaries (property_uuid, keys, location, sample_key, ${FACTS})
        select uuid, keys, location, sample_key, ${FACTS} from ${WRITTEN}
        on conflict (property_uuid) do update
        set keys = excluded.keys, location = excluded.location,
          ${assignments('excluded')}`,
      values: columnsOf(properties),
    },
  ];
}

/**
 * Updates the summaries of known properties. A new description or picture writes nothing, and a new price changes no
 * index. Served by the primary key.
 */
export function updateSummaries(properties: readonly SummarizedProperty[]): readonly Statement[] {
  if (properties.length === 0) return [];
  return [
    {
      name: 'update-summaries',
      text: `
        update property_summaries as held
        set keys = written.keys, location = written.location,
          ${assignments('written')}
        from ${WRITTEN}
        where held.property_uuid = any($1::uuid[]) and held.property_uuid = written.uuid
          and (held.facts <> written.facts or held.keys <> written.keys)`,
      values: columnsOf(properties),
    },
  ];
}

function assignments(source: string): string {
  return FACTS.split(/,\s*/)
    .map((column) => `${column} = ${source}.${column}`)
    .join(', ');
}

/** Maximum number of properties read for a key. More have it only if a crawler gives all its adverts the same URL. */
const FOUND_MAX = 100;

/** The property that a request names. Exactly one member is not null. */
export interface WantedProperty {
  readonly property: Uuid | null;
  /** The UUID of one of its adverts. */
  readonly advert: Uuid | null;
  /** The URL of one of its adverts on the portal, compared in the form of `pageOf`. */
  readonly url: string | null;
}

/** Null if no such property is stored. If several have the URL, resolves with the last crawled one. */
export function findStoredProperty(
  database: Queryable,
  { property, advert, url }: WantedProperty,
): Promise<StoredProperty | null> {
  if (property !== null) return readProperty(database, property);
  if (advert !== null) {
    const isMeant = ({ state }: StoredProperty): boolean => state.adverts.some(({ uuid }) => uuid === advert);
    return findByKey(database, lookupKey('advert', advert), isMeant);
  }
  const wanted = pageOf(url ?? '');
  return findByKey(database, lookupKey('url', wanted), ({ state }) =>
    state.adverts.some(({ content }) => content.url !== null && pageOf(content.url) === wanted),
  );
}

/**
 * The property that has `key` and satisfies `isMeant`; if there are several, the last crawled one. Null if there is
 * none. Served by property_summaries_keys and the primary key of properties.
 */
async function findByKey(
  database: Queryable,
  key: LookupKey,
  isMeant: (stored: StoredProperty) => boolean,
): Promise<StoredProperty | null> {
  const { rows } = await database.query<{ uuid: Uuid; crawledAt: string | null }>(
    `select uuid, (select max(value ->> 0) from json_each(crawls)) as "crawledAt" from (
       select property_uuid as uuid from property_summaries where keys @> array[$1::bigint] limit ${FOUND_MAX}
     ) found join properties using (uuid) order by "crawledAt" desc nulls last, uuid`,
    [key],
  );
  let newest: { readonly stored: StoredProperty; readonly crawledAt: string } | null = null;
  // Reads one by one, as each may have megabytes. `crawls` also has times of expiry, so the order is approximate.
  for (const { uuid, crawledAt: latest } of rows) {
    if (newest !== null && newest.crawledAt >= (latest ?? '')) break;
    const stored = await readProperty(database, uuid);
    if (stored === null || !isMeant(stored)) continue;
    const crawledAt = lastLiveCrawl(representativeAdvert(stored.state, stored.crawls), stored.crawls);
    if (newest === null || crawledAt > newest.crawledAt) newest = { stored, crawledAt };
  }
  return newest?.stored ?? null;
}
