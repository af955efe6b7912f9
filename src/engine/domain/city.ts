/** A commune as a property document embeds it (specification, section 2.6), and how an advert may name one. */

export interface CodedPlace {
  readonly code: string;
  readonly id: number;
  readonly name: string;
}

export interface City {
  readonly id: number;
  /** Id of the commune that contains this arrondissement (Paris, Lyon, Marseille); otherwise null. */
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

/** The known location of a property, for matching. */
export interface ResolvedPlace {
  /** Null if only the zip code is known, which several communes share. */
  readonly city: City | null;
  /** Department of the commune, otherwise of all communes of the zip code; null if these are in several departments. */
  readonly departmentCode: string | null;
  /** Zip code for the document: the stated one if the commune has it, otherwise the commune's only one, otherwise null. */
  readonly zipcode: string | null;
  /**
   * INSEE codes by which a search may include this location: its own and, for an arrondissement, the one of its
   * commune.
   */
  readonly inseeCodes: readonly string[];
  /** The stated zip code; otherwise the only one of the commune; otherwise none. */
  readonly zipcodes: readonly string[];
}

/**
 * Resolves by INSEE code, then by zip code and name, then by the outline that contains it (decisions, section 5). Null if
 * nothing is known.
 */
export type ResolvePlace = (place: StatedPlace) => ResolvedPlace | null;
