/** Communes as embedded in property documents (specification, section 2.6), and how adverts may state a location. */

export interface CodedPlace {
  readonly code: string;
  readonly id: number;
  readonly name: string;
}

export interface City {
  readonly id: number;
  /** For an arrondissement of Paris, Lyon or Marseille, the id of its commune; otherwise null. */
  readonly cityParentId: number | null;
  readonly insee: string;
  readonly name: string;
  readonly originalName: string;
  readonly zipcode: string;
  readonly country: CodedPlace;
  readonly department: CodedPlace;
  readonly region: CodedPlace;
  readonly groupedCityNames: readonly string[];
  readonly groupedCityZipcodes: readonly string[];
  readonly hasGroupedByName: boolean;
  readonly hasGroupedByZipcode: boolean;
  readonly open: boolean;
  readonly location: { readonly lat: number; readonly lon: number } | null;
}

/** The location of a property as stated by an intake message. */
export interface StatedPlace {
  readonly insee: string | null;
  readonly zipcode: string | null;
  readonly name: string | null;
  readonly lat: number | null;
  readonly lon: number | null;
}

/** The location of a property after it was looked up among the communes. */
export interface ResolvedPlace {
  /** Null if only a zip code is known and several communes share it. */
  readonly city: City | null;
  /** Department of the commune or, without a commune, of the zip code. Null if the zip code spans departments. */
  readonly departmentCode: string | null;
  /** For the document: the stated zip code if the commune has it, else the commune's only zip code, else null. */
  readonly zipcode: string | null;
  /**
   * INSEE codes by which a search can include this location. The code of the commune or arrondissement is followed by
   * the code of an arrondissement's city. If a message states the code of a merged commune, it is the last.
   */
  readonly inseeCodes: readonly string[];
  /** The stated zip code, if it exists; else the commune's zip code, if it has only one; else empty. */
  readonly zipcodes: readonly string[];
}

/**
 * Looks up the commune of a stated location by the rules of decisions, section 5 (reference/resolve-place.ts). Returns
 * null if no commune is found and no commune has the stated zip code.
 */
export type ResolvePlace = (place: StatedPlace) => ResolvedPlace | null;
