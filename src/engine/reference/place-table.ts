/**
 * The data of `places/places.tsv.gz` about communes: centres, zip codes that the package of communes lacks, and names
 * of localities. `places/build.ts` creates it from La Poste's file, and describes its lines.
 */

import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';

export interface Centre {
  readonly lat: number;
  readonly lon: number;
}

/** All by INSEE code. */
export interface PlaceTable {
  /** Of communes, those merged since included, and of the neighbours Andorra and Monaco; the main one first. */
  readonly centres: ReadonlyMap<string, readonly Centre[]>;
  readonly zipcodes: ReadonlyMap<string, readonly string[]>;
  readonly localities: ReadonlyMap<string, readonly string[]>;
}

/** Throws when the file cannot be read: the installation is broken. */
export async function readPlaceTable(): Promise<PlaceTable> {
  const text = gunzipSync(await readFile(new URL('places/places.tsv.gz', import.meta.url))).toString('utf8');
  const centres = new Map<string, readonly Centre[]>();
  const zipcodes = new Map<string, readonly string[]>();
  const localities = new Map<string, readonly string[]>();
  for (const line of text.split('\n')) {
    const [insee = '', points = '', codes = '', names = ''] = line.split('\t');
    if (points !== '') centres.set(insee, points.split(',').map(centreOf));
    if (codes !== '') zipcodes.set(insee, codes.split(','));
    if (names !== '') localities.set(insee, names.split(','));
  }
  return { centres, zipcodes, localities };
}

function centreOf(point: string): Centre {
  const [lat, lon] = point.split(' ');
  return { lat: Number(lat), lon: Number(lon) };
}
