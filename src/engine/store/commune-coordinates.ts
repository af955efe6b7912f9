/** Imported centres of communes, by INSEE code: 35,000 rows at most, all of one import. */

import { type Database, type Queryable, transaction } from './database.ts';

export interface CommuneCentre {
  readonly lat: number;
  readonly lon: number;
}

/** Identifies an import; null before the first. */
export type CoordinatesRevision = string | null;

export interface CommuneCoordinates {
  readonly revision: CoordinatesRevision;
  readonly centres: ReadonlyMap<string, CommuneCentre>;
}

/** A revision that differs from that of `readCommuneCoordinates` means that the centres were replaced. */
export async function coordinatesRevision(database: Queryable): Promise<CoordinatesRevision> {
  // A sequential scan up to the first row: all have the same revision.
  const { rows } = await database.query<{ readonly revision: string }>(
    'select revision::text from commune_coordinates limit 1',
  );
  return rows[0]?.revision ?? null;
}

/** A sequential scan: all rows are needed. */
export async function readCommuneCoordinates(database: Queryable): Promise<CommuneCoordinates> {
  const { rows } = await database.query<CommuneCentre & { readonly insee: string; readonly revision: string }>(
    'select insee, lat, lon, revision::text from commune_coordinates',
  );
  return {
    revision: rows[0]?.revision ?? null,
    centres: new Map(rows.map(({ insee, lat, lon }) => [insee, { lat, lon }])),
  };
}

/** Replaces the imported centres by these, in one transaction. */
export async function replaceCommuneCoordinates(
  database: Database,
  coordinates: ReadonlyMap<string, CommuneCentre>,
): Promise<void> {
  const centres = [...coordinates.values()];
  await transaction(database, async (client) => {
    // Two concurrent imports would each insert what the other has not committed: the second waits.
    await client.query('lock table commune_coordinates in share row exclusive mode');
    await client.query('delete from commune_coordinates');
    await client.query(
      `insert into commune_coordinates (insee, lat, lon) select * from unnest($1::text[], $2::float8[], $3::float8[])`,
      [[...coordinates.keys()], centres.map(({ lat }) => lat), centres.map(({ lon }) => lon)],
    );
  });
}
