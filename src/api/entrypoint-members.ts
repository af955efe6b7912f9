/** The members of the Hydra entrypoint: where each resource starts. */

import { collectionPath } from './endpoints.ts';
import { RESOURCES, type ResourceName } from './resource-schemas.ts';

/** Path by member name: `search` leads to `/searches`. */
export const ENTRYPOINT_MEMBERS: Readonly<Record<string, string>> = Object.fromEntries(
  (Object.keys(RESOURCES) as ResourceName[]).map((resource) => [memberOf(resource), collectionPath(resource)]),
);

export function memberOf(resource: ResourceName): string {
  return resource.charAt(0).toLowerCase() + resource.slice(1);
}
