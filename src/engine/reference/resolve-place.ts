/**
 * Resolves the commune of an advert (decisions, section 5): its INSEE code, else what two of zip code, name and
 * coordinates agree on, else coordinates, name or zip code alone. Each step is tried only when the previous one found
 * nothing.
 */

import type { City, ResolvedPlace, ResolvePlace, StatedPlace } from '../domain/city.ts';
import type { CommuneLocations } from './commune-locations.ts';
import type { Centre, CommuneRecord } from './commune-records.ts';
import { placeKey, withoutArticle } from './place-names.ts';

export interface PlaceResolverParts extends Pick<CommuneLocations, 'communeAt' | 'communesAround' | 'distanceKm'> {
  readonly communes: readonly CommuneRecord[];
  /** Codes of merged communes lead to the commune of today. */
  readonly communeOf: (insee: string) => CommuneRecord | null;
  /** Paris, Lyon and Marseille are represented by their arrondissements. */
  readonly communesOfZipcode: (zipcode: string) => readonly CommuneRecord[];
  readonly cityOf: (commune: CommuneRecord) => City;
}

/** Farther from the commune's outline, a name and coordinates do not agree. */
const NAME_RADIUS_KM = 5;
/** Likewise a zip code and coordinates. */
const ZIPCODE_RADIUS_KM = 30;

