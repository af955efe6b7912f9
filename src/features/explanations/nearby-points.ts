/** The points of interest near an explained property. */

import type { Criteria, Evaluation } from '../../engine/domain/criteria.ts';
import { combinationKey, distanceTo, requestedCombinations } from '../../engine/domain/point-distances.ts';
import type { PointsEvaluated } from '../../engine/domain/points-criterion.ts';
import type { Compared } from '../../engine/domain/property-document.ts';
import type { PropertyFacts } from '../../engine/domain/property-facts.ts';
import type { FollowedPoints } from '../../engine/maintenance/followed-points.ts';
import type { PointIndex } from '../../engine/matching/points/poi-index.ts';

/** Adds the current distances that the criteria compare and the subject lacks. */
export async function withDistances<Of extends { readonly facts: PropertyFacts; readonly medians: Compared }>(
  subject: Of,
  criteria: Criteria,
  followed: Pick<FollowedPoints, 'renew'>,
): Promise<Of> {
  const { facts, medians } = subject;
  const { lat, lon, distances } = facts;
  const missing = requestedCombinations(criteria).filter((key) => distances?.[key] === undefined);
  if (missing.length === 0 || lat === null || lon === null) return subject;
  const nearest = await followed.renew(missing);
  const completed = { ...facts, distances: nearest.complete(distances, lat, lon) };
  return { ...subject, facts: completed, medians: { ...medians, nearest } };
}

/** Names the nearest points that are still at the compared distances: points may have been imported since. */
export function withNames(evaluation: Evaluation, { lat, lon }: PropertyFacts, points: PointIndex): Evaluation {
  if (evaluation.criterion !== 'pointsOfInterest' || lat === null || lon === null) return evaluation;
  const { expected, actual } = evaluation as PointsEvaluated;
  const names = expected.map((term) => {
    const nearest = points.nearest(term, lat, lon);
    return [combinationKey(term), nearest?.distanceM === distanceTo(term, actual.distances) ? nearest.name : null];
  });
  return { ...evaluation, actual: { ...actual, names: Object.fromEntries(names) } };
}
