/**
 * What is asked of held properties: what a search would find or finds, what it nearly finds, and why a property is a match
 * or is not. All of it is read and nothing is written; the engine knows nothing of it.
 */

import type { Feature } from '../../feature.ts';
import { EXPLANATION_CONTRACT } from './explanation-contract.ts';
import { explanationRoutes } from './explanation-routes.ts';
import { explainMatch, explainProperty } from './explanation-rpcs.ts';
import { foundPropertyRoutes } from './found-property-routes.ts';
import { createMatchEstimator } from './match-estimate.ts';
import { nearMissRoutes } from './near-miss-routes.ts';
import { previewRoutes } from './preview-routes.ts';

export const explanations: Feature = {
  name: 'explanations',
  contract: EXPLANATION_CONTRACT,
  routes(router, dependencies, limiter) {
    previewRoutes(router, dependencies, limiter);
    explanationRoutes(router, dependencies, limiter);
    nearMissRoutes(router, dependencies, limiter);
    foundPropertyRoutes(router, dependencies, limiter);
  },
  rpcs: (usual) => ({ explainMatch: usual(explainMatch), explainProperty: usual(explainProperty) }),
  estimate: createMatchEstimator,
};