export function createPlaceResolver(parts: PlaceResolverParts): ResolvePlace {
  const names = new CommuneNames(parts.communes, parts.communeOf);

  function find(place: StatedPlace, insee: string | null, zipcode: string | null): CommuneRecord | null {
    const commune = insee === null ? null : parts.communeOf(insee);
    if (commune !== null) return zipcode === null ? commune : arrondissementOf(commune, zipcode);
    const { name, lat, lon } = place;
    const at = lat === null || lon === null ? null : { lat, lon };
    const inZipcode = zipcode === null ? [] : parts.communesOfZipcode(zipcode);
    const agreed = names.pick(inZipcode, name) ?? (at === null || name === null ? null : nearbyOfName(at, name));
    if (agreed !== null) return agreed;
    if (zipcode !== null && inZipcode.length === 0) {
      // CEDEX codes and `75000` are in no list: their first digits are still the department's.
      const inDepartment = names.only(name, (one) => isOfDepartment(one, zipcode));
      if (inDepartment !== null) return inDepartment;
    }
    const located = at === null ? null : (nearestOf(inZipcode, at) ?? parts.communeAt(at));
    if (located !== null) return located;
    if (inZipcode.length === 0) return names.only(name, () => true);
    return inZipcode.length === 1 ? (inZipcode[0] as CommuneRecord) : null;
  }

  function nearbyOfName(at: Centre, name: string): CommuneRecord | null {
    return names.pick(
      byDistance(names.alike(parts.communesAround(at, NAME_RADIUS_KM), name), at, NAME_RADIUS_KM),
      name,
    );
  }

  function nearestOf(communes: readonly CommuneRecord[], at: Centre): CommuneRecord | null {
    return byDistance(communes, at, ZIPCODE_RADIUS_KM)[0] ?? null;
  }

  /** Those within `radiusKm`, the nearest first. */
  function byDistance(communes: readonly CommuneRecord[], at: Centre, radiusKm: number): readonly CommuneRecord[] {
    return communes
      .map((commune) => ({ commune, km: parts.distanceKm(commune, at) }))
      .filter(({ km }) => km <= radiusKm)
      .sort((a, b) => a.km - b.km)
      .map(({ commune }) => commune);
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

/** Corsica's zip codes begin with 20. */
function isOfDepartment({ departmentCode }: CommuneRecord, zipcode: string): boolean {
  return zipcode.startsWith(departmentCode.replace(/^2[AB]$/, '20'));
}

function resolved(
  commune: CommuneRecord,
  insee: string | null,
  zipcode: string | null,
  parts: PlaceResolverParts,
): ResolvedPlace {
  const inseeCodes = [commune.insee];
  if (commune.parentInsee !== null) inseeCodes.push(commune.parentInsee);
  // A search with the code of a merged commune still finds the adverts that state it.
  const isMerged = insee !== null && !inseeCodes.includes(insee) && parts.communeOf(insee) === commune;
  if (isMerged) inseeCodes.push(insee);
  const isKnownZipcode = zipcode !== null && parts.communesOfZipcode(zipcode).length > 0;
  const zipcodes = isKnownZipcode ? [zipcode] : commune.zipcodes;
  const [only = null, ...more] = commune.zipcodes;
  return {
    city: parts.cityOf(commune),
    zipcode: zipcode !== null && commune.zipcodes.includes(zipcode) ? zipcode : more.length === 0 ? only : null,
    inseeCodes,
    // Several candidates are ambiguous.
    zipcodes: zipcodes.length === 1 ? zipcodes : [],
  };
}

/**
 * Trimmed and in upper case, with the leading zero that spreadsheets drop; null when that is no five-character code.
 */
function fiveCharacters(code: string | null): string | null {
  if (code === null) return null;
  const trimmed = code.trim().toUpperCase();
  const padded = /^\d{4}$/.test(trimmed) ? `0${trimmed}` : trimmed;
  return /^(?:\d|2[AB])\d{3,4}$/.test(padded) && padded.length === 5 ? padded : null;
}

interface NameKeys {
  readonly own: string;
  readonly others: readonly string[];
}

/** Communes by the names in adverts: their own, those of communes merged into them, and of localities. */
class CommuneNames {
  readonly #communes: readonly CommuneRecord[];
  readonly #communeOf: (insee: string) => CommuneRecord | null;
  /** Folding is slow: each commune's names are folded once, at the first comparison. */
  readonly #keysOf = new Map<CommuneRecord, NameKeys>();
  /** All communes by own names, by others, by own ones without article; made when first all of them are asked for. */
  #byKey: readonly CommunesByKey[] | null = null;

  constructor(communes: readonly CommuneRecord[], communeOf: (insee: string) => CommuneRecord | null) {
    this.#communes = communes;
    this.#communeOf = communeOf;
  }

  /**
   * The commune that `name` means among `communes`: the first of the same name, by its own name before another one;
   * else the only one whose name begins with it (`Saint-Maur` for `Saint-Maur-des-Fossés`).
   */
  pick(communes: readonly CommuneRecord[], name: string | null): CommuneRecord | null {
    const key = communes.length === 0 || name === null ? '' : placeKey(name);
    if (key === '') return null;
    const own = communes.find((commune) => this.#keys(commune).own === key);
    const same = own ?? communes.find((commune) => this.#keys(commune).others.includes(key));
    if (same !== undefined) return same;
    const [only, ...more] = this.#alike(communes, key);
    return only !== undefined && more.length === 0 ? only : null;
  }

  /** Those with a name that begins as `name` does, or is its beginning. */
  alike(communes: readonly CommuneRecord[], name: string): readonly CommuneRecord[] {
    const key = placeKey(name);
    return key === '' ? [] : this.#alike(communes, key);
  }

  #alike(communes: readonly CommuneRecord[], key: string): readonly CommuneRecord[] {
    return communes.filter((commune) => {
      const { own, others } = this.#keys(commune);
      return isSameBeginning(own, key) || others.some((known) => isSameBeginning(known, key));
    });
  }

  /** The only commune of all with this name that fits: an own name goes before others, a whole one before one without article. */
  only(name: string | null, fits: (commune: CommuneRecord) => boolean): CommuneRecord | null {
    const key = name === null ? '' : placeKey(name);
    if (key === '') return null;
    this.#byKey ??= this.#index();
    for (const table of this.#byKey) {
      const [first, ...more] = (table.get(key) ?? []).filter(fits);
      if (first !== undefined) return more.length === 0 ? first : null;
    }
    return null;
  }

  #keys(commune: CommuneRecord): NameKeys {
    const known = this.#keysOf.get(commune);
    if (known !== undefined) return known;
    // Paris with coordinates in the 15th arrondissement means the arrondissement.
    const parent = commune.parentInsee === null ? null : this.#communeOf(commune.parentInsee);
    const others = parent === null ? commune.otherNames : [parent.officialName];
    const keys = { own: placeKey(commune.officialName), others: others.map(placeKey) };
    this.#keysOf.set(commune, keys);
    return keys;
  }

  #index(): readonly CommunesByKey[] {
    const own = new Map<string, CommuneRecord[]>();
    const others = new Map<string, CommuneRecord[]>();
    const bare = new Map<string, CommuneRecord[]>();
    for (const commune of this.#communes) {
      const keys = this.#keys(commune);
      add(own, keys.own, commune);
      const named = withoutArticle(keys.own);
      if (named !== keys.own) add(bare, named, commune);
      if (commune.parentInsee === null) for (const key of new Set(keys.others)) add(others, key, commune);
    }
    return [own, others, bare];
  }
}

type CommunesByKey = ReadonlyMap<string, readonly CommuneRecord[]>;

function add(table: Map<string, CommuneRecord[]>, key: string, commune: CommuneRecord): void {
  const communes = table.get(key);
  if (communes === undefined) table.set(key, [commune]);
  else if (!communes.includes(commune)) communes.push(commune);
}

/** Whole words, articles aside. */
function isSameBeginning(a: string, b: string): boolean {
  const left = `${withoutArticle(a)} `;
  const right = `${withoutArticle(b)} `;
  return left.startsWith(right) || right.startsWith(left);
}
