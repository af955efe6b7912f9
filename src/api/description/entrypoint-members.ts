/** The members of the Hydra entrypoint: every collection that can be read as it stands, without a parameter. */

import { collectionPath } from '../routes.ts';
import { RESOURCES, type ResourceName } from './resource-schemas.ts';

/** By resource: the path of its collection. Points of interest, which need a place, are found in `/openapi.json`. */
export const ENTRYPOINT_COLLECTIONS: ReadonlyMap<ResourceName, string> = new Map(
  (Object.keys(RESOURCES) as ResourceName[]).flatMap((resource) => {
    const path = collectionPath(resource);
    return path === null ? [] : [[resource, path] as const];
  }),
);

/** Path by member name: `search` leads to `/searches`. */
export const ENTRYPOINT_MEMBERS: Readonly<Record<string, string>> = Object.fromEntries(
  [...ENTRYPOINT_COLLECTIONS].map(([resource, path]) => [memberOf(resource), path]),
);

export function memberOf(resource: ResourceName): string {
  return resource.charAt(0).toLowerCase() + resource.slice(1);
}
