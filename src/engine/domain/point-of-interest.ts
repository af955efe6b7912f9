/** Points of interest (specification, section 2.4) from any source. */

/** The categories that a client may request (specification, section 4.5). */
export const FACILITIES = ['kindergarten', 'school', 'restaurant', 'hospital', 'parking'] as const;
export type Facility = (typeof FACILITIES)[number];

/** Values of `attributes.schoolType` (specification, section 2.4). */
export const SCHOOL_TYPES = ['maternelle', 'élémentaire', 'primaire', 'collège', 'lycée', 'secondaire'] as const;
export type SchoolType = (typeof SCHOOL_TYPES)[number];

/** Values of `attributes.operatorType` (specification, section 2.4). */
export const OPERATOR_TYPES = ['public', 'private'] as const;
export type OperatorType = (typeof OPERATOR_TYPES)[number];

export interface PointAttributes {
  readonly schoolType?: SchoolType;
  readonly operatorType?: OperatorType;
}

export interface PointOfInterest {
  readonly facility: Facility;
  /** Degrees, WGS 84; for an area, its centre. */
  readonly lat: number;
  readonly lon: number;
  readonly name: string | null;
  readonly attributes: PointAttributes;
}
