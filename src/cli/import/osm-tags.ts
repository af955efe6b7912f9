/** Converts OpenStreetMap tags to points of interest. */

import {
  FACILITIES,
  type Facility,
  type OperatorType,
  type PointAttributes,
  type PointOfInterest,
  type SchoolType,
} from '../../engine/domain/point-of-interest.ts';
import { foldText, storable } from '../../engine/domain/text.ts';

export type Tags = Readonly<Record<string, string>>;
/** A point of interest without its coordinates. */
type DescribedFacility = Pick<PointOfInterest, 'facility' | 'name' | 'attributes'>;

const NAME_LENGTH_MAX = 200;
/** Maximum length of a raw value. OpenStreetMap allows 255 characters, but a file may contain longer values. */
const VALUE_LENGTH_MAX = 1_000;

/**
 * The facilities of a point. `amenity` is the facility; `school:FR` and `operator:type` are attributes (specification,
 * section 2.4). If `amenity` has several values (`school;kindergarten`), each of the five known ones is a facility.
 */
export function describeTags(tags: Tags): readonly DescribedFacility[] {
  const [name, attributes] = [tidyName(tags.name), attributesOf(tags)];
  return facilitiesOf(tags.amenity).map((facility) => ({ facility, name, attributes }));
}

/** The known facilities in the value, without duplicates. */
export function facilitiesOf(amenity: string | undefined): readonly Facility[] {
  const values = (amenity ?? '').slice(0, VALUE_LENGTH_MAX).split(';');
  const named = new Set(values.map((value) => value.trim()));
  return FACILITIES.filter((facility) => named.has(facility));
}

/** Trims the name, shortens it and makes it storable; null if nothing remains. */
function tidyName(name: string | undefined): string | null {
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

/** Ignores accents and case. A school with two stages has the type that includes both. */
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
