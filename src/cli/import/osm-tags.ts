/** What the tags of OpenStreetMap say of a point of interest, and what an import has kept and left out. */

import {
  FACILITIES,
  type Facility,
  type OperatorType,
  type PointAttributes,
  type PointOfInterest,
  type SchoolType,
} from '../../engine/domain/point-of-interest.ts';
import { foldText, storable } from '../../engine/domain/text.ts';

export interface Place {
  /** Degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
}

/** The centre of the bounding box; null of nothing. */
export function boxCentre(places: Iterable<Place>): Place | null {
  let south = Number.POSITIVE_INFINITY;
  let north = Number.NEGATIVE_INFINITY;
  let west = Number.POSITIVE_INFINITY;
  let east = Number.NEGATIVE_INFINITY;
  for (const { lat, lon } of places) {
    south = Math.min(south, lat);
    north = Math.max(north, lat);
    west = Math.min(west, lon);
    east = Math.max(east, lon);
  }
  return south <= north ? { lat: (south + north) / 2, lon: (west + east) / 2 } : null;
}

export type Tags = Readonly<Record<string, string>>;
/** A point of interest without its place. */
type DescribedFacility = Pick<PointOfInterest, 'facility' | 'name' | 'attributes'>;

export const NOT_A_FACILITY = 'another kind of place';
const NAME_LENGTH_MAX = 200;
/** Maximum length of a raw value: OpenStreetMap allows 255 characters, and one long value may occur in every object. */
const VALUE_LENGTH_MAX = 1_000;

/**
 * The tags of a point: `amenity` is the facility, `school:FR` and `operator:type` are the attributes (specification,
 * section 2.4). Several values in one tag (`school;kindergarten`) are several facilities; none of the five is none.
 */
export function describeTags(tags: Tags): readonly DescribedFacility[] {
  const [name, attributes] = [tidyName(tags.name), attributesOf(tags)];
  return facilitiesOf(tags.amenity).map((facility) => ({ facility, name, attributes }));
}

/** Each once. */
export function facilitiesOf(amenity: string | undefined): readonly Facility[] {
  const values = (amenity ?? '').slice(0, VALUE_LENGTH_MAX).split(';');
  const named = new Set(values.map((value) => value.trim()));
  return FACILITIES.filter((facility) => named.has(facility));
}

/** Trimmed, and storable; null for an empty one. */
export function tidyName(name: string | undefined): string | null {
  const tidy = storable((name ?? '').slice(0, VALUE_LENGTH_MAX))
    .trim()
    .slice(0, NAME_LENGTH_MAX);
  return tidy === '' ? null : tidy;
}

function attributesOf(tags: Tags): PointAttributes {
  const schoolType = schoolTypeOf(tags['school:FR'] ?? tags.schoolType);
  const operatorType = operatorTypeOf(tags['operator:type'] ?? tags.operatorType);
  return { ...(schoolType === null ? {} : { schoolType }), ...(operatorType === null ? {} : { operatorType }) };
}

const SCHOOL_TYPES_BY_FOLDED: ReadonlyMap<string, SchoolType> = new Map([
  ['maternelle', 'maternelle'],
  ['elementaire', 'élémentaire'],
  ['primaire', 'primaire'],
  ['college', 'collège'],
  ['lycee', 'lycée'],
  ['secondaire', 'secondaire'],
  ['elementaire maternelle', 'primaire'],
  ['maternelle elementaire', 'primaire'],
  ['college lycee', 'secondaire'],
  ['lycee college', 'secondaire'],
]);

/** Accents and case aside; a school of two stages has the type that spans both. */
function schoolTypeOf(text: string | undefined): SchoolType | null {
  return text === undefined ? null : (SCHOOL_TYPES_BY_FOLDED.get(foldText(text.slice(0, VALUE_LENGTH_MAX))) ?? null);
}

const OPERATOR_TYPES_BY_TEXT: ReadonlyMap<string, OperatorType> = new Map([
  ['public', 'public'],
  ['government', 'public'],
  ['private', 'private'],
  ['private_non_profit', 'private'],
  ['private_for_profit', 'private'],
  ['religious', 'private'],
]);

function operatorTypeOf(text: string | undefined): OperatorType | null {
  return text === undefined
    ? null
    : (OPERATOR_TYPES_BY_TEXT.get(text.slice(0, VALUE_LENGTH_MAX).trim().toLowerCase()) ?? null);
}

export interface PointImportSummary {
  /** Rows or features. */
  readonly read: number;
  readonly kept: Readonly<Record<Facility, number>>;
  /** How many were left out, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
}

/** What an import of points has read, kept and left out, counted while it runs. */
export class ImportTally {
  read = 0;
  readonly #kept = Object.fromEntries(FACILITIES.map((facility) => [facility, 0])) as Record<Facility, number>;
  readonly #skipped = new Map<string, number>();

  keep(facility: Facility): void {
    this.#kept[facility]++;
  }

  /** `reason` is one of a few texts: it is a key of the summary. */
  skip(reason: string): void {
    this.#skipped.set(reason, (this.#skipped.get(reason) ?? 0) + 1);
  }

  summary(): PointImportSummary {
    return { read: this.read, kept: { ...this.#kept }, skipped: Object.fromEntries(this.#skipped) };
  }
}
