/** The search index on every instance, and building it anew. */

import { pause } from '../engine/actor/waiting.ts';
import { criteriaOf } from '../engine/domain/search.ts';
import { nextGeneration } from '../engine/store/controls.ts';
import type { Database } from '../engine/store/database.ts';
import { listInstances } from '../engine/store/instances.ts';
import { countSearches, readAnySearch } from '../engine/store/pairs.ts';
import { listSiteCategories } from '../engine/store/site-categories.ts';
import type { CallContext } from './call.ts';
import type { AdminDependencies } from './dependencies.ts';
import { failedPrecondition, notFound } from './errors.ts';
import type { Index, IndexedSearch } from './generated/vigie/admin/v1/matching.ts';
import { nameOf, uuidOfName } from './names.ts';

const LOOK_EVERY_MS = 200;

export async function readIndex(database: Database): Promise<Index> {
  const [instances, storedSearchCount] = await Promise.all([listInstances(database), countSearches(database)]);
  return {
    storedSearchCount,
    instances: instances.flatMap(({ id, searchIndex }) =>
      searchIndex === null
        ? []
        : {
            instance: nameOf.instance(id),
            searchCount: searchIndex.searches,
            buildTime: new Date(searchIndex.builtAt),
            figures: { ...searchIndex.figures },
          },
    ),
  };
}

/** Resolves when every living instance has reached the new generation. */
export async function rebuildIndex(dependencies: AdminDependencies, { signal }: CallContext): Promise<Index> {
  const { database, controlsChanged } = dependencies;
  if ((await readIndex(database)).instances.length === 0) {
    throw failedPrecondition('NO_INDEX', 'index', 'no instance with the role intake runs');
  }
  const generation = await nextGeneration(database, 'index');
  await controlsChanged();
  for (;;) {
    const behind = (await listInstances(database)).some(
      ({ searchIndex }) => searchIndex !== null && searchIndex.generation < generation,
    );
    if (!behind) return readIndex(database);
    await pause(LOOK_EVERY_MS, signal);
    signal.throwIfAborted();
  }
}

export async function getIndexedSearch(name: string, dependencies: AdminDependencies): Promise<IndexedSearch> {
  const { database, isIndexed } = dependencies;
  const search = await readAnySearch(database, uuidOfName('name', 'searches', name));
  if (search === null || search.deletedAt !== null) throw notFound('Search', name);
  const categories = new Map((await listSiteCategories(database)).map((category) => [category.id, category.name]));
  return {
    name: nameOf.search(search.id),
    number: search.number,
    title: search.members.title,
    client: nameOf.client(search.clientId),
    indexed: isIndexed(search.number) ?? undefined,
    criteriaJson: JSON.stringify(criteriaOf(search.members, (id) => categories.get(id) ?? null)),
    notificationEnabled: search.members.notificationEnabled,
  };
}
