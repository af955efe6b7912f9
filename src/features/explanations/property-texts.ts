/** What is read of properties beside their summaries when an answer depends on it: the texts and the crawls of adverts. */

import type { Uuid } from '../../engine/domain/ids.ts';
import type { Crawls } from '../../engine/domain/property.ts';
import { PACKED_TEXTS, readState } from '../../engine/domain/stored-property.ts';
import type { Queryable } from '../../engine/store/database.ts';

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
  readonly state: string | null;
  readonly texts: readonly AdvertTexts[] | null;
}

const PICKED = PACKED_TEXTS.map((path) => `advert #>> '${path}'`).join();

/** Of every advert of the properties that are still there. Served by the primary key. */
export async function readTexts(
  database: Queryable,
  uuids: readonly Uuid[],
): Promise<ReadonlyMap<Uuid, readonly AdvertTexts[]>> {
  const { rows } = await database.query<TextRow>(
    `select uuid, case when is_light then state end as state, case when not is_light then (
       select json_agg(json_build_array(advert ->> 0, ${PICKED}))
       from json_array_elements(state::json -> 1) advert) end as texts
     from (
       select uuid, state, state_bytes <= ${LIGHT_BYTES} as is_light
       from properties where uuid = any($1::uuid[])
     ) sized`,
    [uuids],
  );
  return new Map(
    rows.map(({ uuid, state, texts }) => [
      uuid,
      texts ??
        (state === null ? [] : readState(state).adverts).map(({ uuid: advert, property, content }) => [
          advert,
          property.title,
          property.description,
          content.title,
          content.description,
        ]),
    ]),
  );
}

/** Served by the primary key. */
export async function readCrawls(database: Queryable, uuids: readonly Uuid[]): Promise<ReadonlyMap<Uuid, Crawls>> {
  const { rows } = await database.query<{ uuid: Uuid; crawls: Crawls }>(
    'select uuid, crawls from properties where uuid = any($1::uuid[])',
    [uuids],
  );
  return new Map(rows.map(({ uuid, crawls }) => [uuid, crawls]));
}
