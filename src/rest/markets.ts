/** `/markets`: the market with which `marketDifference` compares the price of a property (decisions, section 3). */

import type Router from '@koa/router';
import { CRITERION_MEMBERS } from '../engine/domain/criterion-table.ts';
import { isDepartment, type MarketPlace, marketOfPlace } from '../engine/domain/market-prices.ts';
import { MARKET_SIZE_MIN } from '../engine/domain/price-coherence.ts';
import type { Reference } from '../engine/reference/communes.ts';
import { followMedians } from '../engine/store/market-medians.ts';
import { acceptable, answer } from './content.ts';
import type { ApiDependencies } from './dependencies.ts';
import { identityOf, viewId } from './hydra.ts';
import type { QueryLimiter } from './limits.ts';
import { Problem } from './problem.ts';
import { codeParameter, idParameter, type ParsedQuery, readQuery } from './query.ts';
import { FAULTS, ofParameter, REFUSALS } from './sentences.ts';

export const MARKET_PARAMETERS = {
  city: idParameter('The city or arrondissement, if no department is sent: its IRI or id.', 'cities'),
  department: idParameter('The department, if no city is sent: its IRI or id.', 'departments'),
  transactionType: codeParameter(CRITERION_MEMBERS.transactionType),
  propertyType: codeParameter(CRITERION_MEMBERS.propertyTypes),
} as const;

export function marketRoutes(router: Router, { reference }: ApiDependencies, limiter: QueryLimiter): void {
  const medians = followMedians(limiter.database, (code) => reference.nameOf(code));
  router.get('/markets', acceptable, async (ctx) => {
    const { city, department, ...kind } = readQuery(ctx, MARKET_PARAMETERS);
    const requested = { ...placeOf({ city, department }, reference), ...kind };
    const { markets } = await limiter.runSingle(ctx, () => medians.renew());
    const market = marketOfPlace(requested, markets);
    if (market === null) throw new Problem(404, REFUSALS.fewPrices(MARKET_SIZE_MIN));
    const { median, count, name, changedAt } = market;
    const level = isDepartment(market) ? 'department' : 'city';
    answer(ctx, { ...identityOf('Market', viewId(ctx)), median, count, name, level, changedAt });
  });
}

/** Throws a 400 `Problem` unless exactly one existing place is named. */
function placeOf(
  { city, department }: Pick<ParsedQuery<typeof MARKET_PARAMETERS>, 'city' | 'department'>,
  reference: Reference,
): Pick<MarketPlace, 'inseeCodes' | 'departmentCode'> {
  if ((city === null) === (department === null)) throw new Problem(400, REFUSALS.onePlace);
  const departmentCode = department === null ? undefined : reference.departmentById(department)?.code;
  if (departmentCode !== undefined) return { inseeCodes: [], departmentCode };
  if (city === null) throw new Problem(400, ofParameter('department', FAULTS.nothing('/departments')));
  const insee = reference.cityById(city)?.insee;
  const place = insee && reference.resolvePlace({ insee, zipcode: null, name: null, lat: null, lon: null });
  if (!place) throw new Problem(400, ofParameter('city', FAULTS.nothing('/cities')));
  return place;
}
