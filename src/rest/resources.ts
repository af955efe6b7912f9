/** Resources that define their own routes and contract: those of features, webhook secrets, and endpoints. */

import { FEATURES } from '../features.ts';
import { ENDPOINT_CONTRACT, endpointRoutes } from './endpoints.ts';
import { SECRET_CONTRACT, secretRoutes } from './webhook-secrets.ts';

export const ROUTED_RESOURCES: readonly Pick<(typeof FEATURES)[number], 'contract' | 'routes'>[] = [
  ...FEATURES,
  { contract: SECRET_CONTRACT, routes: secretRoutes },
  { contract: ENDPOINT_CONTRACT, routes: endpointRoutes },
];
