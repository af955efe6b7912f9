/**
 * Maps the tags of a point of interest: OpenStreetMap's `amenity` is the facility, `school:FR` and `operator:type` are
 * the attributes (specification, section 2.4). GeoJSON properties are read by the same rules.
 */

import {
  FACILITIES,
  type Facility,
  type OperatorType,
  type PointAttributes,
  type PointOfInterest,
  type SchoolType,
} from '../../engine/domain/point-of-interest.ts';
import { storable } from '../../engine/domain/storable-text.ts';
import { foldText } from '../../engine/domain/text.ts';

export type Tags = Readonly<Record<string, string>>;
/** A point of interest without its place. */
export type DescribedFacility = Pick<PointOfInterest, 'facility' | 'name' | 'attributes'>;

export const NOT_A_FACILITY = 'another kind of place';
const NAME_LENGTH_MAX = 200;
/** Maximum length of a raw value: OpenStreetMap allows 255 characters, and one long value may occur in every object. */
const VALUE_LENGTH_MAX = 1_000;

/** Null when `amenity` is none of the five facilities, or several values at once (`parking;fuel`). */
export function describeTags(tags: Tags): DescribedFacility | null {
  const facility = facilityOf(tags.amenity);
  return facility === null ? null : { facility, name: tidyName(tags.name), attributes: attributesOf(tags) };
}

export function facilityOf(amenity: string | undefined): Facility | null {
  return FACILITIES.find((facility) => facility === amenity) ?? null;
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
  /** Objects looked at: rows, features, or nodes, ways and relations that have an `amenity`. */
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
