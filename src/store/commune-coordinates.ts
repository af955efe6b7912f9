/** Imported centres of communes, by INSEE code. Small (35,000 rows) and read once, when the reference is loaded. */

import { type Database, type Queryable, transaction } from './database.ts';

export interface CommuneCentre {
  readonly lat: number;
  readonly lon: number;
}

/** A sequential scan: everything is wanted. */
export async function readCommuneCoordinates(database: Queryable): Promise<ReadonlyMap<string, CommuneCentre>> {
  const { rows } = await database.query<CommuneCentre & { readonly insee: string }>(
    'select insee, lat, lon from commune_coordinates',
  );
  return new Map(rows.map(({ insee, lat, lon }) => [insee, { lat, lon }]));
}

/** Makes these the only imported centres, in one transaction. */
export async function replaceCommuneCoordinates(
  database: Database,
  coordinates: ReadonlyMap<string, CommuneCentre>,
): Promise<void> {
  const centres = [...coordinates.values()];
  await transaction(database, async (client) => {
    // Two imports at once would each insert what the other has not yet committed: the second waits.
    await client.query('lock table commune_coordinates in share row exclusive mode');
    await client.query('delete from commune_coordinates');
    await client.query(
      `insert into commune_coordinates (insee, lat, lon) select * from unnest($1::text[], $2::float8[], $3::float8[])`,
      [[...coordinates.keys()], centres.map(({ lat }) => lat), centres.map(({ lon }) => lon)],
    );
  });
}
