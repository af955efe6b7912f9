/** `/markets`: the market with which `marketDifference` compares the price of a property (decisions, section 3). */

import type Router from '@koa/router';
import { PROPERTY_TYPE_NAMES, TRANSACTION_TYPE_NAMES } from '../engine/domain/codes.ts';
import { type KnownMarket, type MarketPlace, marketOfPlace } from '../engine/domain/market-prices.ts';
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
  city: idParameter('The city or arrondissement: its IRI or id. Send this or department.', 'cities'),
  department: idParameter('The department: its IRI or id. Send this or city.', 'departments'),
  transactionType: codeParameter('The transaction.', TRANSACTION_TYPE_NAMES),
  propertyType: codeParameter('The type of property.', PROPERTY_TYPE_NAMES),
} as const;

export function marketRoutes(router: Router, { reference }: ApiDependencies, limiter: QueryLimiter): void {
  const medians = followMedians(limiter.database, (code) => reference.nameOf(code));
  router.get('/markets', acceptable, async (ctx) => {
    const { city, department, ...kind } = readQuery(ctx, MARKET_PARAMETERS);
    const place = placeOf({ city, department }, reference);
    const { markets } = await limiter.runSingle(ctx, () => medians.renew());
    const market = marketOfPlace({ ...place, ...kind }, markets);
    if (market === null) throw new Problem(404, REFUSALS.fewPrices(MARKET_SIZE_MIN));
    answer(ctx, marketDocument(market, viewId(ctx)));
  });
}

/** Throws a 400 `Problem` unless exactly one existing place is named. */
function placeOf(
  { city, department }: Pick<ParsedQuery<typeof MARKET_PARAMETERS>, 'city' | 'department'>,
  reference: Reference,
): Pick<MarketPlace, 'inseeCodes' | 'departmentCode'> {
  if ((city === null) === (department === null)) throw new Problem(400, REFUSALS.onePlace);
  if (city === null) {
    const code = reference.departmentById(department as number)?.code;
    if (code === undefined) throw new Problem(400, ofParameter('department', FAULTS.nothing('/departments')));
    return { inseeCodes: [], departmentCode: code };
  }
  const insee = reference.cityById(city)?.insee;
  const place = insee && reference.resolvePlace({ insee, zipcode: null, name: null, lat: null, lon: null });
  if (!place) throw new Problem(400, ofParameter('city', FAULTS.nothing('/cities')));
  return place;
}

export function marketDocument({ isDepartment, median, count, name, changedAt }: KnownMarket, iri: string): object {
  const level = isDepartment ? 'department' : 'city';
  return { ...identityOf('Market', iri), median, count, name, level, changedAt: changedAt.toISOString() };
}
