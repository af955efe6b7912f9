/** A distance to points of interest (`pointsOfInterest`; decisions, section 16), in requests and answers. */

import { nearestName } from '../engine/domain/nearest-name.ts';
import type { PointTerm } from '../engine/domain/point-distances.ts';
import { FACILITIES, type Facility, OPERATOR_TYPES, SCHOOL_TYPES } from '../engine/domain/point-of-interest.ts';
import { POINT_DISTANCE } from '../engine/domain/points-criterion.ts';
import { Fault, number, oneOf } from '../values.ts';
import { type MemberRule, object, optional, REFUSED, refuse, single } from './member-rules.ts';
import { FAULTS, ONE_OF } from './sentences.ts';

/** Facilities whose points may have attributes. */
const WITH_ATTRIBUTES: readonly Facility[] = ['kindergarten', 'school'];

/** One of `choices`. The fault of another text names the nearest choice, if one is similar. */
function choice<const Choice extends string>(choices: readonly Choice[], description: string): MemberRule<Choice> {
  const { schema, read } = oneOf(choices);
  const nearest = (value: unknown): Choice | Fault => {
    // Some systems decompose accents.
    const chosen = read(typeof value === 'string' ? value.normalize() : value);
    const name = typeof value === 'string' && chosen instanceof Fault ? nearestName(value, choices) : null;
    return name === null ? chosen : new Fault(FAULTS.unknownNear(ONE_OF(choices.join(', ')), name));
  };
  return single({ schema, read: nearest }, { description });
}

function kilometres(description: string) {
  const { min, max } = POINT_DISTANCE;
  return optional(single(number(min, max), { description }));
}

const MEMBERS = object(
  {
    facility: choice(FACILITIES, 'Kind of point of interest.'),
    attributes: optional(
      object(
        {
          schoolType: optional(choice(SCHOOL_TYPES, 'Type of school.')),
          operatorType: optional(choice(OPERATOR_TYPES, 'Public or private.')),
        },
        FAULTS.pointAttributes,
        ['schoolType', 'operatorType'],
      ),
    ),
    within: kilometres('The nearest one is at most this far away, in kilometres.'),
    beyond: kilometres('The nearest one is at least this far away, in kilometres.'),
  },
  FAULTS.point,
);

export const POINT_TERM: MemberRule<PointTerm> = {
  schema: MEMBERS.schema,
  read(value, reading) {
    const term = MEMBERS.read(value, reading);
    if (term === REFUSED) return REFUSED;
    if ((term.within === undefined) === (term.beyond === undefined))
      return refuse(reading, new Fault(FAULTS.oneDistance));
    if (term.attributes === undefined || WITH_ATTRIBUTES.includes(term.facility)) return term as PointTerm;
    const path = [...reading.path, 'attributes'];
    return refuse({ ...reading, path }, new Fault(FAULTS.attributesOf(WITH_ATTRIBUTES.join(', '))));
  },
};
