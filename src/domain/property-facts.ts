/**
 * What matching sees of a property: the values its criteria compare, and nothing else.
 * `null` is unknown, and a criterion on an unknown value fails (decisions, section 3).
 */

/** A live advert. A property without one matches nothing. */
export interface AdvertFacts {
  readonly siteCategory: string | null;
  readonly publisherType: number | null;
  readonly price: number | null;
  readonly hasVirtualTour: boolean;
  /** Title and description as written. */
  readonly texts: readonly string[];
}

export interface PropertyFacts {
  readonly transactionType: number | null;
  readonly propertyType: number | null;
  readonly price: number | null;
  readonly pricePerMeter: number | null;
  readonly surface: number | null;
  readonly landSurface: number | null;
  readonly room: number | null;
  readonly bedroom: number | null;
  readonly furnished: boolean | null;
  /** Degrees, WGS 84. Both or neither. */
  readonly lat: number | null;
  readonly lon: number | null;
  /** INSEE codes a search may name to include this place: the commune's own and, for an arrondissement, its parent's. */
  readonly inseeCodes: readonly string[];
  readonly departmentCode: string | null;
  readonly zipcodes: readonly string[];
  /** Title and description of the property itself, as written. */
  readonly texts: readonly string[];
  readonly adverts: readonly AdvertFacts[];
  /** False when the price is known to be incoherent (decisions, section 3). */
  readonly isPriceCoherent: boolean;
}

/** Whether matching cannot tell the two apart: most changes of an advert touch nothing that it compares. */
export function sameFacts(a: PropertyFacts, b: PropertyFacts): boolean {
  return (
    a.price === b.price &&
    a.pricePerMeter === b.pricePerMeter &&
    a.surface === b.surface &&
    a.lat === b.lat &&
    a.lon === b.lon &&
    a.transactionType === b.transactionType &&
    a.propertyType === b.propertyType &&
    a.landSurface === b.landSurface &&
    a.room === b.room &&
    a.bedroom === b.bedroom &&
    a.furnished === b.furnished &&
    a.departmentCode === b.departmentCode &&
    a.isPriceCoherent === b.isPriceCoherent &&
    sameList(a.inseeCodes, b.inseeCodes) &&
    sameList(a.zipcodes, b.zipcodes) &&
    sameList(a.texts, b.texts) &&
    a.adverts.length === b.adverts.length &&
    a.adverts.every((advert, i) => sameAdvert(advert, b.adverts[i] as AdvertFacts))
  );
}

function sameAdvert(a: AdvertFacts, b: AdvertFacts): boolean {
  return (
    a.siteCategory === b.siteCategory &&
    a.publisherType === b.publisherType &&
    a.price === b.price &&
    a.hasVirtualTour === b.hasVirtualTour &&
    sameList(a.texts, b.texts)
  );
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}
