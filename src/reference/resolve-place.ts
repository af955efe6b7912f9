/**
 * Which commune an advert means (decisions, section 5): its INSEE code, else its zip code and name, else the nearest
 * commune centre to its coordinates. Each step is tried only when the one before found nothing.
 */

import type { City, ResolvedPlace, ResolvePlace, StatedPlace } from '../domain/city.ts';
import type { CommuneRecord } from './commune-records.ts';
import { placeKey } from './place-names.ts';

export interface PlaceResolverParts {
  /** Codes of merged communes lead to the commune of today. */
  readonly communeOf: (insee: string) => CommuneRecord | null;
  /** Paris, Lyon and Marseille are represented by their arrondissements. */
  readonly communesOfZipcode: (zipcode: string) => readonly CommuneRecord[];
  readonly nearestCommune: (lat: number, lon: number) => CommuneRecord | null;
  readonly cityOf: (commune: CommuneRecord) => City;
}

export function createPlaceResolver(parts: PlaceResolverParts): ResolvePlace {
  const pickByName = createNamePicker();

  function find(place: StatedPlace, insee: string | null, zipcode: string | null): CommuneRecord | null {
    const commune = insee === null ? null : parts.communeOf(insee);
    if (commune !== null) return zipcode === null ? commune : arrondissementOf(commune, zipcode);
    const inZipcode = zipcode === null ? [] : parts.communesOfZipcode(zipcode);
    const named = pickByName(inZipcode, place.name);
    if (named !== null) return named;
    return place.lat === null || place.lon === null ? null : parts.nearestCommune(place.lat, place.lon);
  }

  /** An advert that says Paris and 75015 means the 15th arrondissement, which still includes Paris. */
  function arrondissementOf(commune: CommuneRecord, zipcode: string): CommuneRecord {
    const within = parts.communesOfZipcode(zipcode).filter(({ parentInsee }) => parentInsee === commune.insee);
    return within[0] ?? commune;
  }

  return (place) => {
    const insee = fiveCharacters(place.insee);
    const zipcode = fiveCharacters(place.zipcode);
    const commune = find(place, insee, zipcode);
    return commune === null ? null : resolved(commune, insee, zipcode, parts);
  };
}

function resolved(
  commune: CommuneRecord,
  insee: string | null,
  zipcode: string | null,
  parts: PlaceResolverParts,
): ResolvedPlace {
  const inseeCodes = [commune.insee];
  if (commune.parentInsee !== null) inseeCodes.push(commune.parentInsee);
  // A search that names the code of a merged commune still finds the adverts that state it.
  const isMerged = insee !== null && !inseeCodes.includes(insee) && parts.communeOf(insee) === commune;
  if (isMerged) inseeCodes.push(insee);
  const isKnownZipcode = zipcode !== null && parts.communesOfZipcode(zipcode).length > 0;
  const zipcodes = isKnownZipcode ? [zipcode] : commune.zipcodes;
  return {
    city: parts.cityOf(commune),
    inseeCodes,
    // Of several, nobody knows which it is.
    zipcodes: zipcodes.length === 1 ? zipcodes : [],
  };
}

/** Trimmed and in upper case, with the leading zero that spreadsheets eat; null when that is no five-character code. */
function fiveCharacters(code: string | null): string | null {
  if (code === null) return null;
  const trimmed = code.trim().toUpperCase();
  const padded = /^\d{4}$/.test(trimmed) ? `0${trimmed}` : trimmed;
  return /^(?:\d|2[AB])\d{3,4}$/.test(padded) && padded.length === 5 ? padded : null;
}

/**
 * The commune that `name` means among those of one zip code: the same name, today's or one from before a merger; else
 * the only one whose name begins like it (`Saint-Maur` for `Saint-Maur-des-Fossés`); else the only one there is.
 * Keys are folded once per commune.
 */
function createNamePicker(): (communes: readonly CommuneRecord[], name: string | null) => CommuneRecord | null {
  const keysOf = new Map<CommuneRecord, readonly string[]>();

  function keys(commune: CommuneRecord): readonly string[] {
    const known = keysOf.get(commune);
    if (known !== undefined) return known;
    const folded = [commune.officialName, ...commune.formerNames].map(placeKey);
    keysOf.set(commune, folded);
    return folded;
  }

  return (communes, name) => {
    if (communes.length <= 1) return communes[0] ?? null;
    const key = name === null ? '' : placeKey(name);
    if (key === '') return null;
    const same = communes.filter((commune) => keys(commune).includes(key));
    if (same.length > 0) return same.find((commune) => keys(commune)[0] === key) ?? (same[0] as CommuneRecord);
    const alike = communes.filter((commune) => keys(commune).some((known) => isSameBeginning(known, key)));
    return alike.length === 1 ? (alike[0] as CommuneRecord) : null;
  };
}

const ARTICLE = /^(?:l|le|la|les|los|aux) /;

/** Whole words, articles aside. */
function isSameBeginning(a: string, b: string): boolean {
  const left = `${a.replace(ARTICLE, '')} `;
  const right = `${b.replace(ARTICLE, '')} `;
  return left.startsWith(right) || right.startsWith(left);
}
