/**
 * Resolves the commune of an advert (decisions, section 5). The INSEE code decides, else any two of zip code, name and
 * coordinates that agree. Otherwise coordinates, zip code or name alone decide, in this order. Each step is tried only
 * if the previous step found nothing.
 */

import type { City, ResolvedPlace, ResolvePlace } from '../domain/city.ts';
import type { CommuneLocations } from './commune-locations.ts';
import type { CommuneNames } from './commune-names.ts';
import type { Centre, CommuneRecord } from './commune-records.ts';
import type { PlaceReading } from './place-names.ts';

export interface PlaceResolverParts extends Pick<CommuneLocations, 'communeAt' | 'communesAround' | 'distanceKm'> {
  readonly names: CommuneNames;
  /** For the code of a merged commune, returns the commune that it is now part of. */
  readonly communeOf: (insee: string) => CommuneRecord | null;
  /** Paris, Lyon and Marseille are represented by their arrondissements. */
  readonly communesOfZipcode: (zipcode: string) => readonly CommuneRecord[];
  readonly cityOf: (commune: CommuneRecord) => City;
}

/** A name and coordinates agree if the coordinates are within this distance of the commune's outline. */
const NAME_RADIUS_KM = 5;
/** A zip code and coordinates agree if the coordinates are within this distance of a commune with the zip code. */
const ZIPCODE_RADIUS_KM = 30;

const NO_NAME: PlaceReading = { key: '', code: null };

interface Codes {
  readonly insee: string | null;
  readonly zipcode: string | null;
}

export function createPlaceResolver(parts: PlaceResolverParts): ResolvePlace {
  const { names } = parts;

  function find(place: Codes, readings: readonly PlaceReading[], at: Centre | null): CommuneRecord | null {
    const { insee, zipcode } = place;
    const commune = insee === null ? null : parts.communeOf(insee);
    if (commune !== null) return zipcode === null ? commune : arrondissementOf(commune, zipcode);
    const [{ key, code } = NO_NAME] = readings;
    const inZipcode = zipcode === null ? [] : parts.communesOfZipcode(zipcode);
    const agreed = names.pick(inZipcode, key) ?? (at === null ? null : nearbyOfName(at, key));
    if (agreed !== null) return agreed;
    // CEDEX codes and `75000` are in no list, but begin with the code of a department.
    const department = inZipcode.length === 0 ? (zipcode ?? code) : null;
    const inDepartment = department === null ? null : names.onlyIn(department, key);
    if (inDepartment !== null) return inDepartment;
    const located = at === null ? null : (nearestOf(inZipcode, at) ?? parts.communeAt(at));
    if (located !== null) return located;
    if (inZipcode.length === 1) return inZipcode[0] as CommuneRecord;
    if (inZipcode.length > 0) return null;
    return readings.reduce<CommuneRecord | null>((found, reading) => found ?? names.only(reading), null);
  }

  function nearbyOfName(at: Centre, key: string): CommuneRecord | null {
    if (key === '') return null;
    return names.pick(byDistance(names.alike(parts.communesAround(at, NAME_RADIUS_KM), key), at, NAME_RADIUS_KM), key);
  }

  function nearestOf(communes: readonly CommuneRecord[], at: Centre): CommuneRecord | null {
    return byDistance(communes, at, ZIPCODE_RADIUS_KM)[0] ?? null;
  }

  /** Communes within `radiusKm`, nearest first. */
  function byDistance(communes: readonly CommuneRecord[], at: Centre, radiusKm: number): readonly CommuneRecord[] {
    return communes
      .map((commune) => ({ commune, km: parts.distanceKm(commune, at) }))
      .filter(({ km }) => km <= radiusKm)
      .sort((a, b) => a.km - b.km)
      .map(({ commune }) => commune);
  }

  /** An advert with Paris and 75015 means the 15th arrondissement, which is also part of Paris. */
  function arrondissementOf(commune: CommuneRecord, zipcode: string): CommuneRecord {
    const within = parts.communesOfZipcode(zipcode).filter(({ parentInsee }) => parentInsee === commune.insee);
    return within[0] ?? commune;
  }

  return ({ insee: statedInsee, zipcode: statedZipcode, name, lat, lon }) => {
    const insee = fiveCharacters(statedInsee);
    const readings = name === null ? [] : names.read(name);
    const zipcode = fiveCharacters(statedZipcode) ?? fiveCharacters(readings[0]?.code ?? null);
    const commune = find({ insee, zipcode }, readings, lat === null || lon === null ? null : { lat, lon });
    return commune === null ? withinZipcode(zipcode, parts) : resolved(commune, insee, zipcode, parts);
  };
}

/** For a zip code that several communes share, the department, if it is the same for all. */
function withinZipcode(
  zipcode: string | null,
  { communesOfZipcode }: Pick<PlaceResolverParts, 'communesOfZipcode'>,
): ResolvedPlace | null {
  if (zipcode === null) return null;
  const departments = new Set(communesOfZipcode(zipcode).map(({ departmentCode }) => departmentCode));
  const [departmentCode = null, ...more] = departments;
  if (departmentCode === null) return null;
  const known = more.length === 0 ? departmentCode : null;
  return { city: null, departmentCode: known, zipcode: null, inseeCodes: [], zipcodes: [zipcode] };
}

function resolved(
  commune: CommuneRecord,
  insee: string | null,
  zipcode: string | null,
  parts: PlaceResolverParts,
): ResolvedPlace {
  const inseeCodes = [commune.insee];
  if (commune.parentInsee !== null) inseeCodes.push(commune.parentInsee);
  // A search with the code of a merged commune still finds the adverts that state this code.
  const isMerged = insee !== null && !inseeCodes.includes(insee) && parts.communeOf(insee) === commune;
  if (isMerged) inseeCodes.push(insee);
  const isKnownZipcode = zipcode !== null && parts.communesOfZipcode(zipcode).length > 0;
  const zipcodes = isKnownZipcode ? [zipcode] : commune.zipcodes;
  const [only = null, ...more] = commune.zipcodes;
  return {
    city: parts.cityOf(commune),
    departmentCode: commune.departmentCode,
    zipcode: zipcode !== null && commune.zipcodes.includes(zipcode) ? zipcode : more.length === 0 ? only : null,
    inseeCodes,
    // Several zip codes would be ambiguous.
    zipcodes: zipcodes.length === 1 ? zipcodes : [],
  };
}

/** Trimmed, in upper case, with the leading zero that spreadsheets drop; null unless it is a five-character code. */
function fiveCharacters(code: string | null): string | null {
  if (code === null) return null;
  const trimmed = code.trim().toUpperCase();
  const padded = /^\d{4}$/.test(trimmed) ? `0${trimmed}` : trimmed;
  return /^(?:\d|2[AB])\d{3,4}$/.test(padded) && padded.length === 5 ? padded : null;
}
