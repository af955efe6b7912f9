/** A commune as a property document embeds it (specification, section 2.6), and how an advert may name one. */

export interface CodedPlace {
  readonly code: string;
  readonly id: number;
  readonly name: string;
}

export interface City {
  readonly id: number;
  /** Id of the commune that this arrondissement belongs to (Paris, Lyon, Marseille), else null. */
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

/** An intake message's statements about the place of a property. */
export interface StatedPlace {
  readonly insee: string | null;
  readonly zipcode: string | null;
  readonly name: string | null;
  readonly lat: number | null;
  readonly lon: number | null;
}

/** What is known of the place of a property, for matching. */
export interface ResolvedPlace {
  /** Null: only the zip code is known, which several communes share. */
  readonly city: City | null;
  /** Of the commune, else of all communes of the zip code; null where these are in several departments. */
  readonly departmentCode: string | null;
  /** The zip code for its document: the stated one if the commune has it, its own if it has just one, else null. */
  readonly zipcode: string | null;
  /** INSEE codes that a search may name to include this place: its own and, for an arrondissement, its commune's. */
  readonly inseeCodes: readonly string[];
  /** The zip code the advert stated, else that of the commune where it has just one, else none. */
  readonly zipcodes: readonly string[];
}

/** INSEE, else zip code and name, else the outline that holds it (decisions, section 5); null when nothing is known. */
export type ResolvePlace = (place: StatedPlace) => ResolvedPlace | null;
