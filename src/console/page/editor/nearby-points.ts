/** Points of interest that a property must be near or far from: the texts of their fields, and their JSON. */

/** `schoolType`, `operatorType`: empty for any. */
export interface NearbyPoint {
  readonly facility: string;
  readonly schoolType: string;
  readonly operatorType: string;
  /** The member that states the distance: at most, or at least. */
  readonly limit: 'within' | 'beyond';
  readonly km: string;
}

export const NEW_POINT: NearbyPoint = {
  ...{ facility: 'school', schoolType: '', operatorType: '' },
  ...{ limit: 'within', km: '1' },
};
export const POINTS_MAX = 10;

/** A member of `pointsOfInterest` as the service answers it. Exactly one of the distances, in kilometres, is set. */
interface AnsweredPoint {
  readonly facility: string;
  readonly attributes?: { readonly schoolType?: string; readonly operatorType?: string };
  readonly within?: number;
  readonly beyond?: number;
}

export function pointOf({ facility, attributes = {}, within, beyond }: AnsweredPoint): NearbyPoint {
  const { schoolType = '', operatorType = '' } = attributes;
  const limit = beyond === undefined ? 'within' : 'beyond';
  return { facility, schoolType, operatorType, limit, km: String(beyond ?? within) };
}

/** Only for schools and kindergartens can a search name a type and an operator. */
export function hasAttributes({ facility }: NearbyPoint): boolean {
  return facility === 'school' || facility === 'kindergarten';
}

/** `numberOf`: the number for the text of a field. */
export function pointBody(point: NearbyPoint, numberOf: (text: string) => unknown) {
  const { facility, schoolType, operatorType, limit, km } = point;
  const attributes = {
    ...(schoolType === '' ? {} : { schoolType }),
    ...(operatorType === '' ? {} : { operatorType }),
  };
  const isAny = !hasAttributes(point) || Object.keys(attributes).length === 0;
  return { facility, ...(isAny ? {} : { attributes }), [limit]: numberOf(km) };
}
